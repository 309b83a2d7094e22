"""What trees see: a number for each category, where it was from the beginning."""

import numpy as np
import pytest

from leaseboard import OnlineAutoMLClassifier, OnlineAutoMLRegressor
from leaseboard.algorithms.online.schema import Origin, Schema
from leaseboard.algorithms.online_automl.members.pool import BOOSTED
from leaseboard.algorithms.online_automl.members.view import TreeView
from leaseboard.algorithms.online_automl.online_automl import OnlineAutoML

SIZE, RED, BLUE, GREEN = Origin("size"), *(Origin("c", "", text) for text in ("r", "b", "g"))
TEXT, HOUR, OTHER = Origin("c", "code"), Origin("c", "hour", "7"), Origin("c", "", "r", "space")


def test_what_is_new_comes_after_all_that_was_seen_and_codes_go_on():
    view = TreeView([RED, SIZE], 2)
    view.grow([RED, SIZE, BLUE, OTHER, HOUR, TEXT], 6)
    view.grow([RED, SIZE, BLUE, OTHER, HOUR, TEXT, GREEN], 7)

    assert view.features.tolist() == [0, 2, 3, 4, 6, 8, 9]
    assert view.codes.tolist() == [1, -1, 1, 5, 7, -1, 1]
    assert view.n_columns == 10


def test_trees_alone_see_which_category_it_is():
    schema = Schema(("a",), ((0, 1, 2, 3),), tuple("0123"), origins=(RED, SIZE, BLUE, GREEN))
    race = OnlineAutoML(b=1).race(schema, 0, "regression")
    list(race.open())
    members = race.ensemble.pool.members
    assert [each.n_features for each in members] == [5, 4, 4, 5]
    for row, code in (([1, 0, 0, 0], 1), ([0, 0, 0, 1], 3), ([0, 7, 0, 0], 0), ([0, 0, 1, 0], 2)):
        race.calls.write(np.float32(row))
        race.calls.learn(1.0, 1.0)
        assert members[BOOSTED].remembered[0][-1].tolist() == [row[0], code, *row[1:]]


def table(n):
    random = np.random.default_rng(0)
    city, good = random.integers(24, size=n), random.integers(24, size=n)
    labels = 9.0 * (random.permutation(24)[city] + random.permutation(24)[good] > 23)
    texts = zip(city.tolist(), good.tolist(), strict=True)
    return [{"city": f"c{i}", "good": f"g{j}"} for i, j in texts], labels + random.normal(size=n)


@pytest.mark.parametrize("kind", [OnlineAutoMLRegressor, OnlineAutoMLClassifier])
def test_a_saved_model_goes_on_with_the_codes_that_it_had(kind, tmp_path):
    rows, labels = table(700)
    for t, row in enumerate(rows):  # what comes late is not where a new model would have it
        row.update({"late": f"l{t % 5}"} if t > 300 else {})
    labels = labels if kind is OnlineAutoMLRegressor else (labels > 4) + (labels > 9)
    model = kind()
    for row, label in zip(rows[:600], labels[:600].tolist(), strict=True):
        model.learn_one(row, label)
    model.save(tmp_path / "m")
    other = kind.load(tmp_path / "m")
    for row, label in zip(rows[600:], labels[600:].tolist(), strict=True):
        assert other.predict_one(row) == model.predict_one(row)
        for each in (model, other):
            each.learn_one(row, label)
    assert other.dump() == model.dump()
