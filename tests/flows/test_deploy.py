"""What is deployed starts as its files say: a compose file's services, systemd's units."""

import json
import re
import shlex
import shutil
import signal
import stat
import subprocess
import urllib.error
import urllib.request
from datetime import UTC, datetime, timedelta

import numpy as np
import pandas as pd
import pytest
import typer
from prefect.client.orchestration import get_client
from prefect.settings import PREFECT_API_URL, temporary_settings
from sqlalchemy import create_engine, text
from typer.core import TyperGroup

from leaseboard.flows.cli import app
from leaseboard.tasks.jobs.suites.timetable import load_schedule
from leaseboard.tasks.live.settings import read_settings
from tests.flows.composed import BIN, DEPLOY, ROOT, Composed, compose
from tests.flows.schedules import state, trigger

UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
SECRETS = {"POSTGRES_PASSWORD": "5ecret", "LEASEBOARD_TOKEN": "t0ken"}  # as .env has them


def parse(words):
    """Raise unless `words` are a command line of ours."""
    program, *words = words
    assert program == "leaseboard"
    command, context = typer.main.get_command(app), None
    while isinstance(command, TyperGroup):
        context = command.make_context("leaseboard", words[:], parent=context)
        name, command, words = command.resolve_command(
            context, [*context._protected_args, *context.args]
        )
    command.make_context(name, words, parent=context)


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


class TestImage:
    def test_what_it_copies_is_enough_to_build_it(self, tmp_path):
        """Of the checkout, and past what is ignored."""
        lines = (DEPLOY / "Dockerfile").read_text().splitlines()
        copied = [line.split()[1:-1] for line in lines if re.match(r"COPY (?!--)", line)]
        sources = [source for each in copied for source in each]
        ignore = (DEPLOY / "Dockerfile.dockerignore").read_text().split("\n")
        assert {f"!{source}" for source in sources} <= set(ignore)
        for source in sources:
            place = ROOT / source
            if place.is_dir():
                ignored = shutil.ignore_patterns("__pycache__", "deploy")
                shutil.copytree(place, tmp_path / source, ignore=ignored)
            else:
                shutil.copy(place, tmp_path)
        build = [BIN / "python", "-m", "hatchling", "build", "-t", "wheel"]
        subprocess.run(build, cwd=tmp_path, check=True, capture_output=True)

    def test_it_is_installed_from_the_lock_by_its_digests(self):
        made = (DEPLOY / "Dockerfile").read_text()
        assert "--require-hashes --no-deps --requirement requirements.lock" in made
        assert not re.search(r"^FROM [^:]+(:latest)?( |$)", made, re.MULTILINE)


class TestUnits:
    @pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
    def test_it_starts_what_the_compose_file_starts(self, unit):
        service = unit.stem.partition("-")[2].rstrip("@")
        words, known = started(unit), compose()["services"][service]["command"]
        assert words[:2] == known[:2]
        assert options(words) == options(known) - {"--allowed-hosts"}
        assert "0.0.0.0" not in words
        if words[0] == "leaseboard":
            parse(words)

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


@pytest.fixture
def place(postgresql, create_database):
    """Return host and port of a PostgreSQL in which ``databases.sql`` was run, by no superuser."""
    create_database("leaseboard")
    statements = (DEPLOY / "databases.sql").read_text().split(";")
    with create_engine(f"{postgresql}/leaseboard", isolation_level="AUTOCOMMIT").connect() as door:
        door.execute(text("CREATE ROLE leaseboard LOGIN CREATEDB"))
        door.execute(text("ALTER DATABASE leaseboard OWNER TO leaseboard"))
        door.execute(text("SET ROLE leaseboard"))
        for statement in statements:
            if statement.strip():
                door.execute(text(statement))
    return postgresql.rpartition("@")[2]


