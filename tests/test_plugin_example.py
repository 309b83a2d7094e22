"""The plugin of examples/, built and installed in an environment of its own."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def test_an_installed_plugin_is_raced_and_its_version_is_in_the_result(tmp_path):
    """The environment sees our packages."""
    python = tmp_path / "env" / "bin" / "python"
    words = ["-m", "venv", "--without-pip", str(tmp_path / "env")]
    subprocess.run([sys.executable, *words], check=True)
    (site,) = (tmp_path / "env/lib").glob("python*/site-packages")
    (site / "ours.pth").write_text(
        "\n".join(str(Path(path).resolve()) for path in sys.path if path)
    )
    shutil.copytree(ROOT / "examples/plugin", tmp_path / "zeta")
    words = ["--python", str(python), "install", "--quiet", "--no-index", "--no-deps",
             "--no-build-isolation", str(tmp_path / "zeta")]  # fmt: skip
    subprocess.run([sys.executable, "-m", "pip", *words], check=True, cwd=tmp_path)
    words = ["-m", "leaseboard", "race", "zeta", "synthetic:fried?rows=500"]
    subprocess.run([python, *words], cwd=tmp_path, env=os.environ | {"PYTHONPATH": ""}, check=True)

    (path,) = (tmp_path / "runs" / "race").glob("zeta-*/result.json")
    found = json.loads(path.read_text())
    assert (found["status"], found["plugins"]) == ("ok", "leaseboard-zeta 0.1.0")
