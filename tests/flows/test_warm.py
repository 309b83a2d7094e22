"""What `leaseboard warm` compiled is compiled by no command, wherever the package is."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def installed(tmp_path):
    """Install the package into a folder of a name; return what runs a command of it."""

    def install(name):
        folder = tmp_path / name
        for part in (
            "leaseboard",
            "leaseboard/algorithms",
            "leaseboard/tasks",
            "leaseboard/flows",
        ):
            for path in (ROOT / part).resolve().rglob("*"):
                inner = path.relative_to((ROOT / part).resolve())
                if path.is_file() and not path.is_symlink() and path.suffix != ".pyc":
                    (folder / part / inner).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(path, folder / part / inner)
        shutil.copytree(ROOT / "conf", folder / "leaseboard" / "_conf")
        environment = os.environ | {"LEASEBOARD_CACHE": str(tmp_path / "cache"),
                                    "PYTHONPATH": str(folder)}  # fmt: skip

        def run(*words):
            return subprocess.run(
                [sys.executable, "-P", "-m", "leaseboard", *map(str, words)],
                cwd=tmp_path, env=environment, capture_output=True, text=True, check=True,
            )  # fmt: skip

        return run

    return install


@pytest.mark.slow
def test_kernels_compiled_ahead_serve_another_installation_of_the_same_code(installed, tmp_path):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(50, 3))
    header = "a,b,c"
    np.savetxt(tmp_path / "numbers.csv", rows, delimiter=",", header=header, comments="")
    lines = [f"{a},{b},{'yes' if c > 0 else 'no'}" for a, b, c in rows]
    (tmp_path / "classes.csv").write_text("\n".join([header, *lines]))

    assert "kernels are compiled: " in installed("one")("warm").stdout
    for helped in ("take_one", "follow"):  # as those that call them have them
        assert len([*(tmp_path / "cache" / "kernels").glob(f"{helped}-*.kernel")]) == 1
    again = installed("two")
    for words in (
        ("learn", "numbers.model", "numbers.csv"),
        ("learn", "classes.model", "classes.csv"),
        ("race", "online-automl", "numbers.csv"),
        ("race", "apple", "numbers.csv"),
    ):
        assert again("-q", *words).stderr == "", words
