"""From mixed columns to numbers: a scikit-learn transformer that is fitted on training rows."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

MISSING = "missing value"
"""The category of a missing value."""


def is_nominal(column: pd.Series) -> bool:
    """Whether a column is one-hot encoded: all but numbers and booleans are."""
    kind = column.dtype
    return not (pd.api.types.is_numeric_dtype(kind) or pd.api.types.is_bool_dtype(kind))


def encoder(frame: pd.DataFrame, scale: Literal["none", "standard"]) -> ColumnTransformer:
    """An unfitted transformer from the columns of `frame`, by position, to floats.

    A nominal column is one-hot encoded, a missing value as a category of its own; a category
    that was not there when it was fitted becomes all zeros. A missing number becomes the
    median; a column without any number becomes 0.
    """
    positions = range(frame.shape[1])
    nominal = [position for position in positions if is_nominal(frame.iloc[:, position])]
    numeric = [position for position in positions if position not in set(nominal)]
    numbers: list[Any] = [
        FunctionTransformer(_as_floats),
        SimpleImputer(strategy="median", keep_empty_features=True),
    ]
    if scale == "standard":
        numbers.append(StandardScaler())
    one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    return ColumnTransformer(
        [
            ("numbers", make_pipeline(*numbers), numeric),
            ("nominal", make_pipeline(FunctionTransformer(_as_text), one_hot), nominal),
        ],
        sparse_threshold=0,
    )


def _as_floats(frame: pd.DataFrame) -> NDArray[np.float64]:
    values: NDArray[np.float64] = frame.to_numpy(dtype=np.float64, na_value=np.nan)
    if np.isinf(values).any():
        raise ValueError("X holds infinity: drop those rows or mark the values as missing")
    return values


def _as_text(frame: pd.DataFrame) -> NDArray[np.object_]:
    text = frame.astype(object)
    filled: NDArray[np.object_] = text.where(frame.notna(), MISSING).astype(str).to_numpy(object)
    return filled
