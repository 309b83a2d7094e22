"""The wheel holds our four packages and the configuration, and nothing else."""

import re
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]


def test_the_wheel_holds_exactly_our_packages_the_configuration_and_the_licence(tmp_path):
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    archive = zipfile.ZipFile(wheel)
    names = archive.namelist()
    (told,) = (name for name in names if name.endswith(".dist-info/METADATA"))
    (licence,) = (name for name in names if name.endswith(".dist-info/licenses/LICENSE"))
    tops = {name.split("/")[0] for name in names if ".dist-info" not in name}

    assert tops == {"algorithms", "flows", "leaseboard", "tasks"}
    assert "flows/_conf/suites/quick.yaml" in names
    assert "\nLicense-Expression: BSD-3-Clause\n" in archive.read(told).decode()
    assert archive.read(licence) == (ROOT / "LICENSE").read_bytes()
    assert archive.read(licence).startswith(b"BSD 3-Clause License\n")


def locked():
    """The version and the digests of each package in the lock, by its name."""
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
    asked = [*project["project"]["dependencies"], *parts["tables"], *parts["flows"],
             *project["dependency-groups"]["dev"],
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
    """It is installed as it stands, so it must name all that its packages ask for anywhere."""
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
