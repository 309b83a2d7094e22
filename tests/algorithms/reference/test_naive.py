"""Naive baselines, ridge regression and trees that are fitted again, by hand."""

from dataclasses import replace

import lightgbm
import numpy as np
import pandas as pd
import pytest

from leaseboard.algorithms import plain, registry
from leaseboard.algorithms.checks import schema_of
from leaseboard.algorithms.environments.arrival import Arrival
from leaseboard.algorithms.environments.stream import Stream, StreamEnvironment
from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.measures import loss_of
from leaseboard.algorithms.reference.libraries import FIRST, SETTINGS, Refitted, RefittedLightGBM
from leaseboard.algorithms.reference.naive import NAIVE_BASELINES, Baselines
from leaseboard.algorithms.reference.ridge import MOST_RIDGE, OnlineRidge
from leaseboard.algorithms.reference.steps import CLIP
from leaseboard.algorithms.tables.features import FeatureMap
from tests.algorithms.played import ended


def stream(labels, features=None, task="regression"):
    labels = np.asarray(labels, dtype=np.float32)
    x = np.zeros((len(labels), 1)) if features is None else features
    names = tuple(map(str, range(x.shape[1])))
    return Stream(np.asarray(x, np.float32), labels, schema_of(*names), task)


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


def sample(n=120, d=4, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d)).astype(np.float32)
    x[:, -1] = 0.1  # never varies
    y = (x @ rng.normal(size=d) + 5 + 0.3 * rng.normal(size=n)).astype(np.float32)
    return x, y


@pytest.mark.parametrize("l2", [0.1, 1.0, 30.0])
def test_each_prediction_is_that_of_the_ridge_regression_on_all_rows_before(l2):
    """All rows are in the units of today; a penalty that has shrunk to half is restored."""
    x, y = sample()
    x[:9, 0] *= 0.01  # whose unit grows
    predictions = OnlineRidge(l2=l2).predictor(x.shape[1], "regression").learn_many(x, y)

    exact, penalties, before = x.astype(float), np.ones(x.shape[1]), np.zeros(x.shape[1])
    for t in range(1, len(y)):
        deviation = exact[:t].std(axis=0)
        unit = np.where(deviation > 1e-9, deviation, 1.0)
        penalties *= np.where(before > 1e-9, before / unit, 1.0) ** 2
        penalties[penalties < 0.5] = 1.0
        before = np.where(deviation > 1e-9, deviation, 0.0)
        z = np.where(deviation > 1e-9, (exact[: t + 1] - exact[:t].mean(axis=0)) / unit, 0.0)
        z = np.column_stack([np.ones(t + 1), z])
        normal = z[:t].T @ z[:t] + l2 * np.diag([0.0, *penalties])
        weights = np.linalg.solve(normal, z[:t].T @ y[:t].astype(float))
        value = np.clip(z[t], -CLIP, CLIP) @ weights
        assert predictions[t] == pytest.approx(np.clip(value, y[:t].min(), y[:t].max()), rel=1e-4)
    assert predictions[0] == 0


def test_a_line_is_found_from_any_first_rows():
    """Two first rows that are nearly equal count for no more than others."""
    x = np.float32([4.772, 4.905, 3.429, 5.8, 4.208, 4.487, 4.609])[:, None]
    predictions = OnlineRidge(l2=1e-6).predictor(1, "regression").learn_many(x, 5 - 2 * x[:, 0])

    assert predictions[4:] == pytest.approx(5 - 2 * x[4:, 0], abs=0.01)


def test_classes_are_predicted_by_margins_of_logistic_regression():
    """Near the regression that is refitted to all rows, with calibrated probabilities."""
    rng = np.random.default_rng(4)
    x = rng.normal(size=(8000, 2)).astype(np.float32)
    y = np.where(rng.random(8000) < 1 / (1 + np.exp(-(2 * x[:, 0] - x[:, 1] + 0.5))), 1.0, -1.0)
    margins = OnlineRidge().predictor(2, "classification").learn_many(x, y.astype(np.float32))

    late = slice(4000, None)
    truth = 2 * x[late, 0] - x[late, 1] + 0.5
    assert np.abs(margins[late] - truth).mean() < 0.15
    probabilities = 1 / (1 + np.exp(-margins[late]))
    assert probabilities.mean() == pytest.approx((y[late] > 0).mean(), abs=0.02)


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_beyond_the_limit_the_regression_is_on_selected_features(task):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(600, MOST_RIDGE + 1)).astype(np.float32)
    y = (2 * x[:, 3] - x[:, MOST_RIDGE] + 0.3 * rng.normal(size=600)).astype(np.float32)
    labels = np.sign(y) if task == "classification" else y
    exact = OnlineRidge().predictor(MOST_RIDGE, task)
    selected, halves = (OnlineRidge().predictor(MOST_RIDGE + 1, task) for _ in range(2))
    reported = selected.learn_many(x, labels)
    exact.learn_many(x[:2, 1:], labels[:2])
    in_two = [halves.learn_many(x[rows], labels[rows]) for rows in (slice(250), slice(250, 600))]

    assert np.concatenate(in_two).tolist() == reported.tolist()
    assert halves.predict_waiting(x[:2], 0)[0] == selected.predict_waiting(x, 0)[0]
    assert exact.notes() == {}
    assert 2 <= selected.notes()["selected_features"] < 10
    if task == "regression":
        assert ((reported - y)[300:] ** 2).mean() < 0.15 * y.var()
    else:
        assert (reported[300:] * labels[300:] > 0).mean() > 0.9
    with pytest.raises(UsageError, match=r"^l2 = 2 of 1025 features: .* leave l2 out$"):
        OnlineRidge(l2=2.0).predictor(MOST_RIDGE + 1, task)


