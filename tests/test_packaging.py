"""The wheel holds our three packages and the configuration, and nothing else."""

import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

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

    assert tops == {"algorithms", "flows", "tasks"}
    assert "flows/_conf/suites/quick.yaml" in names
    assert "\nLicense-Expression: BSD-3-Clause\n" in archive.read(told).decode()
    assert archive.read(licence) == (ROOT / "LICENSE").read_bytes()
    assert archive.read(licence).startswith(b"BSD 3-Clause License\n")


def test_the_lock_names_every_dependency_and_no_index():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    lock = (ROOT / "requirements.lock").read_text()
    pinned = {line.split("==")[0].lower().replace("_", "-") for line in lock.splitlines()}
    wanted = project["project"]["dependencies"] + project["dependency-groups"]["dev"]
    for requirement in wanted:
        name = requirement.split(">")[0].split("=")[0].split("<")[0].lower().replace("_", "-")
        assert name in pinned, requirement
    assert "://" not in lock
    assert "--" not in lock
