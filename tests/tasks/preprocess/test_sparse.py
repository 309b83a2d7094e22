"""The encoder of the hold-out environment: numbers, indicators, and the words of texts."""

import numpy as np
import pandas as pd
import pytest
import skops.io

from leaseboard.algorithms.errors import DataError
from leaseboard.tasks.preprocess.sparse import SparseEncoder

FRAME = pd.DataFrame(
    {
        "x": [0.5, 0.0, 2.0],
        "c": pd.Categorical(["v", None, "u"], categories=["u", "v", "w"]),
        "title": pd.Series(["a b a", "c", None], dtype=object),
        "flag": [True, False, True],
        "body": pd.Series(["b b", "d e", "a"], dtype=object),
    }
)


@pytest.fixture
def encoder():
    """Return an encoder that is fitted on the first two rows."""
    return SparseEncoder().fit(FRAME.iloc[:2])


def test_columns_follow_one_another(encoder):
    assert encoder.names_ == (
        "x", "c=u", "c=v", "c=w", "a", "b", "c", "flag", "b", "d", "e"
    )  # fmt: skip
    assert encoder.transform(FRAME).toarray().tolist() == [
        [0.5, 0, 1, 0, 2, 1, 0, 1, 2, 0, 0],
        [0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 1],
        [2, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0],
    ]


def test_a_saved_encoder_encodes_alike(encoder, tmp_path):
    skops.io.dump(encoder, tmp_path / "saved")
    (trusted,) = skops.io.get_untrusted_types(file=tmp_path / "saved")
    again = skops.io.load(tmp_path / "saved", trusted=[trusted])

    np.testing.assert_array_equal(
        again.transform(FRAME).toarray(), encoder.transform(FRAME).toarray()
    )


def test_values_are_known_by_their_label(encoder):
    numbers = pd.DataFrame({"n": pd.Series([1.0, 2.5, 1.0]).astype("category")})
    fitted = SparseEncoder().fit(numbers)
    plain = pd.DataFrame({"n": [2.5, 7.0, 1.0]})

    assert fitted.names_ == ("n=1", "n=2.5")
    assert fitted.transform(plain).toarray().tolist() == [[0, 1], [0, 0], [1, 0]]


def test_a_missing_number_is_refused_or_no_feature():
    gap = pd.DataFrame({"x": [1.0, np.nan]})

    with pytest.raises(DataError, match=r"column 'x' is missing \(NaN\) in 1 rows"):
        SparseEncoder().fit(gap).transform(gap)
    assert SparseEncoder("zero").fit(gap).transform(gap).toarray().tolist() == [[1.0], [0.0]]
