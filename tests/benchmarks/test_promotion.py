"""The measure of promotions, where the answer is known."""

import math

import numpy as np
import pytest

from benchmarks.promotion import (
    KINDS,
    Foreknown,
    by_test,
    known,
    promoted,
    reversal,
    verdicts,
)
from leaseboard.algorithms.sequential_test import SequentialTest


@pytest.mark.parametrize("draw", KINDS.values(), ids=list(KINDS))
def test_equal_predictors_are_equal_and_a_gain_is_a_gain(draw):
    rng = np.random.default_rng(0)
    equal, better = draw(rng, 100_000, 0.0), draw(rng, 100_000, 0.2)

    assert abs(equal.mean()) < 4 * equal.std() / math.sqrt(100_000)
    assert better.mean() > 4 * better.std() / math.sqrt(100_000)


def test_labels_of_the_fixed_size_test_by_hand():
    reported = known(np.array([1.0, 1.0, 1.0, -1.0] * 100))

    assert reported.labels == pytest.approx(6.18 * 0.75 / 0.25, rel=1e-3)
    assert reported.clip == 1.0


def test_a_sequential_test_in_pieces_ends_where_it_would_label_by_label():
    differences = verdicts(np.random.default_rng(3), 30_000, 0.05)
    found = by_test(differences, Foreknown(1.0, 1.0))
    before = SequentialTest().update_many(differences[: found - 1], np.zeros(found - 1))

    assert found > 2000
    assert before.decision(0.05) == "undecided"
    assert before.update(differences[found - 1], 0.0).decision(0.05) == "challenger"


def test_only_bets_that_learn_promote_who_is_worse_on_average():
    shares = promoted(reversal, Foreknown(2.0, 2000), 10)

    assert shares["Newton"] == 1.0
    assert shares["SequentialTest"] == 0.0
