"""Boosted trees that LightGBM fits, as arrays: a row is predicted without the library.

The library is called by its C interface. Its Python package would import pandas and scikit-learn,
over a second of CPU time, before the first row.
"""

import ctypes
import warnings
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from leaseboard.algorithms.array_types import Doubles, Floats
from leaseboard.algorithms.errors import UsageError

PARAMETERS = (
    "verbosity=-1 num_threads=1 deterministic=true force_row_wise=true seed=0 num_leaves=31"
    " min_data_in_leaf=20 lambda_l2=1"
)

MISSING = (
    "the model has boosted trees, which LightGBM fits, and LightGBM is not installed: pip install"
    " lightgbm to learn; without it the model predicts"
)

FLOAT32 = 0
"""LightGBM's number for that type."""
SPLITS = 0
"""And for importances of columns by their number of splits, which its text has to have."""


class Trees(NamedTuple):
    """Trees one after the other.

    Attributes
    ----------
    inner : ndarray of int32, shape (n_inner, 3)
        The column of each inner node, and its children: the first where the column's value is at
        most the threshold. A leaf is called by ``~number``.
    thresholds : ndarray of float64, shape (n_inner,)
    leaves : ndarray of float64, shape (n_leaves,)
    roots : ndarray of int32, shape (n_trees,)
    """

    inner: Any
    thresholds: Any
    leaves: Any
    roots: Any


NONE = Trees(np.zeros((0, 3), np.int32), np.zeros(0), np.zeros(0), np.zeros(0, np.int32))


@cache
def library() -> ctypes.CDLL | None:
    """Return LightGBM's library; None where there is none, or, with a warning, none that loads."""
    found = find_spec("lightgbm")
    if found is None or found.origin is None:
        return None
    files = sorted(Path(found.origin).parent.rglob("lib_lightgbm.*"))
    try:
        loaded = ctypes.CDLL(str(files[0]))
    except (IndexError, OSError) as error:
        warnings.warn(f"LightGBM cannot be loaded, so no boosted trees: {error}", stacklevel=2)
        return None
    loaded.LGBM_GetLastError.restype = ctypes.c_char_p
    return loaded


def fit(rows: Floats, targets: Floats, weights: Floats, objective: str, rounds: int) -> Trees:
    """Fit boosted trees.

    Parameters
    ----------
    rows : ndarray of float32, shape (n_rows, n_columns)
    targets, weights : ndarray of float32, shape (n_rows,)
    objective : str
        LightGBM's, with parameters of its own.
    rounds : int

    Returns
    -------
    Trees
        In the order of the rounds, in each one tree for each output.

    Raises
    ------
    UsageError
        If LightGBM is not installed.
    """
    text = f"{PARAMETERS} {objective}".encode()
    rows = np.ascontiguousarray(rows)
    data, booster, ended = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_int()
    _call(
        "LGBM_DatasetCreateFromMat", rows.ctypes.data_as(ctypes.c_void_p), FLOAT32,
        ctypes.c_int32(len(rows)), ctypes.c_int32(rows.shape[1]), 1, text, None,
        ctypes.byref(data),
    )  # fmt: skip
    try:
        for name, values in ((b"label", targets), (b"weight", weights)):
            each = np.ascontiguousarray(values, np.float32)
            place = each.ctypes.data_as(ctypes.c_void_p)
            _call("LGBM_DatasetSetField", data, name, place, len(each), FLOAT32)
        _call("LGBM_BoosterCreate", data, text, ctypes.byref(booster))
        for _ in range(rounds):
            _call("LGBM_BoosterUpdateOneIter", booster, ctypes.byref(ended))
            if ended.value:
                break
        return _read(_text(booster))
    finally:
        if booster:
            _call("LGBM_BoosterFree", booster)
        _call("LGBM_DatasetFree", data)


def _call(name: str, *arguments: Any) -> None:
    loaded = library()
    if loaded is None:
        raise UsageError(MISSING)
    if getattr(loaded, name)(*arguments):
        raise RuntimeError(f"LightGBM: {loaded.LGBM_GetLastError().decode()}")


def _text(booster: ctypes.c_void_p) -> str:
    """Return a model as the text that LightGBM saves."""
    size, length = 1 << 16, ctypes.c_int64()
    while True:
        buffer = ctypes.create_string_buffer(size)
        _call(
            "LGBM_BoosterSaveModelToString", booster, 0, -1, SPLITS, ctypes.c_int64(size),
            ctypes.byref(length), buffer,
        )  # fmt: skip
        if length.value <= size:
            return buffer.value.decode()
        size = length.value


def _read(text: str) -> Trees:
    """Return the trees of a model that LightGBM saved."""
    parts, roots, n_inner, n_leaves = list[tuple[Any, ...]](), list[int](), 0, 0
    for block in text.split("\nTree=")[1:]:
        lines = dict(line.split("=", 1) for line in block.split("\n\n")[0].splitlines()[1:])
        leaves: Doubles = np.array(lines["leaf_value"].split(), np.float64)
        if len(leaves) == 1:
            roots.append(~n_leaves)
            inner, thresholds = NONE.inner, NONE.thresholds
        else:
            # Nodes and leaves are numbered on from those of the trees before.
            roots.append(n_inner)
            names = "split_feature", "left_child", "right_child"
            inner = np.array([lines[name].split() for name in names], np.int32).T.copy()
            children = inner[:, 1:]
            children += np.where(children < 0, -n_leaves, n_inner).astype(np.int32)
            thresholds = np.array(lines["threshold"].split(), np.float64)
        parts.append((inner, thresholds, leaves))
        n_inner, n_leaves = n_inner + len(inner), n_leaves + len(leaves)
    if not parts:
        return NONE
    inner, thresholds, leaves = map(np.concatenate, zip(*parts, strict=True))
    return Trees(inner, thresholds, leaves, np.array(roots, np.int32))
