"""Effects of texts: of the labels before alone, bounded, and worth their column."""

from unittest import mock

import numpy as np
import pytest

from leaseboard import OnlineAutoMLClassifier, OnlineAutoMLRegressor
from leaseboard.algorithms.online.schema import Origin, Schema
from leaseboard.algorithms.online_automl.online_automl import OnlineAutoML
from leaseboard.algorithms.online_automl.safe import texts
from leaseboard.algorithms.online_automl.safe.scale import MEAN

CODES = np.arange(1, 41) / 64


def coded_race():
    """Return a race on a number and the codes of two columns of texts."""
    origins = Origin("x"), Origin("city", "code"), Origin("shop", "code")
    columns, names = ((0, 1, 2),), ("x", "city#code", "shop#code")
    schema = Schema(namespaces=("a",), columns=columns, features=names, origins=origins)
    race = OnlineAutoML(b=3).race(schema, 0, "regression")
    list(race.open())
    return race


def test_an_effect_is_how_far_labels_before_were_above_the_mean_of_all():
    race, random, sums = coded_race(), np.random.RandomState(0), {}
    race.bind()
    for _ in range(600):
        city, shop = random.choice(CODES, 2) * (random.rand(2) > 0.1)  # 0 is no text
        row, label = np.array([random.rand(), city, shop], np.float32), random.randn()
        importance = random.choice([0.0, 1.0, 2.0])
        race.predict(row)

        by_hand = [sums.get((j, row[j]), np.zeros(2)) for j in (1, 2)]
        wanted = [above / (weight + texts.PRIOR) for weight, above in by_hand]
        np.testing.assert_allclose(race.calls.row.example[1:], wanted, rtol=1e-5, atol=1e-7)

        race.calls.learn(label, importance)
        above = race.calls.row.shown - race.ensemble.expansion.scale[MEAN]
        for j, before in zip((1, 2), by_hand, strict=True):
            if row[j]:
                sums[j, row[j]] = before + importance * np.array([1.0, above])
    assert len(race.ensemble.texts.learned[0]) == 2 * len(CODES)


def test_of_more_texts_than_are_remembered_the_first_have_effects():
    race = coded_race()
    race.bind()
    with mock.patch.object(texts, "MOST", 10):
        for t in range(80):
            race.predict(np.array([0.0, CODES[t % 40], 0.0], np.float32))
            race.calls.learn(float(t % 40), 1.0)
    keys, sums = race.ensemble.texts.learned
    assert keys.tolist() == (1.0 + CODES[:10]).tolist()
    assert sums[:, 0].tolist() == [2.0] * 10
    race.predict(np.array([0.0, CODES[20], 0.0], np.float32))
    assert race.calls.row.example[1] == 0.0


def cities(n, k):
    """Return rows of `k` cities, each with a level of its own, and their labels."""
    random = np.random.RandomState(0)
    levels, city, x = 5.0 * random.randn(k), random.randint(k, size=n), random.rand(n)
    labels = levels[city] + x + 0.5 * random.randn(n)
    return [{"city": f"city {c}", "x": v} for c, v in zip(city, x.tolist(), strict=True)], labels


@pytest.mark.parametrize(
    ("model", "most"),
    [
        (OnlineAutoMLRegressor(), 0.6),
        (OnlineAutoMLRegressor(entity="city"), 0.6),
        (OnlineAutoMLClassifier(), 0.06),
    ],
)
def test_texts_without_columns_of_their_own_are_predicted_by_their_labels(model, most):
    rows, labels = cities(3000, 300)
    if isinstance(model, OnlineAutoMLClassifier):
        labels = (labels > 0).astype(int)
    lost = []
    for row, label in zip(rows, labels.tolist(), strict=True):
        said = model.predict_one(row)
        lost.append(0.0 if said is None else (said - label) ** 2)
        model.learn_one(row, label)
    assert np.mean(lost[2000:]) < most
