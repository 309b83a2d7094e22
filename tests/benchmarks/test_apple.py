"""apple's CPU time next to linear's: the table, and sets that are not there."""

from __future__ import annotations

import pytest

from benchmarks import apple
from benchmarks.timing import ratio
from leaseboard.algorithms.testing import parity


def test_both_learn_the_same_rows():
    timings = apple.run(parity(rows=400).holdout, repeats=1)

    assert [(t.name, t.examples) for t in timings] == [("linear", 400), ("apple", 400)]
    assert ratio(timings, "apple", "linear") > 0
    assert timings[0].loss != timings[1].loss


def test_a_set_that_is_not_in_the_suite_is_refused(capsys):
    with pytest.raises(SystemExit):
        apple.main(["lettre"])

    assert "lettre is not a set of speed-apple: name one of" in capsys.readouterr().err


@pytest.mark.mirror
def test_the_command_line_prints_a_table(mirror, capsys):
    assert apple.main(["magic04", "--mirror", str(mirror), "--repeats", "1"]) == 0

    name, head, linear, _ = capsys.readouterr().out.splitlines()
    assert (name, head.split()[0], linear.split()[0]) == ("magic04", "us/example", "linear")
