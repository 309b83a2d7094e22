"""The seconds that refits of the best trials need."""

from types import SimpleNamespace

import pytest

from leaseboard.tasks.models.automl.policy_search import PolicySearch


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
