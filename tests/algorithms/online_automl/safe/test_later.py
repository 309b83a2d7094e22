"""Predictions that wait: their weights, their guarantee, and what they may go by."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from leaseboard.algorithms import registry
from leaseboard.algorithms.environments.arrival import Arrival
from leaseboard.algorithms.environments.stream import Stream, StreamEnvironment
from leaseboard.algorithms.online.schema import Origin, Schema
from leaseboard.algorithms.online_automl.late import (
    ALIKE,
    COMMON,
    LEAST_SHARE,
    MEMORIES,
    NAIVE,
    PRIOR,
    TRUSTED,
    LateClasses,
    LateNumbers,
)
from leaseboard.algorithms.online_automl.one_vs_rest import OneVsRest
from leaseboard.algorithms.online_automl.online_automl import OnlineAutoML
from leaseboard.algorithms.online_automl.racing import StreamRace
from leaseboard.algorithms.online_automl.safe.later import (
    BASELINES,
    IN_ORDER,
    LABEL,
    MEAN_PART,
    N_PARTS,
    RIDGE_PART,
    Parts,
)
from leaseboard.algorithms.online_automl.safe.mixture import ALLOWED
from leaseboard.algorithms.online_automl.safe.scale import SHOWN
from leaseboard.algorithms.online_automl.streaming import OnlineAutoMLRegressor
from tests.algorithms.played import ended

LIMITS = np.array([-1000.0, 1000.0])


def parts_of(said, lost=1.0):
    return Parts(np.asarray(said, float), np.broadcast_to(lost, N_PARTS), LIMITS, 1.0)


def shown(label):
    """Return a race of which learners see that label."""
    expansion = SimpleNamespace(scale=np.full(SHOWN + 1, label))
    return SimpleNamespace(ensemble=SimpleNamespace(expansion=expansion))


def test_parts_are_weighed_by_what_they_said_when_it_was_said():
    said = np.arange(N_PARTS, dtype=float)
    waited = LateNumbers(())
    prediction, kept = waited.predict(parts_of(said))
    waited.predict(parts_of(said + 100))  # counts when it is answered
    for label in (2.5, 9.0):
        waited.answer(shown(label), label, prediction, kept, 1)

    worth, first, second = np.ones(N_PARTS), (said - 2.5) ** 2, (said - 9.0) ** 2
    worth[[MEAN_PART, RIDGE_PART]] = TRUSTED
    for waiting, alike in (0, 1), (9, 10), (80, ALIKE):
        expected = 0.0
        for memory, share in MEMORIES.items():
            losses, mass = PRIOR + (1 - 1 / memory) * first + second, PRIOR + 2 - 1 / memory
            weights = worth * np.exp(-0.5 * mass / alike * (losses / losses.min() - 1))
            expected += share * 10 * weights @ said / weights.sum()
        mean = waited.mean(10 * said, np.ones(N_PARTS), waiting)
        assert mean == pytest.approx(expected)
    none = np.where(said == 1, np.inf, 1.0)  # this one has nothing to say
    assert LateNumbers(()).mean(np.where(said == 1, 1e9, 2.0), none) == 2.0


@pytest.mark.parametrize("labels", ["after=24", "with=day"])
def test_the_baselines_of_the_protocol_are_its_own(labels):
    """What `race` ranks: mean, ridge regression, last label, and the one a season ago."""
    rng, n = np.random.default_rng(0), 900
    x = rng.normal(size=(n, 2)).astype(np.float32)
    y = (np.resize(rng.normal(size=24), n) + x[:, 0] + rng.normal(size=n)).astype(np.float32)
    days = np.arange(n) // 24
    x[:, 1] = days
    origins = Origin("x"), Origin("day", "days")
    schema = Schema(("all",), ((0, 1),), ("x", "day"), origins=origins)
    stream = Stream(x, y, schema, "regression", moments=days)
    arrival, found = Arrival.parse(labels), []
    race = StreamRace(OnlineAutoML(b=2).race(schema, 0, "regression"), stream, n, LateNumbers(()))
    predict = race.late.predict
    race.late.predict = lambda parts, entity: found.append(parts.said) or predict(parts, entity)
    for _ in arrival.play(race, x, y, days):
        pass
    parts = {"running-mean": MEAN_PART, "online-ridge": RIDGE_PART, "last-label": LABEL,
             "seasonal-last": IN_ORDER}  # fmt: skip
    for name, part in parts.items():
        env = StreamEnvironment(stream, arrival=arrival)
        ended(registry.build(name).run(env, 0))
        said = np.array(found)[-650:, part]
        assert said == pytest.approx(env.predictions[-650:], rel=1e-3, abs=1e-4), name


def adversarial(delay, with_blocks, n=2000):
    """Return the excess over the best baseline, and what the theorem allows.

    Each label is far from what is predicted, for as long as the baseline that is trusted most is
    near it; then another baseline is right.
    """
    rng, waited = np.random.default_rng(delay), LateNumbers(())
    lost, own, waiting = np.zeros(len(BASELINES)), 0.0, []
    for t in range(n):
        said = rng.normal(scale=3.0, size=N_PARTS)
        right = BASELINES[t // (7 * (delay + 1)) % len(BASELINES)]
        prediction, kept = waited.predict(parts_of(said))
        label = said[right] + np.sign(said[right] - prediction)
        own += (prediction - label) ** 2
        lost += (said[[*BASELINES]] - label) ** 2
        waiting.append((label, prediction, kept))
        due = len(waiting) > delay
        while due and waiting:
            label, prediction, kept = waiting.pop(0)
            waited.answer(shown(label), label, prediction, kept, len(waiting))
            due = with_blocks
    allowed = sum(state[ALLOWED] for state in waited.copies)
    assert len(waited.copies) <= delay + 1
    return own - lost.min(), allowed


@pytest.mark.parametrize("with_blocks", [False, True])
@pytest.mark.parametrize("delay", [0, 1, 24, 200])
def test_no_labels_make_it_worse_than_the_theorem_allows(delay, with_blocks):
    excess, allowed = adversarial(delay, with_blocks)

    assert excess <= allowed


@pytest.mark.parametrize("with_blocks", [False, True])
@pytest.mark.parametrize("delay", [1, 24, 200])
def test_no_classes_make_the_log_loss_larger_than_the_theorem_allows(delay, with_blocks):
    """The posterior mean is surely wrong; a baseline is right for as long as it is not trusted."""
    rng, waited, waiting, n = np.random.default_rng(delay), LateClasses(), [], 2000
    race = object.__new__(OneVsRest)
    lost, own = np.zeros(1 + len(NAIVE)), 0.0
    for t in range(n):
        experts = rng.dirichlet(np.full(3, 0.3), size=1 + len(NAIVE))
        label = 1 + t // 700 % 2
        experts[0], experts[1 + t // (7 * (delay + 1)) % 3] = np.eye(3)[0], np.eye(3)[label]
        shares, guarded = waited.guard(experts)
        assert shares.sum() == pytest.approx(1.0)
        own -= np.log(shares[label])
        lost -= np.log((1 - LEAST_SHARE) * experts[:, label] + LEAST_SHARE / 3)
        waiting.append((label, np.concatenate((np.full(1 + COMMON, -1.0), guarded, [0.0]))))
        due = len(waiting) > delay
        while due and waiting:
            label, kept = waiting.pop(0)
            waited.answer(race, label, None, kept, len(waiting))
            due = with_blocks
    assert len(waited.copies) <= delay + 1
    assert own - lost[1:].min() <= np.log(100) * len(waited.copies)


@pytest.mark.parametrize(("allowed", "holds"), [(np.log(100) + 1e-9, True), (np.log(99), False)])
def test_the_constant_for_classes_is_as_small_as_it_can_be(allowed, holds):
    """One expert is right and the others are surely wrong: all of its first weight is lost."""
    waited, own, lost = LateClasses(), 0.0, 0.0
    for _ in range(20):
        shares, guarded = waited.guard(np.eye(2)[[0, 0, 0, 1]])
        own, lost = own - np.log(shares[1]), lost - np.log(1 - LEAST_SHARE / 2)
        kept = np.concatenate((np.full(1 + COMMON, -1.0), guarded, [0.0]))
        waited.answer(None, 1.0, None, kept, 0)

    assert (own - lost <= allowed) == holds


@pytest.fixture(scope="module")
def shops():
    """Return 900 sales of three shops a day, each of which goes its own way, and the labels."""
    rng = np.random.default_rng(1)
    day = np.repeat(np.arange(300), 3)
    frame = pd.DataFrame(
        {
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(day, unit="D"),
            "shop": np.tile(["a", "b", "c"], 300),
            "heat": rng.normal(size=900),
            "note": rng.choice(["x", "y"], 900),
        }
    )
    slope = frame["shop"].map({"a": 5.0, "b": -5.0, "c": 0.0})
    return frame, (slope * frame["heat"] + rng.normal(scale=0.1, size=900)).to_numpy()


@pytest.fixture(scope="module")
def seller(shops):
    frame, labels = shops
    model = OnlineAutoMLRegressor(b=8)
    model.learn_many(frame[:600], labels[:600])
    model.measure_forecast(frame[600:750], labels[600:750])
    model.learn_many(frame[600:750], labels[600:750])
    return model


def test_each_entity_has_weights_of_its_own(shops, seller):
    frame, labels = shops
    found = seller.forecast_many(frame[750:], level=0.9)

    assert np.sqrt(np.mean((found[:, 0] - labels[750:]) ** 2)) < 0.15
    assert 0.8 < np.mean((found[:, 1] <= labels[750:]) & (labels[750:] <= found[:, 2])) < 0.98


def test_a_row_with_a_date_is_predicted_alike_whatever_the_others_are(shops, seller):
    frame, _ = shops
    whole = seller.forecast_many(frame[750:])
    order = np.random.default_rng(0).permutation(150)

    assert seller.forecast_many(frame[750:].iloc[order]).tolist() == whole[order].tolist()
    assert seller.forecast_many(frame[780:790]).tolist() == whole[30:40].tolist()


@pytest.mark.parametrize(
    ("freq", "times", "length"), [("B", 1, 10), ("D", 2, 10), ("h", 1, 7), ("10min", 1, 13)]
)
def test_a_season_goes_on_by_time_whatever_the_order(freq, times, length):
    """Neither the hour nor the day of the week shows it, and weekends have no rows."""
    rng, n = np.random.default_rng(0), 900
    frame = pd.DataFrame({"t": pd.date_range("2001-01-01", periods=n, freq=freq).repeat(times)})
    season = np.resize(3.0 * rng.permutation(length), n).repeat(times)
    labels = season + rng.normal(scale=0.1, size=len(frame))
    model, known = OnlineAutoMLRegressor(b=4), len(frame) - 100
    model.learn_many(frame[:known], labels[:known])
    order = rng.permutation(100)
    found = model.forecast_many(frame[known:].iloc[order])

    assert np.sqrt(np.mean((found - season[known:][order]) ** 2)) < 0.2


def test_a_saved_model_forecasts_the_same_and_goes_on(shops, seller, tmp_path):
    frame, labels = shops
    seller.save(tmp_path / "m")
    again = OnlineAutoMLRegressor.load(tmp_path / "m")

    assert again.forecast_many(frame[750:], 0.9).tolist() == (
        seller.forecast_many(frame[750:], 0.9).tolist()
    )
    for t, (x, label) in enumerate(zip(frame[750:].to_dict("records"), labels[750:], strict=True)):
        said = [model.predict_one(x, id=t) for model in (again, seller)]
        assert said[0] == said[1]
        if t % 2:
            for model in (again, seller):
                model.learn_label(t, label)
    assert again.dump() == seller.dump()
