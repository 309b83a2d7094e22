"""What is deployed starts as its files say: a compose file's services, systemd's units."""

import importlib
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from leaseboard.tasks.jobs.suites.suite import load_schedule
from leaseboard.tasks.live.settings import read_settings
from tests.docs.test_pages import parse

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "conf" / "deploy"
BIN = Path(sys.executable).parent
SECRETS = ("POSTGRES_PASSWORD", "LEASEBOARD_TOKEN")
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))


def compose():
    """Return the content of the compose file."""
    return yaml.safe_load((DEPLOY / "compose.yaml").read_text())


def started(unit):
    """Return the words that a unit starts, with the program's bare name and an instance's."""
    (line,) = re.findall(r"^ExecStart=(.*)$", unit.read_text(), re.MULTILINE)
    program, *words = shlex.split(line.replace("%i", "sales"))
    assert program.startswith("/opt/leaseboard/bin/")
    return [program.rpartition("/")[2], *words]


def options(words):
    """Return the options of a command line."""
    return {word for word in words if word.startswith("-")}


class TestCompose:
    def test_no_service_runs_as_root_listens_beyond_loopback_or_has_a_loose_tag(self):
        for name, service in compose()["services"].items():
            assert re.search(r":\d+(\.\d+)+", service["image"]), name
            assert service["restart"] == "unless-stopped"
            assert "privileged" not in service
            assert all(port.startswith("127.0.0.1:") for port in service.get("ports", ())), name
        assert re.search(r"^USER \d+$", (DEPLOY / "Dockerfile").read_text(), re.MULTILINE)

    def test_every_variable_is_in_the_example_and_no_secret_among_the_words(self):
        source = (DEPLOY / "compose.yaml").read_text()
        example = (DEPLOY / "env.example").read_text()
        assert set(re.findall(r"\$\{(\w+)", source)) == set(
            re.findall(r"^#?([A-Z_]+)=", example, re.MULTILINE)
        )
        for service in compose()["services"].values():
            words = " ".join([*service.get("command", ()), *service["healthcheck"]["test"]]
                             if "healthcheck" in service else service["command"])  # fmt: skip
            assert not any(secret in words for secret in SECRETS)

    def test_the_templates_are_a_live_model_and_its_schedule(self):
        keep = read_settings(DEPLOY / "live" / "sales.yaml")
        (entry,) = load_schedule(DEPLOY / "live").schedules

        assert keep.state == "$LEASEBOARD_STATE"
        assert entry.live == f"/srv/live/{keep.name}.yaml"


def test_the_deployments_of_prefect_yaml_are_ours():
    for each in yaml.safe_load((ROOT / "prefect.yaml").read_text())["deployments"]:
        module, _, name = each["entrypoint"].rpartition(".")
        known = getattr(importlib.import_module(module), name).fn.__code__.co_varnames
        assert set(each["parameters"]) <= set(known)


class TestUnits:
    @pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
    def test_it_starts_what_the_compose_file_starts(self, unit):
        service = unit.stem.partition("-")[2].rstrip("@")
        words, known = started(unit), compose()["services"][service]["command"]
        assert words[:2] == known[:2]
        assert options(words) == options(known) - {"--allowed-hosts"}
        assert "0.0.0.0" not in words
        if words[0] == "leaseboard":
            parse(words[1:])

    @pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
    def test_its_secrets_are_in_a_file_that_has_an_example(self, unit):
        said = unit.read_text()
        (file,) = re.findall(r"^EnvironmentFile=/etc/leaseboard/(.*)$", said, re.MULTILINE)
        example = (DEPLOY / "systemd" / f"{file}.example").read_text()
        service = unit.stem.partition("-")[2].rstrip("@")
        reported = {*re.findall(r"^([A-Z_]+)=", example, re.MULTILINE),
                *re.findall(r"([A-Z_0-9]+)=", " ".join(re.findall(r"^Environment=(.*)$", said,
                                                                  re.MULTILINE)))}  # fmt: skip
        assert set(compose()["services"][service]["environment"]) <= reported
        assert "PASSWORD" not in said

    def test_systemd_understands_them(self, tmp_path):
        """Run only with systemd; elsewhere its units are of no use either."""
        for unit in (DEPLOY / "systemd").iterdir():
            found = unit.read_text().replace("/opt/leaseboard/bin", str(BIN))
            (tmp_path / unit.name.replace("@", "@sales")).write_text(found)
        verify = shutil.which("systemd-analyze")
        if verify is not None:
            units = sorted(map(str, [*tmp_path.glob("*.service"), *tmp_path.glob("*.target")]))
            done = subprocess.run([verify, "verify", "--man=no", *units], capture_output=True,
                                  text=True, check=False)  # fmt: skip
            assert (done.returncode, done.stderr) == (0, "")
