"""The plugin of examples/, built and installed in an environment of its own."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

SUITE = """
title: Plugins
data: ["synthetic:fried?rows=2000"]
algorithms: [zeta]
baselines: false
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Return a folder with an environment that sees our packages, and the plugin in it."""
    folder = tmp_path_factory.mktemp("plugin")
    command = [sys.executable, "-m", "venv", "--without-pip", str(folder / "env")]
    subprocess.run(command, check=True)
    (site,) = (folder / "env/lib").glob("python*/site-packages")
    (site / "ours.pth").write_text(
        "\n".join(str(Path(path).resolve()) for path in sys.path if path)
    )
    shutil.copytree(ROOT / "examples/plugin", folder / "zeta")
    command = ["--python", str(folder / "env/bin/python"), "install", "--quiet", "--no-index",
               "--no-deps", "--no-build-isolation", str(folder / "zeta")]  # fmt: skip
    subprocess.run([sys.executable, "-m", "pip", *command], check=True, cwd=folder)
    return folder


def call(folder, *words, code=0):
    """Run leaseboard in the environment; return what it prints."""
    command = [str(folder / "env/bin/python"), "-m", "leaseboard", *words]
    environment = os.environ | {"PYTHONPATH": ""}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


def test_the_plugins_are_on_a_leaderboard_with_their_versions(home):
    import json

    (home / "suite.yaml").write_text(SUITE)
    said = call(home, "run", "suite.yaml", "--local", "--workers", "1", "--run-dir", "out")

    assert "zeta" in said
    results = [json.loads(path.read_text()) for path in home.glob("out/jobs/*/result.json")]
    found = {each["name"]: each for each in results}
    assert found["zeta"]["status"] == "ok"
    assert found["zeta"]["plugins"] == "leaseboard-zeta 0.1.0"
