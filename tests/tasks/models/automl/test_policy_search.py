"""Trials that were judged on some of the rows, and the seconds that refits need."""

from types import SimpleNamespace

import numpy as np
import pytest

from leaseboard.tasks.evaluate.trials.evaluate import Order
from leaseboard.tasks.evaluate.trials.replay import Judged
from leaseboard.tasks.evaluate.trials.scoring import Judge
from leaseboard.tasks.models.automl.policy_search import (
    PolicySearch,
    _Candidate,
    comparable,
)

TARGETS = np.tile([0, 1], 45)


def judge(weights=None):
    return Judge("accuracy", TARGETS, np.array([0, 1]), weights)


def candidate(name, *shares, weights=None):
    """Return a trial with a fold of 30 rows for each share, in which it is right on that share."""
    codes = TARGETS[: 30 * len(shares)].copy()
    for fold, share in enumerate(shares):
        wrong = slice(30 * fold, 30 * fold + 30 - round(30 * share))
        codes[wrong] = 1 - codes[wrong]
    predictions = np.eye(2)[codes]
    score = judge(weights).first(len(codes)).score(predictions)
    order = Order(name, {}, seed=len(shares))
    return _Candidate(None, Judged(order=order, score=score, predictions=predictions,
                                   cpu_seconds=0.0, wall_seconds=0.0, file=None))  # fmt: skip


def compared(*candidates, weights=None):
    """Return names and scores, the best first, and the number of rows that they are scores of."""
    found, of_rows = comparable(list(candidates), judge(weights))
    names = [(each.judged.order.estimator, round(each.judged.score, 3)) for each in found]
    assert {len(each.judged.predictions) for each in found} == {len(of_rows.targets)}
    return names, len(of_rows.targets)


@pytest.mark.parametrize("turn", [1, -1])
def test_a_trial_on_its_first_rows_is_compared_on_these_rows_alone(turn):
    """It has the higher score, as the rows that it has not seen are the hard ones."""
    whole, part = candidate("whole", 1.0, 0.9, 0.1), candidate("part", 0.9, 0.9)
    assert part.judged.score > whole.judged.score

    assert compared(*[whole, part][::turn]) == ([("whole", 0.667)], 90)


@pytest.mark.parametrize("turn", [1, -1])
def test_a_trial_that_is_clearly_better_on_its_rows_makes_them_the_judges_of_all(turn):
    """The other has the higher score on all rows: the last are the easy ones."""
    whole, other = candidate("whole", 0.3, 0.3, 1.0), candidate("other", 0.4, 0.4, 0.0)
    part = candidate("part", 0.5, 0.5)
    assert whole.judged.score > part.judged.score

    found = compared(*[whole, other, part][::turn])
    assert found == ([("part", 0.5), ("other", 0.4), ("whole", 0.3)], 60)


def test_a_lead_within_the_standard_error_does_not_count():
    whole = candidate("whole", 0.8, 0.8, 0.8)

    assert compared(whole, candidate("part", 0.8, 0.8))[1] == 90
    assert compared(whole, candidate("part", 0.9, 0.8))[1] == 90  # .05; the error is .05
    assert compared(whole, candidate("part", 1.0, 0.9))[1] == 60


def test_the_shortest_must_beat_all_that_have_more_rows_and_are_compared():
    whole, half = candidate("whole", 0.5, 0.5, 0.5), candidate("half", 0.7, 0.9)
    short = candidate("short", 0.6)

    assert compared(short, half, whole) == ([("half", 0.8), ("whole", 0.5)], 60)
    better = candidate("short", 0.9)
    expected = [("short", 0.9), ("half", 0.7), ("whole", 0.5)]
    assert compared(better, half, whole) == (expected, 30)


def test_refits_reserve_what_the_best_trials_need_if_it_fits_into_their_share():
    folds = SimpleNamespace(bagged=False, train=(range(8),))
    trials = SimpleNamespace(leaders=lambda: [(0.9, 4.0), (0.8, 2.0), (0.7, 0.5), (0.6, 0.3)])
    search = SimpleNamespace(folds=folds, codes=range(10), trials=trials)

    # On all rows 5.5, 2.75, .6875 and .4125 seconds.
    assert PolicySearch.for_refits(search, 20.0) == pytest.approx(5.5 + 0.6875 + 0.4125)
    assert PolicySearch.for_refits(search, 10.0) == pytest.approx(2.75 + 0.4125)
    assert PolicySearch.for_refits(search, 0.0) == 0
    # Five folds of a growing past cost what their fifteen parts do.
    folds.train = tuple(range(2 * k) for k in range(1, 6))
    assert PolicySearch.for_refits(search, 20.0) == pytest.approx(
        (4.0 + 2.0 + 0.5 + 0.3) * 1.1 / 3
    )
    folds.bagged = True
    assert PolicySearch.for_refits(search, 20.0) == 0
