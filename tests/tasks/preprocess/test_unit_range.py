"""The encoder of configuration selection: codes and numbers within [0, 1] on training rows."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from leaseboard.algorithms.errors import DataError
from leaseboard.tasks.preprocess.unit_range import UnitRangeEncoder

SIZES = pd.Categorical(["l", "s", None, "m"], categories=["s", "m", "l"])


@pytest.fixture
def frame():
    return pd.DataFrame(
        {
            "x": [1.0, np.nan, 4.0, 10.0],
            "n": SIZES,
            "b": [True, False, True, True],
            "i": np.array([5, 5, 5, 7], np.int8),
            "empty": np.full(4, np.nan),
        }
    )


def test_columns_are_scaled_and_filled_by_the_training_rows(frame):
    X = UnitRangeEncoder().fit(frame.iloc[:3]).transform(frame)

    assert X[:, 0] == pytest.approx([0, 0.5, 1, 3])
    assert X[:, 1] == pytest.approx([1, 1 / 3, 0, 2 / 3])  # missing is -1, the least of all
    assert X[:, 2:].tolist() == [[1, 0, 0], [0, 0, 0], [1, 0, 0], [1, 2, 0]]
    assert X.dtype == np.float32
    assert X.flags.c_contiguous


def test_rows_by_number_are_the_rows_of_a_copy(frame):
    train, every = np.array([2, 0, 1]), np.array([3, 1, 0])
    by_number = UnitRangeEncoder().fit(frame, rows=train)
    copied = clone(by_number).fit(frame.iloc[train])

    np.testing.assert_array_equal(
        by_number.transform(frame, rows=every), copied.transform(frame.iloc[every])
    )


def test_categories_are_known_by_their_label(frame):
    fitted = UnitRangeEncoder().fit(frame[["n"]])
    other = pd.DataFrame({"n": pd.Categorical(["l", "new"], categories=["new", "l"])})

    assert fitted.transform(other)[:, 0].tolist() == [1, 0]


def test_infinite_values_are_refused():
    with pytest.raises(
        DataError, match="column 'x' holds numbers that are finite in 32 bits, and"
    ):
        UnitRangeEncoder().fit(pd.DataFrame({"x": [1.0, np.inf]}))
