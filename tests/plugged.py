"""Distributions with plugins, as pip leaves them in a folder of the path."""

import os

import pytest

from leaseboard.algorithms import plugins

POINTS = "[leaseboard.algorithms]\n{0} = {1}.own:Own\n"


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Yield a function that installs a distribution with a package of its name."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv(
        "PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    )

    def install(name, points, code="raise RuntimeError('imported')\n", version="1.0"):
        about = tmp_path / f"{name}-{version}.dist-info"
        about.mkdir()
        (about / "METADATA").write_text(f"Name: {name}\nVersion: {version}\n")
        (about / "entry_points.txt").write_text(points)
        package = tmp_path / name
        package.mkdir(exist_ok=True)
        (package / "__init__.py").write_text("")
        (package / "own.py").write_text(code)
        plugins.discovered.cache_clear()

    yield install
    plugins.discovered.cache_clear()
