"""What a csv of predictions holds."""

import io

import numpy as np
import pandas as pd
import pytest

from leaseboard.tasks.models.columns import in_fewest_digits

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
