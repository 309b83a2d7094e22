"""What a day is told by."""

import numpy as np
import pandas as pd
import pytest

from tasks.keep.watch.signature import (
    MOST_CATEGORIES,
    QUANTILES,
    WORDS,
    divided,
    new_usual,
    of_columns,
    of_errors,
    said,
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
        "x: lean": 0,
    }


def test_a_lean_changes_its_sign_with_the_values():
    values = np.random.default_rng(0).exponential(size=500)

    assert of(values)["x: lean"] == pytest.approx(-of(-values)["x: lean"])
    assert of(values)["x: lean"] > 0.2


def test_what_is_no_finite_number_is_missing():
    found = of([1.0, np.nan, np.inf, 1.0])

    assert found["x: missing"] == 0.5
    assert found["x: commonest"] == 1
    assert of([np.nan, np.nan]) == {"x: missing": 1}


def test_of_categories_by_hand():
    found = of(["a", "a", "b", None], {"a": 0.5, "c": 0.5})

    assert found["x: missing"] == 0.25
    assert found["x: commonest"] == pytest.approx(2 / 3)
    assert found["x: other"] == pytest.approx((1 / 6 + 1 / 3 + 1 / 2) / 2)


def test_flags_are_categories_and_dates_are_left_out():
    assert set(of([True, False])) == {"x: missing", "x: commonest"}
    assert of(pd.to_datetime(["2026-01-01"])) == {}


def test_usual_shares_forget_and_are_bounded():
    first = new_usual(pd.Series(["a"] * 4), None)
    after = new_usual(pd.Series(["b"] * 4), first)

    assert first == {"a": 1}
    assert after == {"a": 0.9, "b": 0.1}
    assert len(new_usual(pd.Series(map(str, range(1000))), after)) == MOST_CATEGORIES
    assert new_usual(pd.Series([1.0]), None) is None


@pytest.mark.parametrize("usual", [None, {}, {"a": 1.0}])
@pytest.mark.parametrize("values", [[None, None], []])
def test_a_day_without_any_value_forgets_as_well(usual, values):
    found = new_usual(pd.Series(values, dtype=object), usual)

    assert found == ({"a": 0.9} if usual else {})


def test_errors_of_numbers_and_of_classes():
    labels = pd.Series([1.0, 2, 3, 4])
    found = of_errors(labels, labels * 10, pd.Series([np.e] * 4))
    assert found == {
        "forecasts: error": pytest.approx(1),
        "forecasts: disagreement": pytest.approx(-np.arctanh(0.999)),
    }
    classes = pd.Series(["a", "b"])
    assert of_errors(classes, classes, pd.Series([0.2, 0.4])) == {
        "forecasts: loss": pytest.approx(0.3)
    }


def test_one_value_agrees_with_nothing():
    ones = pd.Series([1.0] * 5)

    assert np.isnan(of_errors(ones, ones, ones)["forecasts: disagreement"])


def test_each_statistic_has_words():
    assert {*QUANTILES} < {*WORDS}
    assert divided("a: b: low") == ("a: b", "low")
    assert said("a: b: low") == "the tenth percentile of a: b"
