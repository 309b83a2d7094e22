"""Leases by evidence per operation, within a budget, counted alike on every machine."""

import math

import numpy as np
import pytest

from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.online_automl.members.leases import (
    AWAKE,
    FIRST_PAUSE,
    LENGTH,
    LONGEST,
    OPERATIONS,
    PRICE,
    SAVED,
    TRIAL,
    Leases,
)

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
    awake = run(Leases(2), [least * 1.01, least * 0.99], 100_000)

    assert awake[:, 0].all()
    begins = np.flatnonzero(np.diff(awake[:, 1]) > 0)
    ends = np.flatnonzero(np.diff(awake[:, 1]) < 0)
    assert (1 + ends[0]) * ROUND == TRIAL
    pauses = (begins - ends[: len(begins)]) * ROUND
    assert pauses.tolist() == [FIRST_PAUSE * 2**k for k in range(len(pauses))]
    assert awake[:, 1].mean() < 0.06


def test_a_lease_doubles_up_to_the_longest():
    leases = Leases(1)
    lengths = set()
    for at in range(ROUND, 60_000, ROUND):
        leases.table[0, SAVED], leases.lost[0] = 1.0, 1.0
        leases.review(at, COSTS[:1], TODAY)
        lengths.add(int(leases.table[0, LENGTH]))
    assert sorted(lengths) == [1024, 2048, 4096, 8192]
    assert max(lengths) == LONGEST


def test_a_budget_keeps_what_saves_most_an_operation():
    budget = 9000.0 / OPERATIONS
    leases = Leases(2, budget)
    leases.fit(0, COSTS)
    assert leases.table[:, AWAKE].sum() == 1

    leases = Leases(2, budget)
    awake = run(leases, [0.1, 0.5], 50_000)
    spent = awake @ COSTS / OPERATIONS
    assert spent[TRIAL // ROUND :].max() <= budget + 1e-9
    assert awake[-100:].mean(axis=0)[1] > 0.8, "it saves more an operation"


@pytest.mark.parametrize("budget", [0.5, 3.999])
def test_less_than_the_cheapest_member_is_refused(budget):
    with pytest.raises(UsageError, match=r"budget_us = [\d.]+ is less than the 4 microseconds"):
        Leases(2, budget).require(COSTS)


def test_a_member_that_ended_for_good_does_not_come_back():
    leases = Leases(2)
    leases.end(1, 0)
    awake = run(leases, [1.0, 1.0], 100_000)
    assert not awake[:, 1].any()
    assert leases.held(1, 100_000) == 0.0
    assert leases.table[1, LENGTH] == math.inf
