"""What a day is reported by."""

import numpy as np
import pandas as pd
import pytest

from leaseboard.tasks.live.drift.day_statistics import (
    MOST_CATEGORIES,
    new_usual,
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


def test_usual_shares_forget_and_are_bounded():
    first = new_usual(pd.Series(["a"] * 4), None)
    after = new_usual(pd.Series(["b"] * 4), first)

    assert first == {"a": 1}
    assert after == {"a": 0.9, "b": 0.1}
    assert len(new_usual(pd.Series(map(str, range(1000))), after)) == MOST_CATEGORIES
    assert new_usual(pd.Series([1.0]), None) is None


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


def separation(labels, **shares):
    labels = pd.Series(list(labels))
    return -of_errors(labels, pd.DataFrame(shares), labels.map(len))["predictions: disagreement"]


def test_classes_agree_by_the_order_of_pairs():
    p = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95])

    assert separation("aaaaabbbbb", a=1 - p, b=p) == 1
    assert separation("bbbbbaaaaa", a=1 - p, b=p) == -1
    # 25 pairs, of which the b at .3 is below the three a at .4, .5 and .6
    assert separation("aabaaabbbb", a=1 - p, b=p) == pytest.approx((22 - 3) / 25)
    assert separation("ab" * 5, a=p * 0 + 0.5, b=p * 0 + 0.5) == 0
