"""What members and their stack add, and that it stays near the best of them."""

import math

import numpy as np
import pytest

from leaseboard.algorithms.online_automl.members.pool import (
    AWAKE,
    FIRST_PAUSE,
    LENGTH,
    LONGEST,
    N_EXPERTS,
    PRICE,
    SAVED,
    SHOWN,
    TRIAL,
    Leases,
    NumberPool,
)
from leaseboard.algorithms.online_automl.safe.mixture import SHARES
from leaseboard.algorithms.online_automl.streaming import (
    OnlineAutoMLClassifier,
    OnlineAutoMLRegressor,
)
from leaseboard.algorithms.plain import values_of


@pytest.mark.parametrize("n_classes", [2, 4])
def test_no_adversary_who_sees_the_prediction_breaks_the_bound_for_classes(n_classes):
    random = np.random.default_rng(0)
    model = OnlineAutoMLClassifier(b=2)
    for t in range(1500):
        x = dict(enumerate(random.normal(size=3).tolist()))
        shares = model.predict_proba_one(x)
        assert sum(shares.values()) == pytest.approx(1.0 if t else 0.0)
        assert all(0.0 < share < 1.0 for share in shares.values()) or t < n_classes
        model.learn_one(x, t if t < n_classes else min(shares, key=shares.__getitem__))
    pool = model._race.pool or model._race.races[0].ensemble.pool
    assert 0.0 <= pool.lost[-1] <= math.log(N_EXPERTS) + SHARES


def rings(n, seed=0):
    x = np.random.default_rng(seed).uniform(-1, 1, size=(n, 2)).astype(np.float32)
    return x, np.floor(2.5 * np.hypot(x[:, 0], x[:, 1]))


def test_members_find_what_linear_models_cannot():
    x, y = rings(4000)
    model = OnlineAutoMLClassifier()
    model.learn_many(x[:3000], y[:3000])

    assert np.mean(np.array(model.predict_many(x[3000:])) != y[3000:]) < 0.1


def test_on_a_linear_stream_members_pause():
    x = np.random.default_rng(0).normal(size=(5000, 12)).astype(np.float32)
    y = x @ np.arange(12) + np.random.default_rng(1).normal(size=5000)
    model = OnlineAutoMLRegressor()
    model.learn_many(x, y)
    assert not any(each["has_lease"] for each in model.members)


def test_two_classes_become_three_and_members_keep_what_they_know():
    x, y = rings(3000)
    first = y < 2
    model = OnlineAutoMLClassifier(b=5)
    model.learn_many(x[first][:1500], y[first][:1500].astype(int))
    pool = model._race.races[0].ensemble.pool
    assert pool.n_classes == 2
    model.learn_many(x[2000:], y[2000:].astype(int))

    assert model._race.pool is pool
    assert pool.n_classes == len(model.classes) == 4 - (y.max() < 3)
    assert [race.ensemble.pool for race in model._race.races] == [None] * (pool.n_classes - 1)
    assert pool.at > 1500


def test_of_very_many_columns_there_are_no_members():
    pool = NumberPool(2000, 0.999)
    assert not pool.leases.table[:, 0].any()
    state = values_of(pool.members[0], pool.members[0].kept).values()
    assert sum(array.nbytes for array in state if hasattr(array, "nbytes")) < 10_000


@pytest.mark.parametrize("kind", ["numbers", "two classes", "classes"])
def test_the_members_are_reported(kind):
    random = np.random.default_rng(0)
    x = random.normal(size=(1500, 3)).astype(np.float32)
    y = np.sin(3.0 * x[:, 0]) * x[:, 1] + x[:, 2]
    labels = {"numbers": y, "two classes": y > 0, "classes": np.digitize(y, [-1, 0, 1])}[kind]
    model = (OnlineAutoMLRegressor if kind == "numbers" else OnlineAutoMLClassifier)(b=4)
    model.learn_many(x[:1000], labels[:1000])
    live, *members, stack = model.members
    assert tuple(each["member"] for each in model.members) == SHOWN
    assert sum(each["weight"] for each in model.members) == pytest.approx(1.0)
    assert all(each["has_lease"] for each in members)
    assert live["us"] == 8.0 * (3 if kind == "classes" else 1)
    assert stack["us"] is None

    model.learn_many(x[1000:], labels[1000:])
    pool = model._race.ensemble.pool if kind == "numbers" else model._race.pool
    pool = pool or model._race.races[0].ensemble.pool
    for m in range(len(members)):
        pool.leases.end(m, pool.at)
    assert [each["weight"] for each in model.members] == [1.0, *[0.0] * 5]
    assert not any(each["has_lease"] for each in model.members)


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
