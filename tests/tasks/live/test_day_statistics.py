"""What a day is reported by."""

import numpy as np
import pandas as pd
import pytest

from leaseboard.tasks.live.day_statistics import (
    of_columns,
    of_errors,
)


def of(values, usual=None):
    return of_columns([("x", pd.Series(values))], {} if usual is None else {"x": usual})


def test_of_numbers_by_hand():
    assert of([0.0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]) == {
        "x: missing": 0,
        "x: commonest": 1 / 11,
        "x: low": 1,
        "x: middle": 5,
        "x: high": 9,
        "x: step": 1,
        "x: lean": 0,
    }


def test_of_categories_by_hand():
    found = of(["a", "a", "b", None], {"a": 0.5, "c": 0.5})

    assert found["x: missing"] == 0.25
    assert found["x: commonest"] == pytest.approx(2 / 3)
    assert found["x: other"] == pytest.approx((1 / 6 + 1 / 3 + 1 / 2) / 2)


def test_errors_of_numbers_and_of_classes():
    labels = pd.Series([1.0, 2, 3, 4])
    found = of_errors(labels, labels * 10, pd.Series([np.e] * 4))
    assert found == {
        "predictions: error": pytest.approx(1),
        "predictions: disagreement": pytest.approx(-1),
    }
    classes = pd.Series(["a", "b"] * 5)
    shares = pd.DataFrame({"a": [0.8, 0.6] * 5, "b": [0.2, 0.4] * 5})
    assert of_errors(classes, shares, pd.Series([0.2, 0.6] * 5)) == {
        "predictions: loss": pytest.approx(0.4),
        "predictions: disagreement": -1,
    }
