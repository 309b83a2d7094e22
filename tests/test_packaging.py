"""The wheel holds our three packages and the configuration, and nothing else."""

import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def test_the_wheel_holds_exactly_our_packages_and_the_configuration(tmp_path):
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names if ".dist-info" not in name}

    assert tops == {"algorithms", "flows", "tasks"}
    assert "flows/_conf/suites/quick.yaml" in names


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
