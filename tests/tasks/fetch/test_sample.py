"""`rows=` draws a sample in which no class vanishes; `first_rows=` takes the first rows."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leaseboard.algorithms.errors import DataError, UsageError
from leaseboard.tasks.fetch.dataset import shares
from leaseboard.tasks.fetch.loading import check, load


@pytest.fixture
def by_class(tmp_path):
    """Return a file sorted by its three classes, the last of which has one row."""
    y = ["u"] * 300 + ["v"] * 99 + ["w"]
    pd.DataFrame({"a": range(400), "y": y}).to_csv(tmp_path / "sorted.csv", index=False)
    return f"file:{tmp_path / 'sorted.csv'}"


@settings(max_examples=100)
@given(st.lists(st.integers(1, 500), min_size=2, max_size=12), st.data())
def test_each_class_gets_its_share_and_at_least_a_row(counts, data):
    counts = np.array(counts)
    rows = data.draw(st.integers(len(counts), int(counts.sum())))
    given_to = shares(counts, rows)

    assert given_to.sum() == rows
    assert (given_to >= 1).all()
    assert (given_to <= counts).all()
    fair = counts * rows / counts.sum()
    large = fair >= len(counts)  # whose share pays at most the single rows of the others
    assert (np.abs(given_to - fair)[large] <= len(counts)).all()


def test_a_sample_of_a_sorted_file_has_every_class_in_the_files_order(by_class):
    data = load(f"{by_class}?rows=40")

    assert data.target.value_counts().to_dict() == {"u": 30, "v": 9, "w": 1}
    assert data.features["a"].is_monotonic_increasing
    assert data.features["a"].iloc[:30].max() > 100  # no first rows
    assert data.features.index.tolist() == data.target.index.tolist() == list(range(40))


def test_a_sample_is_always_the_same_and_other_data_than_the_first_rows(by_class):
    one, again, first, more = (
        load(f"{by_class}?{options}").digest
        for options in ("rows=350", "rows=350", "first_rows=350", "rows=351")
    )

    assert one == again
    assert len({one, first, more}) == 3


def test_first_rows_are_the_first(by_class):
    assert load(f"{by_class}?first_rows=301").features["a"].tolist() == list(range(301))
    with pytest.raises(DataError, match="constant"):
        load(f"{by_class}?first_rows=40")


def test_a_regression_is_sampled_evenly(tmp_path):
    y = np.arange(1000) / 7
    pd.DataFrame({"a": range(1000), "y": y}).to_parquet(tmp_path / "line.parquet")
    data = load(f"file:{tmp_path / 'line.parquet'}?rows=200")

    assert data.target.tolist() == (data.features["a"] / 7).tolist()
    assert 400 < data.features["a"].median() < 600


def test_classes_that_a_threshold_makes_are_strata(tmp_path):
    y = np.concatenate([np.linspace(0, 1, 990), np.linspace(5, 6, 10)])
    pd.DataFrame({"a": range(1000), "y": y}).to_parquet(tmp_path / "late.parquet")
    data = load(f"file:{tmp_path / 'late.parquet'}?rows=100&threshold=3")

    assert data.target.value_counts().to_dict() == {"<3": 99, ">=3": 1}


def test_what_is_dropped_is_not_a_part_of_a_sample(tmp_path):
    y = ["u", None, "v", None] * 100
    pd.DataFrame({"a": range(400), "y": y}).to_parquet(tmp_path / "gaps.parquet")
    data = load(f"file:{tmp_path / 'gaps.parquet'}?rows=50&missing_target=drop")

    assert data.target.value_counts().to_dict() == {"u": 25, "v": 25}


def test_the_task_is_that_of_the_whole_table(tmp_path):
    pd.DataFrame({"a": range(100), "y": [*range(25)] * 4}).to_parquet(tmp_path / "t.parquet")

    assert load(f"file:{tmp_path / 't.parquet'}?rows=10").task == "regression"


def test_all_rows_are_all_rows(by_class):
    assert load(f"{by_class}?rows=400").digest == load(by_class).digest


def test_the_rows_of_a_generator_are_its_own_count():
    short, long = load("synthetic:fried?rows=50"), load("synthetic:fried?rows=60&seed=0")

    assert short.target.tolist() == long.target.tolist()[:50]
    assert load("synthetic:fried?first_rows=50").digest == short.digest


def test_what_cannot_be_had_is_said(by_class):
    for options, message in (
        ("rows=401", "rows=401 of 400 rows: ask for at most 400, or leave rows out"),
        ("first_rows=401", "first_rows=401 of 400 rows: ask for at most 400"),
        ("rows=2", "rows=2 of 3 classes: ask for at least a row of each"),
    ):
        with pytest.raises(DataError, match=message):
            load(f"{by_class}?{options}")


def test_rows_and_first_rows_together_are_refused():
    with pytest.raises(UsageError, match=r"draws a sample and first_rows .*: give one"):
        check("sklearn:iris?rows=50&first_rows=50")
