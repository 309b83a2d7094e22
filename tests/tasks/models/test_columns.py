"""Columns of models, in memory and in files."""

import io

import numpy as np
import pandas as pd
import pytest

from leaseboard.algorithms.errors import DataError
from leaseboard.tasks.models import columns
from leaseboard.tasks.models.columns import in_fewest_digits

DATA = pd.DataFrame(
    {"tiny": np.array([1, 2], np.uint8), "x": np.array([0.5, 1], np.float32), "b": [True, False],
     "t": pd.to_datetime(["2024-02-29", "2024-03-01"])}
)  # fmt: skip


def read(name, values):
    known = columns.describe(DATA[[name]])
    return columns.typed(pd.DataFrame({name: values}), known)[name].tolist()


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([40000, -1], [40000, -1]),
        (["3", "4"], [3, 4]),
        ([2**63 - 1], [2**63 - 1]),
        (pd.array([2**63 - 1], dtype="Int64"), [2**63 - 1]),
        (pd.Categorical([3, 5]), [3, 5]),
    ],
)
def test_an_integer_beyond_the_datas_own_width_stays_what_it_is(values, expected):
    assert read("tiny", values) == expected


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("tiny", [1, 2.7], "integers of 64 bits, and 2.7 in row 2 does not fit: fix"),
        ("tiny", np.array([2**63], np.uint64), "9223372036854775808 in row 1 does not fit"),
        ("tiny", ["1", "a"], "column 'tiny' holds numbers, and 'a' in row 2 does not fit"),
        ("x", [1.0, 1e39], r"finite in 32 bits, and 1e\+39 in row 2 does not fit"),
        ("x", [pd.Timestamp("2024-01-02")] * 3, "'x' holds numbers, and .* in row 1 does not fit"),
        ("b", ["False"], "column 'b' holds true and false, and 'False' in row 1 does not fit"),
        ("b", [True, None, 2], "and 2 in row 3 does not fit"),
        ("t", ["2024-02-29", "soon"], "holds dates, such as 2024-02-29, and 'soon' in row 2 does"),
        ("t", [pd.Timestamp("2024"), "2024-01-02"], "'t' mixes dates with their texts"),
    ],
)
def test_what_is_not_of_its_columns_kind_is_refused(name, values, message):
    with pytest.raises(DataError, match=message):
        read(name, values)


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("tiny", pd.array([1, None], dtype="Int64"), [1.0, np.nan]),
        ("b", pd.array([None, False], dtype="boolean"), [np.nan, 0.0]),
    ],
)
def test_an_integer_or_a_boolean_may_be_missing(name, values, expected):
    assert read(name, values) == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize(
    "values",
    [
        ["2024-02-29T18:30", None],
        pd.to_datetime(["2024-02-29 18:30", None]),
        pd.to_datetime(["2024-02-29 18:30", None]).tz_localize("Asia/Tokyo"),
        [pd.Timestamp("2024-02-29 18:30").to_pydatetime(), None],
    ],
    ids=lambda values: str(values[0]),
)
def test_a_date_is_what_its_clock_shows(values):
    found = read("t", values)

    assert found[0] == pd.Timestamp("2024-02-29 18:30")
    assert found[1] is pd.NaT
    assert read("t", [None])[0] is pd.NaT


DRAWS = np.random.default_rng(0).normal(size=500)


@pytest.mark.parametrize("scale", [1e-30, 1e-4, 1.0, 1e5, 1e30])
def test_predictions_of_32_bits_survive_a_file_in_nine_digits_at_most(scale):
    predictions = np.append(np.float32(DRAWS * scale), np.float32([np.nan, 0, 16777216]))
    frame = pd.DataFrame({"prediction": predictions.astype(np.float64)})
    text = in_fewest_digits(frame, ["prediction"]).to_csv(index=False)
    read = pd.read_csv(io.StringIO(text), skip_blank_lines=False)["prediction"]

    np.testing.assert_array_equal(read.astype(np.float32), predictions)
    mantissas = [line.partition("e")[0].strip("-0.") for line in text.split()[1:]]
    assert max(len(digits.replace(".", "").lstrip("0")) for digits in mantissas) <= 9


def test_columns_of_64_bits_and_other_columns_stay_unchanged():
    exact = np.float32([123.4, 0.1]).astype(np.float64)
    frame = pd.DataFrame({"price": exact, "prediction": [0.1, 1e300], "kind": ["u", "v"]})

    assert in_fewest_digits(frame, ["prediction", "kind"]).equals(frame)
