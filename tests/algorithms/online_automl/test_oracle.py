"""ConfigOracle: interactions, learning rates, and both."""

import numpy as np
import pytest

from leaseboard.algorithms.online.schema import VWConfiguration
from leaseboard.algorithms.online_automl.oracle import ConfigOracle

LETTERS = tuple("abcdefghij")
BOTH = "interactions+learning-rate"


DEFAULT = VWConfiguration()


def ask(oracle, champion=DEFAULT, namespaces=LETTERS, seed=0):
    return oracle(champion, namespaces, np.random.RandomState(seed))


def rates(oracle, rate):
    return [one.learning_rate for one in ask(oracle, VWConfiguration(learning_rate=rate))]


def test_the_step_shrinks_when_the_rate_did_not_win_and_stays_when_it_won():
    oracle = ConfigOracle("learning-rate", literal=True)
    first, again = rates(oracle, 0.1), rates(oracle, 0.1)
    assert again[0] < first[0]
    assert again[1] > first[1]

    oracle = ConfigOracle("learning-rate", literal=True)
    up, _ = rates(oracle, 0.01)
    further, back = rates(oracle, up)
    assert further / up == pytest.approx(up / 0.01)
    assert back == pytest.approx(0.01)

    oracle = ConfigOracle("learning-rate", literal=False)  # as FLAML's
    assert rates(oracle, 0.1) == rates(oracle, 0.1)


def test_joint_candidates_change_one_or_both():
    names = tuple("abc")
    apart = ask(ConfigOracle(BOTH), namespaces=names)
    joined = ask(ConfigOracle(BOTH, literal=True), namespaces=names)

    assert len(apart) == 3 + 2
    assert len(joined) == 3 * 2 + 3 + 2
    assert any(p.interactions and p.learning_rate != 0.5 for p in joined)
    assert not any(p.interactions and p.learning_rate != 0.5 for p in apart)
