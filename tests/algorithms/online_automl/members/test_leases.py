"""Leases by evidence per operation, counted alike on every machine."""

import numpy as np

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
