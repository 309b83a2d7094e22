"""What blocks, labels and importances are, and what only looks like numbers."""

import numpy as np
import pandas as pd
import pytest

from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.online_automl.streaming.base import examples_of
from leaseboard.algorithms.tables.values import codes_of

DAYS = np.array(["2024-01-02", "2024-01-03"], dtype="datetime64[ns]")
UNITS = ("ns", "us", "s", "D")


NO_BLOCKS = {
    **{f"dates in {unit}": DAYS.astype(f"M8[{unit}]")[:, None] for unit in UNITS},
    "complex": np.array([[1j], [2.0]]),
    "texts of digits": [["1.5"], ["2"]],
    "objects": np.array([["1.5"], [1.5]], dtype=object),
}


def test_what_numpy_would_make_numbers_of_is_refused():
    for given in NO_BLOCKS.values():
        with pytest.raises(UsageError, match=r"must hold numbers .*: make a DataFrame of other"):
            examples_of(given)


@pytest.mark.parametrize("classes", [[0, 1], [False, True], np.array([0.0, 1.0])], ids=str)
def test_labels_are_matched_with_classes_by_value(classes):
    up = np.array([True, False, True])
    series = pd.Series(up)
    for labels in (
        up, up.astype(int), up.astype(np.float32), series.astype("boolean"),
        series.astype("Int64"), series.astype("bool[pyarrow]"), series.astype("category"),
    ):  # fmt: skip
        assert codes_of(np.asarray(labels), np.asarray(classes)).tolist() == [1, 0, 1]
