"""What must hold of any data set, and how its task is found."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from leaseboard.algorithms.errors import DataError, DataUnavailableError
from leaseboard.tasks.fetch import load
from leaseboard.tasks.fetch.dataset import MOST_CLASSES, RawTable, finish, infer_task
from leaseboard.tasks.fetch.references import Reference

Y = [0.5, 1.5, 2.5]


def make(values, table: dict | None = None, **options: str):
    frame = pd.DataFrame({"a": range(len(values)), "y": values})
    reference = Reference("file", "x.csv", options)
    return finish(RawTable(frame, "x", **(table or {})), reference, "file:x.csv")


@pytest.mark.parametrize(
    ("values", "task"),
    [
        (["u", "v"], "classification"),
        ([True, False], "classification"),
        ([0.5, 1.0], "regression"),
        ([1.0, 2.0], "classification"),
        (range(MOST_CLASSES), "classification"),
        (range(MOST_CLASSES + 1), "regression"),
        ([np.inf, 1.0], "regression"),
    ],
)
def test_the_task_follows_the_kind_of_target(values, task):
    assert infer_task(pd.Series(values)) == task


def test_the_users_word_beats_the_sources_and_that_beats_the_rule():
    assert make([1, 2, 3]).task == "classification"
    assert make([1, 2, 3], {"task": "regression"}).task == "regression"
    assert make([1, 2, 3], {"task": "regression"}, task="classification").task == "classification"


def test_classes_are_the_sorted_values_that_occur():
    declared = pd.Categorical(["b", "c", "b"], categories=["c", "b", "a"])

    assert make([10, 9, 10]).target.cat.categories.tolist() == ["9", "10"]
    assert make([1.0, 2.0, 1.0]).target.cat.categories.tolist() == ["1", "2"]
    assert make(declared).target.cat.categories.tolist() == ["c", "b"]


def test_a_regression_may_have_digits_for_classes():
    data = make(pd.Categorical(["3", "10", "3"]), task="regression")

    assert data.target.tolist() == [3.0, 10.0, 3.0]


def test_a_threshold_makes_two_classes():
    data = make(Y, threshold="1.5")

    assert data.task == "classification"
    assert data.target.tolist() == ["<1.5", ">=1.5", ">=1.5"]


def test_the_target_may_be_any_column():
    data = make(["u", "v", "u"], target="a", task="regression")

    assert data.features["y"].tolist() == ["u", "v", "u"]
    assert data.target.name == "a"


@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        (Y, {"target": "z"}, "unknown target column 'z'"),
        (Y, {"threshold": "9"}, "target 'y' is constant at threshold 9 .always <9."),
        (
            [1, 1, 1],
            {},
            "target 'y' is constant .always 1.: there is nothing to learn; .*`leaseboard learn`",
        ),
        (["u", "u"], {}, "target 'y' is constant"),
        ([0.5, None], {}, r"target 'y' is missing \(NaN\) in 1 of 2 rows"),
        (["u", None], {}, r"target 'y' is missing \(NaN\) in 1 of 2 rows"),
        ([0.5, np.inf], {}, "target 'y' has infinite values"),
        (["u", "v"], {"task": "regression"}, "target 'y' is not numeric, as a regression's"),
        (["u", "v"], {"threshold": "1"}, "target 'y' is not numeric"),
        (Y, {"rows": "1"}, "1 row: at least two are needed"),
    ],
)
def test_what_cannot_be_learned_is_one_clear_line(values, options, message):
    with pytest.raises(DataError, match=message) as caught:
        make(values, **options)
    assert str(caught.value).startswith("file:x.csv: ")
    assert "\n" not in str(caught.value)


def test_duplicate_column_names_are_refused():
    frame = pd.DataFrame([[1, 2, 3], [4, 5, 6]], columns=["a", "a", "y"])

    with pytest.raises(DataError, match="column name 'a' occurs twice"):
        finish(RawTable(frame, "x"), Reference("file", "x.csv"), "file:x.csv")


@pytest.mark.parametrize(
    ("name", "shape", "task"),
    [
        ("diabetes", (442, 10), "regression"),
        ("digits", (1797, 64), "classification"),
        ("breast_cancer", (569, 30), "classification"),
        ("iris", (150, 4), "classification"),
        ("wine", (178, 13), "classification"),
    ],
)
def test_scikit_learns_bundled_sets(name, shape, task):
    data = load(f"sklearn:{name}")

    assert (data.features.shape, data.task, data.name) == (shape, task, name)


def test_scikit_learns_classes_have_names():
    assert load("sklearn:iris").target.cat.categories.tolist()[0] == "setosa"


def test_scikit_learn_downloads_nothing(monkeypatch, tmp_path):
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path))
    with pytest.raises(DataUnavailableError, match=r"fetch_california_housing\(\) once"):
        load("sklearn:california_housing")


def test_rows_without_a_target_go_if_that_is_asked_for():
    with pytest.raises(
        DataError, match="in 1 of 4 rows: drop those rows with missing_target=drop"
    ):
        make([0.5, None, 1.5, 2.5])
    data = make([0.5, None, 1.5, 2.5], missing_target="drop")

    assert data.target.tolist() == Y
    assert data.features["a"].tolist() == [0, 2, 3]
    with pytest.raises(DataError, match="1 row: at least two"):
        make([0.5, None], missing_target="drop")


def test_a_threshold_on_text_is_answered_with_what_helps():
    with pytest.raises(DataError, match=r"as one with a threshold must be: .* and no threshold"):
        make(["u", "v", "w"], threshold="1")


@pytest.mark.parametrize("form", ["${:.2f}", "{:.2f} €", "{:.1f} %", "1,{:06.2f}", "EUR {:.2f}"])
def test_a_target_of_numbers_as_people_write_them_is_no_target_of_many_classes(form):
    texts = pd.Series([form.format(10 + i / 4) for i in range(MOST_CLASSES + 1)], name="revenue")

    with pytest.raises(DataError, match=r"'revenue' has .* written like numbers, such as"):
        infer_task(texts)
    assert infer_task(texts[:MOST_CLASSES]) == "classification"
    assert infer_task(pd.concat([texts, pd.Series(["none"])])) == "classification"
