"""Effects of texts: of the labels before alone, and worth their column."""

import pickle
from functools import partial

import numpy as np
import pytest

from leaseboard import OnlineAutoMLClassifier, OnlineAutoMLRegressor
from leaseboard.algorithms.online.schema import Origin, Schema
from leaseboard.algorithms.online_automl.members.pool import BOOSTED
from leaseboard.algorithms.online_automl.members.view import MOST_EFFECTS
from leaseboard.algorithms.online_automl.one_vs_rest import OneVsRest
from leaseboard.algorithms.online_automl.online_automl import OnlineAutoML
from leaseboard.algorithms.online_automl.safe.scale import MEAN
from leaseboard.algorithms.online_automl.safe.texts import MEMORY, PRIOR
from leaseboard.algorithms.tables.features import CODES

ORIGINS = (
    Origin("x"), Origin("city", "", "a"), Origin("city", "", "b"), Origin("city", "code"),
    Origin("city", "effect"), Origin("shop", "code"), Origin("shop", "effect"),
    Origin("city", "weekday", "monday"), Origin("city", "", "b", "work"),
    Origin("city", "code", "", "work"), Origin("city", "effect", "", "work"),
)  # fmt: skip
"""A number, texts with features of their own, two columns with codes; and others of one name."""


def schema_of(n):
    names = tuple(map(str, range(n)))
    return Schema(
        namespaces=("a",), columns=(tuple(range(n)),), features=names, origins=ORIGINS[:n]
    )


def coded_race():
    race = OnlineAutoML(b=3).race(schema_of(7), 0, "regression")
    list(race.open())
    race.bind()
    return race


def test_an_effect_is_how_far_labels_before_were_above_the_mean_of_all():
    race, random, known = coded_race(), np.random.RandomState(0), []
    for t in range(500):
        city, shop = random.randint(24), random.randint(20)  # 0 is none
        row = np.zeros(7 if t < 250 else 11, np.float32)
        if t == 250:
            race.grow(schema_of(11))
        row[[0, 5]] = random.rand(), 1000 * shop / CODES
        if city:
            row[city if city < 3 else 3] = 1.0 if city < 3 else 1000 * city / CODES
        if t > 250:
            row[7:10] = random.randint(2), random.randint(2), random.randint(3) / CODES
        race.predict(row)

        written = np.array(race.calls.row.example)
        for place, text in ((4, city), (6, shop)):
            same = [each for each in known if text and each[place] == text]
            weights = np.array([each["w"] * np.exp((each["t"] - t) / MEMORY) for each in same])
            above = weights @ np.array([each["above"] for each in same])
            assert written[place] == pytest.approx(above / (weights.sum() + PRIOR), abs=1e-6)
        written[[4, 6]] = 0.0
        assert written[:10].tolist() == row[:10].tolist()

        label, importance = random.randn(), random.choice([0.0, 1.0, 2.0])
        race.calls.learn(label, importance)
        above = race.calls.row.shown - race.ensemble.expansion.scale[MEAN]
        if importance:
            known.append({4: city, 6: shop, "t": t, "w": importance, "above": above})


def test_trees_of_many_classes_see_effects_on_each_as_quarters():
    racing, random, came = OnlineAutoML(b=2), np.random.RandomState(0), [0, 1, 2, 3]
    whole = OneVsRest(lambda own: racing.race(own, 0, "classification"), schema_of(5))
    list(whole.open())
    for t in range(240):
        if t in {80, 160}:  # one more column of texts, and one of another namespace
            list(whole.grow(schema_of({80: 7, 160: 11}[t])))
        row = np.zeros(whole.schema.n_features, np.float32)
        row[0], row[3] = random.randn(), random.randint(1, 9) / CODES
        row[5:6], row[9:10] = random.randint(9) / CODES, random.randint(9) / CODES
        # The third class comes before all columns, the fourth between the last two.
        number = came.pop(0) if t in {0, 1, 40, 120} else random.randint(2 + (t > 40) + (t > 120))
        whole.calls.row[:] = row
        whole.predict(row, later=t % 2 > 0)
        whole.calls.learn(float(number), 1.0)
        if t <= 40 or t == 120:  # before there are members, or as one grows by the class
            continue

        view, seen = whole.pool.view, whole.pool.members[BOOSTED].remembered[0][-1]
        assert seen[view.features].tolist() == row.tolist()
        columns = [j for j, of in enumerate(whole.schema.origins) if of.part == "effect"]
        of_races = [np.array(race.calls.row.example)[columns] for race in whole.races]
        assert len(view.effects) == len(whole.races) * len(columns)
        for place, race, column in view.effects:  # of labels before alone
            assert seen[place] == np.rint(4.0 * of_races[race][column]) / 4.0
    assert {*view.effects[:, 1]} == {0, 1, 2}
    assert seen[view.effects[:, 0]].any()
    trees, fourier, neighbours, boosted = whole.pool.members
    assert fourier.n_features == neighbours.n_features == 11
    assert trees.n_features == boosted.n_features == 11 + 9


