"""Digests of data as read: equal content, equal digest, on any machine and pandas version."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from leaseboard.tasks.fetch import columns

_VERSION = "leaseboard-data-1"
_BLOCK = 1 << 18  # rows converted at once: the wide copy of a narrow column stays small


def digest_of(features: pd.DataFrame, target: pd.Series, task: str) -> str:
    """A digest of column names, their order, kinds and values, of the target and of the task.

    Numbers are hashed as doubles, 3 like 3.0 and 0 like -0.0, so that a digest does not depend
    on the type that a file happens to use; integers that no double holds, as such. A nominal
    column is its category names in order and its codes.

    It has 32 hexadecimal digits.
    """
    hasher = hashlib.sha256()
    _header(hasher, _VERSION, task, list(features.shape))
    for position in range(features.shape[1]):
        _column(hasher, features.iloc[:, position])
    _column(hasher, target)
    return hasher.hexdigest()[:32]


def file_digest(path: Path) -> str:
    """The SHA-256 of a file's bytes, as catalogues give it."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _column(hasher: Any, column: pd.Series) -> None:
    name = str(column.name)
    if columns.is_nominal(column):
        _header(hasher, "nominal", name, [str(label) for label in column.cat.categories])
        _values(hasher, column.cat.codes.to_numpy(), "<i4")
    elif columns.is_date(column):
        _header(hasher, "date", name)
        _values(hasher, column.to_numpy().view(np.int64), "<i8")
    elif columns.is_text(column):
        codes, texts = pd.factorize(column)
        _header(hasher, "text", name, [str(text) for text in texts])
        _values(hasher, codes, "<i4")
    elif pd.api.types.is_bool_dtype(column.dtype):
        _header(hasher, "boolean", name)
        _values(hasher, column.to_numpy(), "<i1")
    elif _fits_doubles(column):
        _header(hasher, "number", name)
        _values(hasher, column.to_numpy(), "<f8")
    elif column.dtype.kind == "u" and column.max() > np.iinfo(np.int64).max:
        _header(hasher, "natural", name)
        _values(hasher, column.to_numpy(), "<u8")
    else:
        _header(hasher, "integer", name)
        _values(hasher, column.to_numpy(), "<i8")


def _fits_doubles(column: pd.Series) -> bool:
    """Whether every value of a numeric column is a double."""
    if column.dtype.kind == "f" or column.dtype.itemsize < 8:
        return True
    return bool(column.min() >= -(2**53) and column.max() <= 2**53)


def _header(hasher: Any, *parts: Any) -> None:
    # JSON delimits the parts: no two different headers run together to the same bytes.
    hasher.update(json.dumps(parts).encode() + b"\n")


def _values(hasher: Any, values: np.ndarray, kind: str) -> None:
    for start in range(0, len(values), _BLOCK):
        block = np.ascontiguousarray(values[start : start + _BLOCK], dtype=kind)
        if kind == "<f8":
            block = np.where(np.isnan(block), np.nan, block + 0.0)  # -0.0 + 0.0 is 0.0
        hasher.update(block.tobytes())
