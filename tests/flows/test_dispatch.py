"""What runs in addition to the jobs of a suite, and while a server starts."""

import sys
from contextlib import contextmanager

import pytest

from leaseboard.flows import dispatch
from leaseboard.flows.dispatch import RunOptions
from leaseboard.tasks.jobs.suites.suite import Suite
from leaseboard.tasks.track.store import state_of


@pytest.mark.parametrize(("algorithm", "helps"), [("chacha", True), ("vanilla", False)])
def test_kernels_are_compiled_by_one_more_process_for_races_alone(algorithm, helps, monkeypatch):
    asked = []

    @contextmanager
    def helped(*, at_once):
        asked.append(at_once)
        yield
        asked.append("ended")

    monkeypatch.setattr(dispatch, "helped", helped)
    suite = Suite(title="t", name="t", data=["sklearn:diabetes"], algorithms=[algorithm])
    with dispatch._pool(suite, RunOptions(1), suite.jobs()):
        assert asked == [True] * helps
    assert asked == [True, "ended"] * helps


def test_the_store_is_there_when_a_server_has_started(tmp_path):
    uri = f"sqlite:///{tmp_path / 'store.db'}"
    with dispatch._prepared_meanwhile(uri):
        pass
    assert state_of(uri)
    assert "matplotlib.figure" in sys.modules


def test_a_store_that_cannot_be_made_is_left_to_the_recorder(tmp_path, capsys):
    (tmp_path / "store.db").mkdir()
    with dispatch._prepared_meanwhile(f"sqlite:///{tmp_path / 'store.db'}"):
        pass
    assert capsys.readouterr().err == ""