def test_trees_of_a_hundred_classes_see_effects_on_the_first():
    racing = OnlineAutoML(b=1)
    whole = OneVsRest(lambda own: racing.race(own, 0, "classification"), schema_of(7))
    list(whole.open())
    whole.learn(np.zeros((100, 7), np.float32), np.arange(100))
    found = whole.pool.view.effects[:, 1:].tolist()
    assert found == [[k // 2, k % 2] for k in range(MOST_EFFECTS)]


def cities(n, k):
    """Return rows of `k` cities, each with a level of its own, and their labels."""
    random = np.random.RandomState(0)
    levels, city, x = 5.0 * random.randn(k), random.randint(k, size=n), random.rand(n)
    labels = levels[city] + x + 0.5 * random.randn(n)
    return [{"city": f"city {c}", "x": v} for c, v in zip(city, x.tolist(), strict=True)], labels


def classes_of(labels, n):
    return np.digitize(labels, np.quantile(labels, np.arange(1, n) / n))


@pytest.mark.parametrize(
    ("new", "classes", "most"),
    [
        (OnlineAutoMLRegressor, 0, 0.6),
        (partial(OnlineAutoMLRegressor, entity="city"), 0, 0.6),
        (OnlineAutoMLClassifier, 2, 0.06),
        (OnlineAutoMLClassifier, 4, 0.14),
    ],
)
def test_texts_without_columns_of_their_own_are_predicted_by_their_labels(new, classes, most):
    rows, labels = cities(2000, 200)
    if classes:
        labels = classes_of(labels, classes)
    model, lost = new(), []
    for row, label in zip(rows, labels.tolist(), strict=True):
        said = model.predict_one(row)
        lost.append(said != label if classes else (said - label) ** 2)
        model.learn_one(row, label)
    assert np.mean(lost[1400:]) < most


def test_a_text_that_decides_how_a_number_counts_is_distinguished_still():
    random = np.random.RandomState(0)
    turns, missed = random.randint(2, size=60), []
    model = OnlineAutoMLClassifier()
    for _ in range(3000):
        city, x = random.randint(60), random.randn()
        row, label = {"city": f"city {city}", "x": x}, int((x > 0) ^ turns[city])
        missed.append(model.predict_one(row) != label)
        model.learn_one(row, label)
    assert np.mean(missed[2400:]) < 0.05  # all effects are 0


def test_trees_of_three_classes_learn_how_a_text_and_a_number_decide():
    random = np.random.RandomState(0)
    turns, missed = random.randint(3, size=200), []
    model = OnlineAutoMLClassifier()
    for _ in range(2000):
        city, x = random.randint(200), random.rand()
        row, label = {"city": f"city {city}", "x": x}, int(turns[city] + (x > 0.5)) % 3
        missed.append(model.predict_one(row) != label)
        model.learn_one(row, label)
    assert np.mean(missed[1500:]) < 0.08


@pytest.mark.parametrize("classes", [0, 4])
def test_a_copy_goes_on_with_the_same_effects(classes):
    rows, labels = cities(800, 100)
    if classes:  # whose races share memory, and whose trees see effects among features
        labels = classes_of(labels, classes)
    for t, row in enumerate(rows):
        row.update({"shop": f"shop {t % 50}"} if t > 250 else {})
        row.update({"staff": t % 7} if t > 600 else {})
    model = OnlineAutoMLClassifier() if classes else OnlineAutoMLRegressor()
    for row, label in zip(rows[:500], labels[:500].tolist(), strict=True):
        model.learn_one(row, label)
    double = pickle.loads(pickle.dumps(model))
    if classes:
        assert double.forecast_proba_one(rows[500]) == model.forecast_proba_one(rows[500])
    for t, (row, label) in enumerate(zip(rows[500:], labels[500:].tolist(), strict=True)):
        if t >= 200:  # while labels are pending, too
            assert double.predict_one(row, id=t) == model.predict_one(row, id=t)
        model.learn_one(row, label)
        double.learn_one(row, label)
    assert double.dump() == model.dump()


def test_columns_of_one_name_in_two_namespaces_have_effects_of_their_own():
    random, model = np.random.RandomState(0), OnlineAutoMLRegressor()
    levels, lost = 5.0 * random.randn(50), []
    for _ in range(2000):
        home, work = random.randint(50, size=2).tolist()
        row = {"home": {"city": f"c{home}"}, "work": {"city": f"c{work}"}}
        label = levels[home] - levels[work] + 0.1 * random.randn()
        lost.append((model.predict_one(row) - label) ** 2)
        model.learn_one(row, label)
    assert np.mean(lost[1500:]) < 2.0
