"""What must hold of any dataset, and how its task is found."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from leaseboard.algorithms.errors import DataError, DataUnavailableError
from leaseboard.tasks.fetch.dataset import MOST_CLASSES, RawTable, finish, infer_task
from leaseboard.tasks.fetch.loading import load
from leaseboard.tasks.fetch.references import Reference

Y = [0.5, 1.5, 2.5]


def make(values, table: dict | None = None, **options: str):
    frame = pd.DataFrame({"a": range(len(values)), "y": values})
    reference = Reference("file", "x.csv", options)
    return finish(RawTable(frame, "x", **(table or {})), reference, "file:x.csv")


def test_the_task_follows_the_kind_of_target():
    for values, task in (
        (["u", "v"], "classification"),
        ([True, False], "classification"),
        ([0.5, 1.0], "regression"),
        ([1.0, 2.0], "classification"),
        (range(MOST_CLASSES), "classification"),
        (range(MOST_CLASSES + 1), "regression"),
        ([np.inf, 1.0], "regression"),
    ):
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


def test_targets_are_made_by_the_task_a_threshold_and_a_name():
    digits = make(pd.Categorical(["3", "10", "3"]), task="regression")
    classes = make(Y, threshold="1.5")
    other = make(["u", "v", "u"], target="a", task="regression")

    assert digits.target.tolist() == [3.0, 10.0, 3.0]
    assert (classes.task, classes.target.tolist()) == (
        "classification",
        ["<1.5", ">=1.5", ">=1.5"],
    )
    assert other.features["y"].tolist() == ["u", "v", "u"]
    assert other.target.name == "a"


def test_what_cannot_be_learned_is_one_clear_line():
    for values, options, message in (
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
        ([0.5, np.inf], {}, "target 'y' has values that are not finite in 32 bits"),
        (["u", "v"], {"task": "regression"}, "target 'y' is not numeric, as a regression's"),
        (["u", "v"], {"threshold": "1"}, "'y' is not numeric, as one with .* and no threshold"),
        (Y, {"rows": "1"}, "1 row: at least two are needed"),
    ):
        with pytest.raises(DataError, match=message) as caught:
            make(values, **options)
        assert str(caught.value).startswith("file:x.csv: ")
        assert "\n" not in str(caught.value)


def test_duplicate_column_names_are_refused():
    frame = pd.DataFrame([[1, 2, 3], [4, 5, 6]], columns=["a", "a", "y"])

    with pytest.raises(DataError, match="column name 'a' occurs twice"):
        finish(RawTable(frame, "x"), Reference("file", "x.csv"), "file:x.csv")


def test_scikit_learns_own_datasets():
    for name, shape, task in (
        ("diabetes", (442, 10), "regression"),
        ("digits", (1797, 64), "classification"),
        ("breast_cancer", (569, 30), "classification"),
        ("iris", (150, 4), "classification"),
        ("wine", (178, 13), "classification"),
    ):
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
        DataError, match=r"in 1 of 4 rows: drop those rows by .* file.csv.missing_target=drop"
    ):
        make([0.5, None, 1.5, 2.5])
    data = make([0.5, None, 1.5, 2.5], missing_target="drop")

    assert data.target.tolist() == Y
    assert data.features["a"].tolist() == [0, 2, 3]
    with pytest.raises(DataError, match="1 row: at least two"):
        make([0.5, None], missing_target="drop")


def test_a_target_of_numbers_as_people_write_them_is_refused():
    for form in ("${:.2f}", "{:.2f} €", "{:.1f} %", "1,{:06.2f}", "EUR {:.2f}"):
        texts = [form.format(10 + i / 4) for i in range(MOST_CLASSES + 1)]
        column = pd.Series(texts, name="revenue")

        with pytest.raises(DataError, match=r"'revenue' has .* written like numbers, such as"):
            infer_task(column)
        assert infer_task(column[:MOST_CLASSES]) == "classification"
        assert infer_task(pd.concat([column, pd.Series(["none"])])) == "classification"
