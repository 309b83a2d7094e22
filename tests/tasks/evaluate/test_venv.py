import stat

import pytest

from leaseboard.algorithms.errors import LeaseboardError, SkipError, UsageError
from leaseboard.tasks.evaluate import venv
from leaseboard.tasks.machine.environment import shipped_conf

FAKE_PYTHON = """#!/bin/sh
# As `python -m venv FOLDER` and `python -m pip install --quiet -r FILE`, without either.
case "$2" in
  venv) mkdir -p "$3/bin" && cp "$0" "$3/bin/python" ;;
  pip) grep -q nonsense "$6" && { echo "ERROR: no such version" >&2; exit 1; }; exit 0 ;;
esac
"""


@pytest.fixture
def pins(tmp_path, monkeypatch):
    """Return pins of one framework, a cache of its own, and a Python that installs nothing."""
    folder = tmp_path / "conf" / "frameworks"
    folder.mkdir(parents=True)
    (folder / "ours.txt").write_text("library==1.0\n")
    python = tmp_path / "python"
    python.write_text(FAKE_PYTHON)
    python.chmod(python.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(venv, "shipped_conf", lambda: tmp_path / "conf")
    monkeypatch.setattr(venv, "cache_dir", lambda: tmp_path / "cache")
    monkeypatch.setattr(venv.sys, "executable", str(python))
    return folder / "ours.txt"


def test_install_makes_the_environment_once_for_its_pins(pins):
    with pytest.raises(
        SkipError, match=r"ours is not installed.*leaseboard frameworks install ours"
    ):
        venv.python("ours")
    with pytest.raises(UsageError, match=r"framework.*'your'"):
        venv.install("your")
    folder = venv.install("ours")

    assert venv.python("ours") == folder / "bin" / "python"
    (folder / "mark").touch()
    assert venv.install("ours") == folder
    assert (folder / "mark").exists()
    pins.write_text("library==1.1\n")
    assert not venv.is_installed("ours")


def test_a_failed_installation_shows_the_installers_error_and_does_not_count(pins):
    pins.write_text("nonsense\n")

    with pytest.raises(LeaseboardError, match=r"installing ours failed.*ERROR: no such version"):
        venv.install("ours")
    assert not venv.is_installed("ours")


def test_every_pin_that_is_shipped_is_exact():
    assert {"autogluon", "flaml", "river"} <= set(venv.names())
    for name in venv.names():
        assert venv.pins(name).is_relative_to(shipped_conf())
        for line in venv.pins(name).read_text(encoding="utf-8").splitlines():
            assert line.startswith("#") or "==" in line
