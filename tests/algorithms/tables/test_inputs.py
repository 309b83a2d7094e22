"""What blocks, labels and importances are, and what only looks like numbers."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from leaseboard.algorithms.errors import DataError, UsageError
from leaseboard.algorithms.tables.column_types import complete_labels, numbers_alone
from leaseboard.algorithms.tables.features import FeatureMap
from leaseboard.algorithms.tables.inputs import (
    importance_of,
    importances_of,
    labels_of,
    numeric_block,
)

DAYS = np.array(["2024-01-02", "2024-01-03"], dtype="datetime64[ns]")
UNITS = ("ns", "us", "s", "D")


def of_type(values, dtype):
    return np.array(values, dtype=dtype)[:, None]


NO_BLOCKS = {
    **{f"dates in {unit}": DAYS.astype(f"M8[{unit}]")[:, None] for unit in UNITS},
    "complex": np.array([[1j], [2.0]]),
    "texts of digits": [["1.5"], ["2"]],
    "objects that are dates": of_type([DAYS[0].astype("M8[D]"), 1.5], object),
    "objects that are months": of_type([np.timedelta64(1, "M"), 1.5], object),
    "objects that are complex": of_type([np.complex64(1), 1.5], object),
    "objects that are texts": of_type(["1.5", 1.5], object),
    "a frame of dates": pd.DataFrame({"t": DAYS}),
    "rows of two lengths": [[1.0], [1.0, 2.0]],
}


def test_what_numpy_would_make_numbers_of_is_refused():
    for given in NO_BLOCKS.values():
        with pytest.raises(UsageError, match=r"a block must hold numbers, .*: make a DataFrame"):
            numeric_block(given)


def test_what_is_masked_is_missing():
    masked = np.ma.array([[1, 2], [3, 4]], mask=[[False, True], [False, False]])

    assert np.array_equal(numeric_block(masked)[1], [[1, np.nan], [3, 4]], equal_nan=True)
    assert np.array_equal(numbers_alone(masked), [[1, np.nan], [3, 4]], equal_nan=True)
    assert FeatureMap().values({"x": masked[0, 1]}) == {}
    with pytest.raises(ValueError, match="must be finite"):
        labels_of(masked[0])
    with pytest.raises(DataError, match="y has missing values"):
        complete_labels(masked[0])


def test_a_damaged_sparse_matrix_is_refused():
    damaged = sparse.csr_array(np.eye(3))
    damaged.indices = damaged.indices + 7
    with pytest.raises(DataError, match="X is a damaged sparse matrix"):
        numbers_alone(damaged)


def test_a_block_of_objects_that_are_numbers():
    names, block = numeric_block(of_type([1, None, 2.5, np.float32(3), True], object))

    assert names == ["0"]
    assert np.array_equal(block[:, 0], [1, np.nan, 2.5, 3, 1], equal_nan=True)


def test_durations_in_a_block_are_seconds_and_gaps_are_nan():
    for dtype in ("m8[s]", "m8[ns]", object):
        spans = np.array([90, "NaT", -1], "m8[s]").astype(dtype)[:, None]
        assert np.array_equal(numeric_block(spans)[1][:, 0], [90, np.nan, -1], equal_nan=True)
    for gap in (None, pd.NA, pd.NaT, np.datetime64("NaT"), np.nan):
        block = numeric_block([[gap], [1]])[1]
        assert np.isnan(FeatureMap().values({"x": gap}).get(("", "x"), np.nan))
        assert np.array_equal(block[:, 0], [np.nan, 1], equal_nan=True)


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("values", [DAYS, DAYS - DAYS[0]], ids=["dates", "spans"])
def test_times_are_neither_labels_nor_importances(unit, values):
    values = values.astype(f"{values.dtype.kind}8[{unit}]")
    with pytest.raises(TypeError, match="a regressor learns numbers"):
        labels_of(values)
    with pytest.raises(ValueError, match="must be a finite number >= 0"):
        importances_of(values, 2)


@pytest.mark.parametrize("sign", [1, -1])
def test_an_integer_beyond_all_floats_is_infinite(sign):
    beyond = sign * 10**400
    with pytest.raises(ValueError, match="must be finite in 32 bits: leave the example out"):
        labels_of([1.0, beyond])
    with pytest.raises(ValueError, match="must be a finite number >= 0"):
        importances_of([1.0, beyond], 2)
    with pytest.raises(ValueError, match="must be finite in 32 bits"):
        FeatureMap().values({"x": beyond})
    with pytest.raises(ValueError, match=r"example 1 has a value .* not finite in 32 bits"):
        numeric_block([[1], [beyond]])


@pytest.mark.parametrize("w", [0.0, 1e-50, 1e-40, 0.5, 1, 1e9])
def test_one_importance_is_0_where_that_of_a_block_is(w):
    assert np.float32(importance_of(w)) == importances_of([w], 1)[0]
    assert bool(importance_of(w)) == bool(importances_of([w], 1)[0])
