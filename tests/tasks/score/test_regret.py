"""Regret over time of policies over arms."""

import numpy as np
import pytest

from leaseboard.tasks.score.papers import regret_of, regrets

QUICK, SLOW = np.array([0.5, 0.9, 0.9, 0.9]), np.array([0.5, 0.5, 0.5, 0.8])


def both(quick=QUICK, slow=SLOW):
    return {"slow": slow, "quick": quick}


def test_the_regret_is_against_the_best_of_the_repetition_and_its_mean_over_trials():
    found = regrets({("d", 0): both(), ("d", 1): both(slow=SLOW + 0.2)})

    assert list(found.index) == ["quick", "slow"]
    # .9 is the best of the first repetition, 1 of the second.
    means = [each.value for each in found["Mean regret"]]
    assert means == pytest.approx(
        [100 * (0.4 / 4 + (0.5 + 3 * 0.1) / 4) / 2, 100 * (1.3 / 4 + 0.9 / 4) / 2]
    )
    assert found["Times the first"].tolist() == pytest.approx([1, means[1] / means[0]])
    assert [each.value for each in found["Mean rank"]] == [1, 2]
    assert regret_of(np.array([0.5]), 1.0, 4) == 0.5  # one that stopped early
    tied = regrets({("d", 0): both(quick=SLOW)})
    assert tied["Mean rank"].map(lambda rank: rank.value).tolist() == [1.5, 1.5]


def test_only_repetitions_that_all_finished_count():
    found = regrets({("d", 0): both(), ("d", 1): {"quick": np.ones(4)}})

    assert found["Runs"].tolist() == [1, 1]
    assert regrets({("d", 1): {"quick": QUICK}, ("d", 2): {"slow": SLOW}}).empty
    assert regrets({}).empty
