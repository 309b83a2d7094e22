"""Splits: every row once, in its share, stratified, reproducible."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaseboard.algorithms.errors import DataError, UsageError
from leaseboard.tasks.fetch.dataset import Dataset, shares
from leaseboard.tasks.preprocess.splits import Division, deal, division, split, split_by_column


def classes(labels: list[str], **columns: list[str]) -> Dataset:
    target = pd.Series(pd.Categorical(labels))
    features = pd.DataFrame({"a": range(len(labels)), **columns})
    return Dataset("test", "test", features, target, "classification", "")


@given(
    labels=st.lists(st.integers(0, 5), min_size=10, max_size=300),
    ratios=st.sampled_from([(0.64, 0.16, 0.2), (0.8, 0.2), (0.5, 0.25, 0.25)]),
    seed=st.integers(0, 100),
)
def test_rows_are_dealt_once_in_their_share(labels, ratios, seed):
    labels = np.array(labels)
    sizes = shares(ratios, len(labels), least=0).tolist()

    parts = deal(labels, sizes, np.random.default_rng(seed))

    counts = np.bincount(parts, minlength=len(sizes))
    assert sum(sizes) == len(labels)
    if sizes[0] >= len(set(labels)):
        assert counts.tolist() == sizes
    for label in set(labels):
        mine = np.bincount(parts[labels == label], minlength=len(sizes))
        assert mine[0] >= 1
        # one row may come of the first of each class, which is dealt to training, and one
        # of each border between classes
        share = np.array(sizes) / len(labels) * mine.sum()
        assert (np.abs(mine - share) <= 1 + len(set(labels))).all()


def test_a_class_with_one_member_is_for_training():
    parts = split(classes(["a"] * 20 + ["rare"] + ["b"] * 20), seed=1)

    assert 20 in parts.train


def test_too_few_rows_are_an_error():
    with pytest.raises(DataError, match=r"3 rows of 2 classes.* are too few to give 16% of them"):
        split(classes(["a", "b", "a"]))
    with pytest.raises(DataError, match="9 rows of 9 classes, each with a row for training, are"):
        split(classes(list("abcdefghi")))


def test_the_authors_split_is_a_column():
    data = classes(["a", "b", "a", "b"], split=["train", "test", "train", "train"])

    rest, train, test = split_by_column(data, "split")

    assert list(rest.features) == ["a"]
    assert (train.tolist(), test.tolist()) == ([0, 2, 3], [1])
    with pytest.raises(DataError, match="must say train or test, not '0'"):
        split_by_column(data, "a")


@given(
    times=st.lists(st.integers(0, 30), min_size=20, max_size=200),
    ratios=st.sampled_from([(0.64, 0.16, 0.2), (0.8, 0.2), (0.25,) * 4]),
    seed=st.integers(0, 5),
)
def test_parts_are_in_the_order_of_time_and_no_time_or_group_is_parted(times, ratios, seed):
    times = np.array(times)
    largest = np.bincount(times).max()
    for kind in ("time", "group"):
        try:
            parts = Division(kind, "t", times).parts(ratios, seed)
        except DataError:
            assert largest > min(ratios) * len(times) / 2
            continue
        assert all(len(set(parts[times == time])) == 1 for time in set(times))
        if kind == "time":
            assert (np.diff(parts[np.argsort(times)]) >= 0).all()
        for part, share in enumerate(ratios):
            assert abs(np.mean(parts == part) - share) <= largest / len(times) + 1e-9


def test_a_time_is_guessed_from_exactly_one_complete_column_of_dates():
    days = pd.date_range("2024-01-01", periods=8)
    gaps = days.where(days > days[0])

    def why(split=None, **columns):
        return str(
            division(dataclasses.replace(classes(list("abababab"), **columns), split=split))
        )

    assert why(day=days) == (
        "the last rows by 'day' are held out (guessed from column 'day', the only one of dates)"
    )
    no = "random rows are held out (no column of dates without gaps)"
    assert why() == why(day=gaps) == why(day=days[[0] * 8]) == no
    assert why(a=days, b=days[::-1]).endswith("(2 columns of dates without gaps)")
    assert why("time=b", a=days, b=days[::-1]) == "the last rows by 'b' are held out (asked for)"
    assert why("random", day=days) == "random rows are held out (asked for)"
    with pytest.raises(UsageError, match=r"split=time, and 2 columns .* split=time=COLUMN"):
        why("time", a=days, b=days[::-1])
    assert why("time=a", a=list(range(8))).startswith("the last rows by 'a' are held out")
    with pytest.raises(UsageError, match="split=time=a: texts such as 'Jan' have no order"):
        why("time=a", a=["Jan", "Feb"] * 4)
    with pytest.raises(UsageError, match="column to split by 'shop'"):
        why("group=shop", day=days)
