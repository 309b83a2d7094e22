"""Class weights where one class is rare: the lines, and a set that is not there."""

from __future__ import annotations

import pytest

from benchmarks import apple_rare


def test_weights_and_thresholds_find_the_rare_class(capsys):
    assert apple_rare.main(["fried"]) == 0

    head, *lines = (line.split(" | ") for line in capsys.readouterr().out.splitlines())
    plain, *fixed = (float(line[head.index("balanced accuracy")]) for line in lines)
    assert min(fixed) > plain + 0.05


def test_an_unknown_set_is_refused(capsys):
    with pytest.raises(SystemExit):
        apple_rare.main(["frid"])

    assert "frid is not a set: name one of census, letter A" in capsys.readouterr().err
