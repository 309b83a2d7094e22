"""Predictions from earlier labels: by hand, and in blocks of any size."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaseboard.algorithms import plain, registry
from leaseboard.algorithms.environments.arrival import Arrival
from leaseboard.algorithms.environments.stream import Namespace, Stream, StreamEnvironment
from leaseboard.algorithms.measures import loss_of
from leaseboard.algorithms.reference.naive import (
    NAIVE_BASELINES,
    Baselines,
    LastLabel,
    RunningMean,
    SeasonalLast,
    best_baseline,
)
from leaseboard.algorithms.reference.ridge import OnlineRidge
from leaseboard.algorithms.reference.season_steps import period_after
from tests.algorithms.played import ended

ALL = (RunningMean(), LastLabel(), SeasonalLast(), SeasonalLast(period=3), OnlineRidge())


def stream(labels, features=None, task="regression"):
    labels = np.asarray(labels, dtype=np.float32)
    x = np.zeros((len(labels), 1)) if features is None else features
    names = tuple(map(str, range(x.shape[1])))
    return Stream(np.asarray(x, np.float32), labels, (Namespace("a", 0, x.shape[1]),), names, task)


@pytest.mark.parametrize("algorithm", ALL)
def test_nothing_is_predicted_by_what_comes_later(algorithm):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(50, 2)).astype(np.float32), rng.normal(size=50).astype(np.float32)
    before = algorithm.predictor(2, "regression").learn_many(x, y)
    x[30:], y[30:] = 7 * x[30:] + 3, -y[30:]
    after = algorithm.predictor(2, "regression").learn_many(x, y)

    assert np.array_equal(before[:30], after[:30])


@pytest.mark.parametrize("algorithm", ALL)
def test_they_follow_the_target_s_scale_and_shift(algorithm):
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(200, 3)), rng.normal(size=200)
    y += x @ [1, 2, 3]

    def reported(labels, features):
        predictor = algorithm.predictor(3, "regression")
        return predictor.learn_many(features.astype(np.float32), labels.astype(np.float32))

    plain, moved = reported(y, x), reported(1000 * y + 500, x * [1, 100, 0.01])
    assert moved[1:] == pytest.approx(1000 * plain[1:] + 500, abs=0.5)


@given(
    labels=st.lists(st.sampled_from([0.0, 1.0, 2.0, 0.1, 1e30]), min_size=1, max_size=60),
    longest=st.integers(2, 12),
)
def test_the_next_period_is_the_least_one(labels, longest):
    past, losses, period = [], np.zeros(longest + 1), 1
    for seen, label in enumerate(labels):
        period = period_after(losses, seen, period)
        means = {lag: losses[lag] / (seen - lag) for lag in range(2, min(seen // 2, longest) + 1)}
        assert period == min(means, key=means.__getitem__, default=1)
        losses[1 : 1 + seen] += (label - np.array(past[:longest])) ** 2
        past.insert(0, label)


def env(labels, features=None, budget=None, task="regression"):
    labels = np.asarray(labels, np.float32)
    x = np.zeros((len(labels), 1), np.float32) if features is None else features
    return StreamEnvironment(
        Stream(x, labels, (Namespace("a", 0, 1),), ("x",), task), budget=budget
    )


def test_the_one_that_loses_least_is_named_with_its_loss():
    random = np.random.default_rng(0)
    walk, noise = random.normal(size=(2, 500)).cumsum(axis=1)[0], random.normal(size=500)
    x, noise_in = random.normal(size=(2, 500, 1)).astype(np.float32)

    assert best_baseline(env(walk))[0] == "last-label"
    assert best_baseline(env(noise, noise_in))[0] == "running-mean"
    assert best_baseline(env(3 * x[:, 0], x))[0] == "online-ridge"
    assert best_baseline(env(np.tile(random.normal(size=20), 25)))[0] == "seasonal-last"
    name, loss = best_baseline(env([1, 2, 4, 9], budget=3))
    assert (name, loss) == ("last-label", pytest.approx(2.0))


def test_ridge_takes_part_with_any_number_of_features():
    x = np.random.default_rng(0).normal(size=(300, 4097)).astype(np.float32)
    spaces, names = (Namespace("a", 0, x.shape[1]),), tuple(map(str, range(x.shape[1])))
    found = best_baseline(
        StreamEnvironment(Stream(x, x[:, 7], spaces, names, "regression", None, ()))
    )

    assert found is not None
    assert found[0] == "online-ridge on selected features"


def test_next_to_a_model_they_get_labels_as_on_an_environment():
    x, y = np.random.default_rng(3).normal(size=(2, 200)).astype(np.float32)
    classes = ["no", "yes", "maybe"]
    for arrival in (Arrival(), Arrival(after=5), Arrival(column="day")):
        days = np.arange(200) // 3
        kinds = np.digitize(y, [-0.5, 0.5])
        first = dict.fromkeys(kinds.tolist())
        names = {kind: classes[place] for place, kind in enumerate(first)}
        numbers = np.float32([[*first].index(kind) for kind in kinds.tolist()])
        for task, labels, raw in (
            ("regression", y, y.astype(float)),
            ("classification", numbers, np.array([names[kind] for kind in kinds.tolist()])),
        ):
            losses = Baselines(task).learn({"x": x.astype(float)}, raw, (), arrival, days)
            called = tuple(classes) if task == "classification" else ()
            whole = replace(stream(labels, x[:, None], task), classes=called, moments=days)
            for name in NAIVE_BASELINES:
                one = StreamEnvironment(whole, arrival=arrival)
                ended(registry.build(name).run(one, 0))
                assert losses[name] == pytest.approx(loss_of(one.score().metrics)), (name, arrival)


def rows_of(rng, n, width):
    return {f"x{k}": column for k, column in enumerate(rng.normal(size=(width, n)))}


@pytest.mark.parametrize("width", [30, 1100])
def test_baselines_that_were_saved_learn_on_as_classes_come(width):
    rng = np.random.default_rng(0)
    tables = [rows_of(rng, 60, width) for _ in range(4)]
    labels = [rng.choice(names, 60) for names in (["a", "b"], [*"abc"], [*"abc"], [*"cabd"])]
    kept, saved = Baselines("classification"), Baselines("classification")

    for table, named in zip(tables, labels, strict=True):
        saved = Baselines.restored(plain.load(plain.dump("m", saved.state()), "m")[1])
        reported = saved.learn(table, named)
        assert reported == kept.learn(table, named)
        ridge = "online-ridge" if width < 1000 else "online-ridge on selected features"
        assert set(reported) == {*NAIVE_BASELINES} - {"online-ridge"} | {ridge}


NOTHING = np.zeros((9, 1), np.float32)


def probabilities(algorithm, labels, examples=NOTHING):
    labels = np.asarray(labels, np.float32)
    return algorithm.predictor(examples.shape[1], "classification", 3).learn_many(
        examples[: len(labels)], labels
    )


def sample(n=400, k=4):
    """Return classes by the largest of linear scores, the last not in the first half."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 3)).astype(np.float32)
    found = (x @ rng.normal(size=(3, k)) + 0.3 * rng.gumbel(size=(n, k))).argmax(axis=1)
    found[: n // 2][found[: n // 2] == k - 1] = 0
    places = {}
    return x, np.float32([places.setdefault(one, len(places)) for one in found.tolist()])


def test_a_season_of_classes_is_found_for_any_numbers():
    """By squared differences period 2 would be nearer: it is right less often."""
    labels = np.tile([0, 9, 0, 8, 0, 9, 1, 8], 60)
    found = probabilities(SeasonalLast(), labels, np.zeros((480, 1), np.float32))

    assert (found.argmax(axis=1)[100:] == labels[100:]).all()


@pytest.mark.parametrize("name", NAIVE_BASELINES)
def test_blocks_of_any_size_give_the_same(name):
    x, labels = sample()
    whole, parts = (NAIVE_BASELINES[name]().predictor(3, "classification", 3) for _ in range(2))
    expected = whole.learn_many(x, labels)
    for rows in np.array_split(np.arange(400), 13):
        found = parts.learn_many(x[rows], labels[rows])
        n_classes = found.shape[1]
        assert np.array_equal(found, expected[rows, :n_classes])
        assert not expected[rows, n_classes:].any()


def test_a_class_that_comes_late_is_learned_as_if_it_had_been_the_rest():
    x, labels = sample()
    new = int(np.argmax(labels == 3))
    found = probabilities(OnlineRidge(), labels, x)
    alone = OnlineRidge().predictor(3, "classification")
    margins = alone.learn_many(x, np.where(labels == 3, 1, -1).astype(np.float32))
    others = probabilities(OnlineRidge(), np.where(labels == 3, 0, labels), x)

    assert new >= 200
    assert not found[: new + 1, 3].any()
    assert np.array_equal(found[:new], np.pad(others[:new], ((0, 0), (0, 1))))
    late = found[new + 1 :]
    odds = late[:, 3] / (1 / (1 + np.exp(-margins[new + 1 :].astype(float))))
    assert (odds > 0.5).all()  # scaled to 1 with the probabilities of the others
    assert late.sum(axis=1) == pytest.approx(1)
    assert late[-50:, 3].max() > 0.5
