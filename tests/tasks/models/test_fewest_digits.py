"""What a csv of forecasts holds."""

import io

import numpy as np
import pandas as pd
import pytest

from leaseboard.tasks.models.fewest_digits import in_fewest_digits

DRAWS = np.random.default_rng(0).normal(size=500)


@pytest.mark.parametrize("scale", [1e-30, 1e-4, 1.0, 1e5, 1e30])
def test_forecasts_of_32_bits_read_back_as_they_were_in_nine_digits_at_most(scale):
    forecasts = np.append(np.float32(DRAWS * scale), np.float32([np.nan, 0, 16777216]))
    frame = pd.DataFrame({"forecast": forecasts.astype(np.float64)})
    text = in_fewest_digits(frame, ["forecast"]).to_csv(index=False)
    read = pd.read_csv(io.StringIO(text), skip_blank_lines=False)["forecast"]

    np.testing.assert_array_equal(read.astype(np.float32), forecasts)
    mantissas = [line.partition("e")[0].strip("-0.") for line in text.split()[1:]]
    assert max(len(digits.replace(".", "").lstrip("0")) for digits in mantissas) <= 9


def test_what_is_no_forecast_or_of_64_bits_stays_as_it_is():
    exact = np.float32([123.4, 0.1]).astype(np.float64)
    frame = pd.DataFrame({"price": exact, "forecast": [0.1, 1e300], "kind": ["u", "v"]})

    assert in_fewest_digits(frame, ["forecast", "kind"]).equals(frame)
