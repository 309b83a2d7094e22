"""The wheel holds our package and the configuration in it, and nothing else."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from importlib.metadata import distribution
from pathlib import Path

import pytest
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
    made = (ROOT / "Makefile").read_text()
    assert "install --quiet --require-hashes --no-deps --requirement requirements.lock" in made
    assert "-r requirements.lock" not in made
    assert "make install" in (ROOT / ".ci" / "run").read_text()


def test_the_lock_names_no_index():
    lock = (ROOT / "requirements.lock").read_text()

    assert "://" not in lock
    assert not re.search(r"--(?!hash=sha256:)", lock)
