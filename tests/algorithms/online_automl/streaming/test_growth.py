"""Features and namespaces that come late are seen by the models and their simple models."""

import numpy as np
import pytest

from leaseboard.algorithms.online_automl.safe.expansion import NARROW
from leaseboard.algorithms.online_automl.streaming import OnlineAutoMLRegressor
from leaseboard.algorithms.reference.ridge import MOST_RIDGE


def stream(n, d, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d)).astype(np.float32)
    return x, (5 + x[:, 0] + 3 * x[:, -1]).astype(np.float32)


def as_dicts(x):
    return [{f"x{i}": v for i, v in enumerate(row)} for row in x.tolist()]


@pytest.mark.parametrize("start", [3, NARROW - 2, NARROW, NARROW + 1, MOST_RIDGE])
def test_features_join_also_where_the_ridge_regressions_stop(start, tmp_path):
    x, y = stream(300, start)
    more, labels = stream(300, start + 3, seed=1)
    model = OnlineAutoMLRegressor(b=6)
    for example, label in zip(as_dicts(x), y.tolist(), strict=True):
        model.learn_one(example, label)
    model.save(tmp_path / "model")
    double = OnlineAutoMLRegressor.load(tmp_path / "model")
    predictions = []
    for one in (model, double):
        reported = []
        for example, label in zip(as_dicts(more), labels.tolist(), strict=True):
            reported.append(one.predict_one(example))
            one.learn_one(example, label)
        predictions.append(reported)
    late = np.mean((np.array(predictions[0][150:]) - labels[150:]) ** 2)

    assert predictions[0] == predictions[1]
    assert np.isfinite(predictions[0]).all()
    assert repr(model.live) == repr(double.live)
    assert late < np.var(labels)


def test_a_new_namespace_is_seen_by_every_model_with_features_of_its_kind(tmp_path):
    model = OnlineAutoMLRegressor(b=8)
    rng = np.random.default_rng(0)
    for t in range(400):
        a, b = rng.normal(size=2).tolist()
        example = {"first": {"a": a}}
        if t >= 100:
            example["second"] = {"b": b}
        model.learn_one(example, a + (3 * b if t >= 100 else 0.0))
    race = model._race
    known = race.representations

    for number in race.holders[race.live].tolist():
        names = set(race.configurations[number].namespaces)
        assert names >= set(known.raw) or names >= set(known.standard)
    one, other = ({"first": {"a": 0.0}, "second": {"b": v}} for v in (-1.0, 1.0))
    base = [race.models.configuration(0).namespaces]
    assert base == [tuple(sorted(known.raw))]
    assert model.predict_one(other) - model.predict_one(one) > 3
    model.save(tmp_path / "model")
    double = OnlineAutoMLRegressor.load(tmp_path / "model")
    assert (double.live, double.predict_one(other)) == (model.live, model.predict_one(other))


@pytest.mark.parametrize("algorithm", ["online-automl", "chacha", "chacha-literal"])
@pytest.mark.parametrize("empty", [{}, {"x": None}])
def test_a_first_example_may_be_empty(algorithm, empty):
    model = OnlineAutoMLRegressor(algorithm=algorithm)
    model.learn_one(empty, 1.0)
    model.learn_one({"x": 1.0}, 1.0)

    assert model.examples == 2


@pytest.mark.parametrize("counts", [(1, 64), (5, 64), (3, 55), (1, 10, 64), (5, 100)])
def test_models_make_room_for_more_features(counts, tmp_path):
    """All pairs of 5 features are few, of 60 too many to learn, or to lay out at all."""
    model, rng = OnlineAutoMLRegressor(), np.random.default_rng(0)
    for d in counts:
        x = rng.normal(size=(640, d))
        for example, label in zip(as_dicts(x), 3 * np.abs(x[:, 0]) + x[:, -1] ** 2, strict=True):
            model.learn_one(example, float(label))
        race = model._race
        terms = sum(map(race.representations.terms, (race.configurations[n] for n in _live(race))))

        assert terms == sum(race.terms) <= race.max_terms
        assert race.champion in _live(race)
        assert 0 in _live(race)
    model.save(tmp_path / "model")
    assert OnlineAutoMLRegressor.load(tmp_path / "model").live == model.live


def _live(race):
    return race.holders[race.live].tolist()
