"""What lineages have learned: forecasts, learning, and going on from bytes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.keep.living import (
    Living,
    LivingFirstTry,
    LivingStream,
    LivingTable,
    Recipe,
    living,
)
from leaseboard.tasks.keep.losses import loss_of_row
from leaseboard.tasks.keep.rows import frame_of, values_in

RECIPE = Recipe("y", "regression", "chacha", {})
CLASSES = Recipe("y", "classification", "chacha", {})


def rows(n: int, seed: int) -> tuple[list[str], pd.DataFrame, list[float]]:
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=n), rng.choice(["x", "y"], n)
    ids = [f"{seed}-{i}" for i in range(n)]
    return ids, pd.DataFrame({"a": a, "b": b}), (3 * a + (b == "x")).tolist()


def test_a_stream_goes_on_from_its_bytes_exactly():
    first, second = rows(200, 0), rows(100, 1)
    whole = LivingStream(RECIPE)
    whole.learn(*first)
    whole.expect(*second[:2])
    half = LivingStream(RECIPE, whole.dump())
    for each in (whole, half):
        each.learn(*second)
    assert whole.dump() == half.dump()
    assert whole.foresee(first[1]) == half.foresee(first[1])


def test_what_waits_is_foreseen_alike_and_remembered():
    model = LivingStream(RECIPE)
    for day in range(20):
        ids, X, y = rows(20, day)
        model.expect(ids, X)
        model.learn(ids, X, y)
    ids, X, _ = rows(3, 99)
    before = model.dump()
    seen = model.foresee(X)
    assert model.dump() == before
    assert model.expect(ids, X) == seen
    assert model.dump() != before
    assert all(low <= middle <= high for middle, low, high in seen)


@pytest.mark.parametrize(("recipe", "most"), [(RECIPE, 400), (CLASSES, 1)])
def test_rows_that_wait_are_not_kept_with_the_model(recipe, most):
    rng = np.random.default_rng(1)
    X = pd.DataFrame({f"column {i}": rng.normal(size=300) for i in range(20)})
    labels = X["column 0"] if recipe is RECIPE else np.where(X["column 0"] > 0, "up", "down")
    model = LivingStream(recipe)
    model.learn([f"known {i}" for i in range(300)], X, list(labels))
    model.expect(["known first"], X.head(1))
    before = model.dump()
    model.expect([f"row {i}" for i in range(300)], X)
    after = model.dump()

    assert (len(after) - len(before)) / 300 < most
    assert len(model.at_rest(after)) < len(before) + 1, "who learns no more needs none of them"
    assert LivingStream(recipe, model.at_rest(after)).foresee(X) == model.foresee(X)


def test_rows_that_never_waited_are_learned_too():
    model, other = LivingStream(RECIPE), LivingStream(RECIPE)
    ids, X, y = rows(100, 0)
    for each in (model, other):
        each.learn(ids, X, y)
    late = rows(10, 1)
    model.expect(*late[:2])
    for each in (model, other):
        each.learn(*late)
    known = [each.foresee(X.head(1))[0][0] for each in (model, other)]
    assert known[0] == pytest.approx(known[1]), "what is known depends on the labels alone"


def test_classes_come_with_probabilities():
    model = LivingStream(CLASSES)
    ids, X, y = rows(300, 0)
    assert model.expect(ids, X) == []
    model.learn(ids, X, ["up" if each > 0 else "down" for each in y])
    (told,) = model.expect(["new"], X.head(1))
    assert set(told) == {"up", "down"}
    assert sum(told.values()) == pytest.approx(1)


def test_a_table_is_searched_once_and_learns_no_more():
    recipe = Recipe(
        "y", "regression", "rising-bandits-cost",
        {"budget": 4, "unit": "trials", "arms": ["ridge", "k_nearest_neighbors"]}, seed=1,
    )  # fmt: skip
    model = LivingTable(recipe)
    ids, X, y = rows(120, 0)
    model.learn(ids, X, y)
    told = model.foresee(X)
    model.learn(ids, X, [0.0] * len(y))
    assert model.foresee(X) == told
    assert living("rising-bandits-cost", recipe, model.dump()).expect(ids, X) == told
    assert np.corrcoef(told, y)[0, 1] > 0.9


@pytest.mark.parametrize(
    ("name", "labels", "told"),
    [("running-mean", [1.0, 2.0, 6.0], 3.0), ("last-label", [1.0, 2.0, 6.0], 6.0)],
)
def test_first_tries_of_numbers(name, labels, told):
    model = LivingFirstTry(name, "regression")
    X = pd.DataFrame({"a": [0.0, 0.0]})
    assert model.foresee(X) == []
    model.learn(["1"], X, labels[:1])
    model = LivingFirstTry(name, "regression", model.dump())
    model.learn(["2", "3"], X, labels[1:])
    assert model.foresee(X) == [told, told]


def test_first_tries_of_classes():
    X = pd.DataFrame({"a": [0.0]})
    shares, last = (LivingFirstTry(n, "classification") for n in ("running-mean", "last-label"))
    for each in (shares, last):
        each.learn(["1"] * 5, X, ["a", "b", "b", "a", "a"])
    assert shares.foresee(X) == [{"a": 0.6, "b": 0.4}]
    assert last.foresee(X) == [{"a": 1.0}]


TWO = [
    {"learner": "LogisticRegression", "C": 1.0},
    {"learner": "LightGBM", "n_estimators": 5},
]
SELECTED = Recipe("y", "classification", "abc", {"epsilon": 0.02, "configurations": TWO})


def three(n: int, seed: int) -> tuple[list[str], pd.DataFrame, list[str]]:
    """Rows with gaps and dates, and of which of three classes they are."""
    frame = with_gaps(n).sample(n, random_state=seed, ignore_index=True)
    known = frame["real"].fillna(0)
    return [str(i) for i in range(n)], frame, np.select([known > 0.5, known > -0.5], ["a", "b"],
                                                        "c").tolist()  # fmt: skip


@pytest.mark.parametrize(
    "recipe",
    [
        SELECTED,
        Recipe("y", "classification", "early-stopped-cv", {"configurations": TWO, "folds": 2}),
        Recipe("y", "classification", "apple", {}),
        Recipe("y", "classification", "apple-ssm", {"passes": 1}, seed=3),
    ],
    ids=lambda recipe: recipe.algorithm,
)
def test_classes_of_a_window_come_with_their_chances_and_from_bytes(recipe):
    recipe.check()
    model, (ids, X, y) = LivingTable(recipe), three(400, 0)
    assert model.foresee(X) == []
    model.learn(ids, X, y)
    told = model.foresee(X)
    again = LivingTable(recipe, model.dump())
    assert again.foresee(X) == told
    assert again.classes == ("a", "b", "c")
    assert all(sum(each.values()) == pytest.approx(1) for each in told)
    right = [max(each, key=each.get) == label for each, label in zip(told, y, strict=True)]
    assert np.mean(right) > 0.75


def test_apple_forecasts_numbers_in_their_unit():
    recipe = Recipe("y", "regression", "apple", {"alpha": 0.5})
    recipe.check()
    model, (ids, X, y) = LivingTable(recipe), rows(400, 0)
    labels = [1000 + 100 * each for each in y]
    model.learn(ids, X, labels)
    told = LivingTable(recipe, model.dump()).foresee(X)
    assert told == model.foresee(X)
    assert np.abs(np.subtract(told, labels)).mean() < 10


def test_abc_chooses_among_ordinary_configurations_where_none_is_named():
    recipe = Recipe("y", "classification", "abc", {})
    recipe.check()
    model, (ids, X, y) = LivingTable(recipe), three(120, 0)
    model.learn(ids, X, y)
    assert set(model.foresee(X.head(1))[0]) == {"a", "b", "c"}


def test_a_choice_without_chances_is_certain():
    named = [{"learner": "LinearSVM", "C": c} for c in (0.1, 1.0)]
    model = LivingTable(Recipe("y", "classification", "abc", {"configurations": named}))
    ids, X, y = three(120, 0)
    model.learn(ids, X, y)
    assert {frozenset(each.values()) for each in model.foresee(X)} == {frozenset({1.0})}


@pytest.mark.parametrize(
    ("task", "algorithm", "settings", "said"),
    [
        ("regression", "tpot-default", {}, "'tpot-default' cannot be kept: name a race"),
        ("regression", "chaca", {}, "chaca"),
        ("regression", "apple-parallel", {}, "cannot be kept"),
        ("regression", "abc", {}, "'y' holds numbers, and abc selects by the accuracy"),
        ("classification", "abc", {"epsilon": 2}, "epsilon"),
        ("classification", "abc", {"epsilo": 0.1}, "did you mean 'epsilon'"),
        ("classification", "abc", {"folds": 1}, "folds"),
        ("classification", "abc", {"configurations": TWO[:1]}, "nothing to choose from"),
        ("classification", "abc", {"configurations": TWO[:1] * 2}, "twice"),
        ("classification", "abc", {"configurations": "all"}, "is a list of them"),
        ("classification", "abc", {"configurations": [{"C": 1}]}, "names its learner"),
        ("classification", "abc", {"configurations": [{"learner": "Tree"}]}, "unknown learner"),
        ("classification", "abc",
         {"configurations": [{"learner": "RandomForest", "C": 1}]}, "RandomForest C=1"),
        ("classification", "apple", {"alpha": -1}, "alpha"),
        ("classification", "apple", {"clip": 90}, "clip=90"),
        ("regression", "apple", {"class_weight": "balanced"}, "class_weight"),
        ("regression", "rising-bandits-cost", {"bugdet": 5}, "did you mean 'budget'"),
    ],
)  # fmt: skip
def test_what_cannot_be_kept_is_refused(task, algorithm, settings, said):
    with pytest.raises(UsageError, match=said) as refused:
        Recipe("y", task, algorithm, settings).check()
    assert "\n" not in str(refused.value)


def test_what_can_be_kept_is_not_refused():
    RECIPE.check()
    SELECTED.check()
    Recipe("y", "regression", "rising-bandits-cost", {"budget": 5}).check()


def test_a_file_of_apple_that_is_not_one_is_refused():
    recipe = Recipe("y", "classification", "apple", {})
    with pytest.raises(UsageError, match="no model of apple of this version"):
        LivingTable(recipe, b"something else")


def test_a_window_of_one_class_makes_no_table():
    assert not SELECTED.suffices(["a"] * 30)
    assert not SELECTED.suffices(["a", "b"])
    assert SELECTED.suffices(["a", "b"] * 10)
    assert CLASSES.suffices(["a"] * 30), "a race goes on to learn the other"


def test_a_class_that_was_never_seen_costs_most():
    assert loss_of_row({"a": 1.0}, "b") == {"loss": 2.0, "error": 1.0, "sure": 1.0}


def with_gaps(n: int) -> pd.DataFrame:
    """Columns of every kind, with gaps."""
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(
        {
            "real": rng.normal(size=n),
            "whole": rng.integers(0, 9, n).astype(float),
            "word": rng.choice(["x", "y", "z"], n).astype(object),
            "day": pd.date_range("2026-01-01", periods=n, freq="7h"),
        }
    )
    for name in frame:
        frame.loc[rng.random(n) < 0.1, name] = None
    return frame


@pytest.mark.parametrize("columns", [["real", "whole"], ["real", "whole", "word", "day"]])
@pytest.mark.parametrize("recipe", [RECIPE, CLASSES])
@pytest.mark.parametrize("gaps", [True, False])
def test_a_row_alone_is_foreseen_as_in_its_table(recipe, columns, gaps):
    frame = with_gaps(200)[columns]
    frame = frame if gaps else frame.dropna()
    y = frame["real"].fillna(0) * 2
    labels = y.tolist() if recipe is RECIPE else ["up" if each > 0 else "down" for each in y]
    model, rows = LivingStream(recipe), values_in(frame)
    model.learn([str(row) for row in range(len(frame))], frame, labels)

    told = model.foresee_rows(rows, ["day"])

    assert told == model.foresee(frame_of(rows, ["day"]))
    assert told[7:8] == model.foresee_rows(rows[7:8], ["day"])


def test_intervals_are_of_the_level_that_is_asked_for():
    model = LivingStream(RECIPE)
    model.learn(*rows(200, 0))
    row = values_in(rows(1, 1)[1])
    (narrow,), (wide,) = (model.foresee_rows(row, [], level) for level in (0.5, 0.95))
    assert model.levels == (0.5, 0.8, 0.9, 0.95, 0.99)
    assert wide[1] <= narrow[1] < narrow[0] == wide[0] < narrow[2] <= wide[2]


def test_an_estimator_foresees_rows_alone_as_in_a_table():
    recipe = Recipe(
        "y", "regression", "rising-bandits-cost",
        {"budget": 4, "unit": "trials", "arms": ["ridge", "k_nearest_neighbors"]},
    )  # fmt: skip
    frame = with_gaps(100)
    model, values = LivingTable(recipe), values_in(frame)
    model.learn([], frame, frame["real"].fillna(0).tolist())
    alone = [model.foresee_rows([row], ["day"])[0] for row in values[:30]]
    np.testing.assert_allclose(alone, model.foresee(frame)[:30], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_rows_one_by_one_are_learned_as_a_table_of_them_is(task):
    rng = np.random.default_rng(3)
    rows = [
        {"a": None if i % 9 == 5 else float(rng.normal()), "flag": float(rng.random() < 0.5),
         "day": f"2026-01-{1 + i // 9:02}T00:00:00", "word": [None, "x", "7", "True"][i % 4]}
        for i in range(80)
    ]  # fmt: skip
    labels = [float(i % 3) if task == "regression" else f"c{i % 3}" for i in range(80)]
    recipe = Recipe("y", task, "chacha", {"b": 3})
    fast, slow = LivingStream(recipe), LivingStream(recipe)
    for i, (row, label) in enumerate(zip(rows, labels, strict=True)):
        told = [fast.expect_rows([str(i)], [row], ["day"]),
                Living.expect_rows(slow, [str(i)], [row], ["day"])]  # fmt: skip
        assert told[0] == told[1]
        fast.learn_rows([str(i)], [row], ["day"], [label])
        Living.learn_rows(slow, [str(i)], [row], ["day"], [label])
    assert fast.dump() == slow.dump()
