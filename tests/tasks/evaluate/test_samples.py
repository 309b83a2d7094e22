"""From a dataset to one shuffled, scaled array."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from leaseboard.algorithms.errors import DataError
from leaseboard.tasks.evaluate.probes import Samples, split
from leaseboard.tasks.fetch.dataset import Dataset


def dataset(features, target, task="classification"):
    target = pd.Series(target, dtype="category" if task == "classification" else float)
    return Dataset(
        reference="file:made.csv", name="made", features=pd.DataFrame(features), target=target,
        task=task, digest="d", source="", licence="",
    )  # fmt: skip


CLASSES = ["a", "b"] * 50


def test_rows_are_shuffled_split_and_kept_together():
    made = dataset({"x": np.arange(100), "y": -np.arange(100.0)}, CLASSES)
    samples = split(made, seed=1, test_fraction=0.2).samples
    small, large, test = samples.train(20)[0], samples.train(80)[0], samples.test(20)[0]
    assert samples.train_rows == 80
    assert samples.features.dtype == np.float32
    assert np.shares_memory(small, large)  # samples are nested views
    assert not np.shares_memory(large, test)
    assert test.flags.c_contiguous
    assert not np.array_equal(np.sort(samples.features[:, 0]), samples.features[:, 0])
    x, y = samples.features.T
    assert np.allclose(np.diff(x) * np.diff(y) < 0, True)  # y falls as x rises, in every row


def test_what_cannot_be_sampled_is_refused():
    for features, target, task, message in (
        ({"x": [1.0, 2.0, 3.0]}, [1.0, 2.0, 3.0], "regression", "threshold"),
        ({"x": [1.0, np.inf, 3.0]}, ["a", "b", "a"], "classification", "finite in 32 bits"),
        ({"x": ["long", "text", "here"]}, ["a", "b", "a"], "classification", "free text"),
        ({"x": [1.0, 2.0]}, ["a", "b"], "classification", "too few"),
    ):
        with pytest.raises(DataError, match=message):
            _ = split(dataset(features, target, task), seed=0, test_fraction=0.2).samples


@given(
    counts=st.lists(st.integers(1, 30), min_size=2, max_size=6),
    rows=st.integers(1, 40),
    seed=st.integers(0, 10),
    kind=st.sampled_from(("array", "frame", "sparse")),
)
def test_every_sample_is_fitted_with_every_class_and_counted_without(counts, rows, seed, kind):
    """As many classes as training rows have, however rare; samples with these rows are nested."""
    labels = np.repeat(np.arange(len(counts)), counts)
    np.random.default_rng(seed).shuffle(labels)
    numbers = np.arange(len(labels), dtype=float)[:, None]
    features = {"array": np.array, "frame": pd.DataFrame, "sparse": sparse.csr_matrix}[kind](
        numbers
    )
    train_rows = max(1, len(labels) - 3)
    samples = Samples(features=features, labels=labels, train_rows=train_rows)
    rows = min(rows, train_rows)

    def fitted(rows):
        X, y = samples.fitted_on(rows)
        X = X.toarray() if kind == "sparse" else np.asarray(X)
        assert np.array_equal(labels[X[:, 0].astype(int)], y)  # rows keep their labels
        return X[:, 0].astype(int).tolist()

    chosen = fitted(rows)
    assert chosen[:rows] == list(range(rows))
    assert set(labels[chosen]) == set(labels[:train_rows])
    assert len(chosen) - rows == len(set(labels[:train_rows]) - set(labels[:rows]))
    assert len(samples.train(rows)[1]) == rows  # what is counted
    assert set(chosen) <= set(fitted(min(2 * rows, train_rows)))
    assert fitted(train_rows) == list(range(train_rows))
