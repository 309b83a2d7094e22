"""The command that prints the coverage of ABC's intervals."""

from __future__ import annotations

import pytest

from algorithms.abc_selection.coverage import Coverage
from tasks.score import coverage


def test_a_line_for_every_kind_and_delta(capsys):
    assert coverage.main(["--runs", "5"]) == 0
    lines = capsys.readouterr().out.splitlines()[1:]
    assert [line.split()[:3] for line in lines] == [
        [kind, delta, "5"] for kind in ("exact", "serfling", "paper") for delta in ("0.50", "0.05")
    ]


@pytest.mark.parametrize(("missed", "lost"), [(100, 0), (0, 100)])
def test_a_promise_that_is_broken_too_often_exits_with_1(monkeypatch, missed, lost):
    monkeypatch.setattr(
        coverage, "simulate", lambda _, delta, runs: Coverage(delta, runs, missed, lost)
    )
    assert coverage.main(["--runs", "100"]) == 1


def test_no_runs_are_refused(capsys):
    with pytest.raises(SystemExit):
        coverage.main(["--runs", "0"])
    assert "give at least 1" in capsys.readouterr().err