def delivered(home):
    """Return orders of sixty days until yesterday, with the columns of the template."""
    rng = np.random.default_rng(0)
    first = datetime.now(UTC) - timedelta(days=60)
    n = 240
    price, shop = rng.normal(size=n).round(3), rng.choice(["x", "y"], n)
    pd.DataFrame(
        {
            "order": [f"a-{i}" for i in range(n)],
            "day": [f"{first + timedelta(hours=6 * i):%Y-%m-%dT%H:%M:%S}" for i in range(n)],
            "price": price,
            "shop": shop,
            "revenue": (100 + 10 * price + 5 * (shop == "x")).round(3),
        }
    ).to_csv(home / "inbox" / "first.csv", index=False)


@pytest.fixture
def kept(tmp_path):
    """Return the templates' folder with an inbox and a contract."""
    home = tmp_path / "live"
    shutil.copytree(DEPLOY / "live", home)
    for each in home.iterdir():  # a checkout may be read-only
        each.chmod(each.stat().st_mode | stat.S_IWUSR)
    (home / "inbox").mkdir()
    plan = home / "schedule.yaml"
    plan.write_text(plan.read_text().replace("/srv/live", str(home)))
    delivered(home)
    subprocess.run([BIN / "leaseboard", "live", "init", "sales.yaml"], cwd=home, check=True,
                   capture_output=True)  # fmt: skip
    return home


def asked(url, body=None, **headers):
    """Return the status and the answer of a server."""
    data = None if body is None else json.dumps(body).encode()
    reported = {"content-type": "application/json"} | headers
    try:
        with urllib.request.urlopen(
            urllib.request.Request(url, data, reported), timeout=60
        ) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


TODAY = f"{datetime.now(UTC):%Y-%m-%dT00:00:00}"  # the day after those that were delivered
ROW = {"order": "b-1", "day": TODAY, "price": 0.5, "shop": "x"}


@pytest.mark.slow
@pytest.mark.postgresql
def test_the_services_predict_what_a_scheduled_update_has_learned(
    tmp_path, place, kept, environment
):
    variables = SECRETS | {"LIVE_HOME": str(kept), "ALERTS_WEBHOOK": "http://127.0.0.1:9/"}
    made = Composed(tmp_path, place, variables)
    try:
        for name in ("mlflow", "prefect"):
            made.start(name)
        for name in ("mlflow", "prefect"):
            made.wait(name)
        record = f"{made.url('mlflow', '5000')}/api/2.0/mlflow/experiments/search?max_results=1"
        assert asked(record, host="mlflow:5000")[0] == 200
        assert asked(record, host="example.org")[0] == 403
        for name in ("serve", "worker"):
            made.start(name)
        made.until(lambda: "serving" in (tmp_path / "worker.log").read_text(), "worker")
        address = f"{made.url('prefect', '4200')}/api"
        with (
            temporary_settings({PREFECT_API_URL: address}),
            get_client(sync_client=True) as client,
        ):
            run = trigger(client, "sales", "live-update")
            made.until(lambda: state(client, run).is_final(), "worker")
            assert state(client, run).is_completed(), state(client, run).message
            assert state(client, run).message.startswith("1 batch: 240 new")

        made.wait("serve")
        predict = f"{made.url('serve', '8507')}/invocations"
        bearer = {"authorization": f"Bearer {SECRETS['LEASEBOARD_TOKEN']}"}
        status, answer = asked(predict, {"dataframe_records": [ROW]}, **bearer)
        assert status == 200, answer
        reported = json.loads(answer)
        assert reported["ids"] == ["b-1"]
        assert 50 < reported["predictions"][0] < 200
        assert asked(predict, {"dataframe_records": [ROW]})[0] == 401
        assert not list(tmp_path.rglob("state.sqlite"))
        assert list(tmp_path.glob("volumes/worker/runs/live/sales/report.html"))
        codes = made.stop()
        assert codes.pop("prefect") in (0, -signal.SIGTERM)
        assert codes == {"worker": 0, "serve": -signal.SIGTERM, "mlflow": 0}
    finally:
        made.kill()
    for log in tmp_path.glob("*.log"):
        assert SECRETS["POSTGRES_PASSWORD"] not in log.read_text()
