"""The seconds that refits of the best trials need."""

from types import SimpleNamespace

import pytest

from leaseboard.tasks.models.automl.policy_search import PolicySearch


def fold(n_rows):
    return SimpleNamespace(train_y=range(n_rows))


def test_refits_reserve_what_the_best_trials_need_if_it_fits_into_their_share():
    arrays = SimpleNamespace(folds=(fold(8),), refit=fold(10))
    search = PolicySearch(
        estimator=None, arrays=arrays, space=None, policy=None, budget=20.0, unit="cpu_seconds",
        begin=0.0, seed=0,
    )  # fmt: skip
    best = [(0.9, 4.0), (0.8, 2.0), (0.7, 0.5), (0.6, 0.3)]
    search.trials = SimpleNamespace(leaders=lambda: best)

    # On all rows 5.5, 2.75, .6875 and .4125 seconds.
    assert search.for_refits(20.0) == pytest.approx(5.5 + 0.6875 + 0.4125)
    assert search.for_refits(10.0) == pytest.approx(2.75 + 0.4125)
    assert search.for_refits(0.0) == 0
    # Five folds of a growing past cost what their fifteen parts do.
    arrays.folds = tuple(fold(2 * k) for k in range(1, 6))
    assert search.for_refits(20.0) == pytest.approx((4.0 + 2.0 + 0.5 + 0.3) * 1.1 / 3)
    arrays.refit = None
    assert search.for_refits(20.0) == 0
