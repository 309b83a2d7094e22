"""The compiled steps of a race, each on slots filled in by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from leaseboard.algorithms.chacha.presets import Flaml, Paper
from leaseboard.algorithms.chacha.state import (
    Steps,
    better,
    epsilon_flaml,
    epsilon_paper,
    worse,
)

PAPER, FLAML = Paper().rules(), Flaml().rules()


def steps_of(rules, *rows, champion=0, n_candidates=1, **values):
    """Return steps with a slot for each dict of columns; a configuration's number is its slot."""
    steps = Steps(len(rows), rules)
    for slot, columns in enumerate(rows):
        for column, value in {"configuration": slot, **columns}.items():
            steps.slots[column][slot] = value
    for name, value in {"champion": champion, "n_candidates": n_candidates, **values}.items():
        setattr(steps, name, value)
    return steps


CHAMPION = {"n": 200, "lower": 2.0, "upper": 2.2, "epsilon": 0.1}
RIPE = {"n": 200, "lower": 1.0, "upper": 1.2, "epsilon": 0.1}


def test_a_decision_is_due_at_the_end_of_a_lease_or_when_a_test_is_positive():
    equal = {**CHAMPION, "lease": 300}
    cases = {
        "nothing": (equal, equal, False),
        "lease": (equal, {**equal, "n": 300}, True),
        "better": (equal, {**RIPE, "lease": 300}, True),
        "worse": (equal, {**equal, "lower": 2.3, "upper": 2.5}, True),
    }
    for name, (champion, challenger, due) in cases.items():
        for rules, found in ((PAPER, due), (replace(PAPER, fixed=True), name == "lease")):
            steps = steps_of(rules, champion, challenger, may_eliminate=True)
            assert steps.needs_decision() == found, name


def test_epsilon_of_the_appendix():
    # a = 0.05 * 20 = 1; 11 ln(1000 * 45 / 0.1) / 1000 = 0.011 * 13.01700...
    epsilon = epsilon_paper(1000, 11, 45, value_range=20.0)

    assert epsilon == pytest.approx(math.sqrt(0.011 * 13.0170028), rel=1e-7)


def test_epsilon_of_the_authors_code():
    # a = 1; sqrt(11) sqrt(log10(10000) / 1000) = sqrt(11 * 4 / 1000)
    epsilon = epsilon_flaml(1000, 11, value_range=20.0)

    assert epsilon == pytest.approx(math.sqrt(0.044))


def test_better_asks_for_a_gap_of_the_champions_epsilon():
    assert better(challenger_upper=1.0, champion_lower=1.5, champion_epsilon=0.4)
    assert not better(challenger_upper=1.0, champion_lower=1.5, champion_epsilon=0.5)


def test_worse_with_and_without_the_authors_margin():
    assert worse(1.2, 0.1, champion_upper=1.15, margin=0.0)
    assert not worse(1.2, 0.1, champion_upper=1.15, margin=1.0)
    assert not worse(1.15, 0.1, champion_upper=1.15, margin=0.0)