def waves(n):
    rows = np.random.default_rng(0).uniform(-1, 1, size=(n, 3)).astype(np.float32)
    return rows, (np.sin(3 * rows[:, 0]) * (rows[:, 1] > 0)).astype(np.float32)


def trees(rows, labels, **settings):
    return lightgbm.train({**SETTINGS, **settings}, lightgbm.Dataset(rows, labels))


@pytest.mark.parametrize("block", [1, 7, 1000])
def test_it_is_fitted_when_the_number_of_labels_has_doubled(block):
    rows, labels = waves(900)
    model = Refitted("regression")
    found = np.concatenate([
        model.learn_many(rows[at : at + block], labels[at : at + block])
        for at in range(0, len(rows), block)
    ])  # fmt: skip

    means = np.cumsum(labels.astype(float))[: FIRST - 1] / np.arange(1, FIRST)
    assert found[0] == 0
    assert found[1:FIRST] == pytest.approx(means, abs=1e-5)
    for n in (200, 400, 800):
        known = trees(rows[:n], labels[:n], objective="regression")
        part = slice(n, min(2 * n, 900))
        assert found[part] == pytest.approx(known.predict(rows[part]), rel=1e-5, abs=1e-6)


def test_labels_that_come_later_fit_it_later():
    rows, labels = waves(700)
    stream = Stream(rows, labels, schema_of("a", "b", "c"))
    env = StreamEnvironment(stream, arrival=Arrival(after=100))
    list(RefittedLightGBM().run(env, 0))

    known = trees(rows[:400], labels[:400], objective="regression")
    assert env.predictions[501:] == pytest.approx(known.predict(rows[501:]), rel=1e-5, abs=1e-6)
    assert (env.predictions[:101] == 0).all()


def test_it_gets_a_nominal_column_as_a_person_gives_it():
    random = np.random.default_rng(0)
    city, shop = random.integers(60, size=1600), random.integers(3, size=1600)
    rows, labels = pd.DataFrame({"x": random.normal(size=1600)}), random.normal(size=60)[city]
    labels = (5 * labels + np.where(shop == 0, 0, labels) + rows["x"]).to_numpy(np.float32)
    features = FeatureMap()
    encoded, _ = features.encode({
        "x": rows["x"].to_numpy(),
        "city": np.array([f"c{k}" for k in city], dtype=object),
        "shop": np.array([f"s{k}" if k else None for k in shop], dtype=object),
    })  # fmt: skip
    found = Refitted("regression", 0, features.schema().origins).learn_many(encoded, labels)

    rows["city"], rows["shop"] = pd.Categorical(city), pd.Categorical(np.where(shop, shop, np.nan))
    known = trees(rows[:800], labels[:800], objective="regression")
    encoded_alone = Refitted("regression").learn_many(encoded, labels)
    ours, plain, theirs = (
        np.mean((said - labels[800:]) ** 2)
        for said in (found[800:], encoded_alone[800:], known.predict(rows[800:]))
    )
    assert ours == pytest.approx(theirs, rel=0.1)
    assert ours < 0.7 * plain


def test_classes_are_odds_of_two_and_probabilities_of_more():
    rows, labels = waves(500)
    two = np.where(labels > 0, 1, -1).astype(np.float32)
    odds = Refitted("classification").learn_many(rows, two)
    assert np.mean((odds[FIRST:] > 0) == (two[FIRST:] > 0)) > 0.9
    three = np.digitize(labels, [-0.1, 0.1]).astype(np.float32)
    shares = Refitted("classification", 3).learn_many(rows, three)
    assert shares.shape == (500, 3)
    assert shares[1:].sum(axis=1) == pytest.approx(1.0)
    assert np.mean(shares[FIRST:].argmax(axis=1) == three[FIRST:]) > 0.85
