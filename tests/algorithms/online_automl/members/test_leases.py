"""Leases by evidence per operation, within a budget, counted alike on every machine."""

import pickle

import numpy as np
import pytest

from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.online_automl.members.leases import (
    AWAKE,
    FIRST_PAUSE,
    LENGTH,
    LONGEST,
    PRICE,
    SAVED,
    TRIAL,
    Leases,
)
from leaseboard.algorithms.online_automl.streaming import OnlineAutoMLRegressor

COSTS = [4000.0, 8000.0]
ROUND = 64
TODAY = 8000.0


def run(leases, saves, n, lost=1.0):
    """Return for which examples each member was awake, if it saves these shares of the loss."""
    awake = []
    for at in range(ROUND, n + 1, ROUND):
        awake.append(leases.table[:, AWAKE].copy())
        for member, share in enumerate(saves):
            if leases.table[member, AWAKE]:
                leases.table[member, SAVED] += ROUND * lost * share
                leases.lost[member] += ROUND * lost
        leases.review(at, COSTS, TODAY)
    return np.array(awake)


def test_what_saves_its_price_stays_and_what_does_not_pauses_ever_longer():
    least = PRICE * COSTS[1] / TODAY
    awake = run(Leases([TRIAL] * 2), [least * 1.01, least * 0.99], 100_000)

    assert awake[:, 0].all()
    begins = np.flatnonzero(np.diff(awake[:, 1]) > 0)
    ends = np.flatnonzero(np.diff(awake[:, 1]) < 0)
    assert (1 + ends[0]) * ROUND == TRIAL
    pauses = (begins - ends[: len(begins)]) * ROUND
    assert pauses.tolist() == [FIRST_PAUSE * 2**k for k in range(len(pauses))]
    assert awake[:, 1].mean() < 0.06


def test_a_lease_doubles_up_to_the_longest():
    leases = Leases([TRIAL] * 1)
    lengths = set()
    for at in range(ROUND, 60_000, ROUND):
        leases.table[0, SAVED], leases.lost[0] = 1.0, 1.0
        leases.review(at, COSTS[:1], TODAY)
        lengths.add(int(leases.table[0, LENGTH]))
    assert sorted(lengths) == [1024, 2048, 4096, 8192]
    assert max(lengths) == LONGEST


def test_a_budget_keeps_what_saves_most_an_operation():
    leases = Leases([TRIAL] * 2)
    leases.most = 9000.0
    leases.fit(0, COSTS)
    assert leases.table[:, AWAKE].tolist() == [1.0, 0.0]

    awake = run(leases, [0.1, 0.5], 50_000)
    assert (awake @ COSTS).max() <= leases.most
    assert awake[-100:, 1].mean() > 0.8, "it saves more an operation"
    leases.table[0], leases.most = leases.table[1], 7000.0  # the other grew too dear
    leases.fit(50_000, COSTS)
    assert leases.table[:, AWAKE].tolist() == [1.0, 0.0]


def test_members_of_a_model_stay_within_its_budget_from_the_first_example_on_also_from_a_file():
    X = np.random.default_rng(0).normal(size=(3000, 3))
    model = OnlineAutoMLRegressor(b=2, budget_us=8)
    spent = []
    for start in range(0, 3000, 500):
        model.learn_many(X[start : start + 500], np.sin(3 * X[start : start + 500, 0]))
        model = pickle.loads(pickle.dumps(model))
        spent.append(sum(row["us"] for row in model.members if row["has_lease"]))
    assert 0 < max(spent) <= 8
    with pytest.raises(UsageError, match=r"budget_us.*1\.9.* 2"):
        OnlineAutoMLRegressor(budget_us=1.9)
