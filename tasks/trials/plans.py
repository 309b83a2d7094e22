"""Which rows a trial trains on, validates on and tests on, and the arrays of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tasks.fetch import Dataset
from tasks.preprocess.splits import split, split_by_column
from tasks.preprocess.tables import as_arrays
from tasks.trials.evaluate import Arrays, Fold

Rows = NDArray[np.int64]
Scale = Literal["none", "standard"]

TRAIN_SHARE = 0.8
"""Of the rows, for cross-validation where the data bring no split of their own."""

_NOBODY = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Part:
    """The rows of one fit; `test` is None where another fit is tested instead."""

    train: Rows
    validation: Rows
    test: Rows | None


def holdout(dataset: Dataset, seed: int, scale: Scale = "none") -> Arrays:
    """One fit on 64 %, validated on 16 % and tested on 20 % of the rows, as Rising Bandits does.

    Every class has a row for training, so no class is absent from that part.
    """
    rows = split(dataset, seed=seed)
    part = Part(rows.train, rows.validation, rows.test)
    return Arrays(_task(dataset), (_fold(dataset, part, scale),))


def cross_validation(
    dataset: Dataset, seed: int, folds: int, column: str | None = None, scale: Scale = "none"
) -> Arrays:
    """The mean of stratified folds, and the test score of a fit on all of them, as ER-UCB does.

    Parameters
    ----------
    dataset : Dataset
        Of a classification.
    seed : int
        Of the test split, where `column` is None.
    folds : int
        Each class's training rows are dealt to them in their order, without shuffling.
    column : str, optional
        Says ``train`` or ``test`` of each row.
    """
    if column is None:
        rows = split(dataset, (TRAIN_SHARE, 1 - TRAIN_SHARE), seed)
        train, test = rows.train, rows.test
    else:
        dataset, train, test = split_by_column(dataset, column)
    fold_of = dealt(dataset.target.cat.codes.to_numpy()[train], folds)
    parts = [Part(train[fold_of != f], train[fold_of == f], None) for f in range(folds)]
    refit = _fold(dataset, Part(train, _NOBODY, test), scale)
    return Arrays(_task(dataset), tuple(_fold(dataset, p, scale) for p in parts), refit)


def dealt(labels: NDArray[np.integer], folds: int) -> NDArray[np.intp]:
    """The fold of each row: each class is cut into `folds` runs of nearly equal length.

    Where a class has fewer members than there are folds, the classes start at different folds,
    so that no fold gets them all.
    """
    fold_of = np.empty(len(labels), dtype=np.intp)
    start = 0
    for label in np.unique(labels):
        members = np.flatnonzero(labels == label)
        runs = np.arange(len(members)) * folds // max(len(members), folds)
        fold_of[members] = (runs + start) % folds
        start += len(members) % folds
    return fold_of


def _fold(dataset: Dataset, part: Part, scale: Scale) -> Fold:
    """The arrays of one fit, encoded by its training rows alone."""
    arrays = as_arrays(dataset, part.train)
    X = arrays.X
    if scale == "standard":
        center, spread = X[part.train].mean(axis=0), X[part.train].std(axis=0)
        X = (X - center) / np.where(spread > 0, spread, 1).astype(np.float32)
    test = part.test
    return Fold(
        X[part.train],
        arrays.y[part.train],
        X[part.validation],
        arrays.y[part.validation],
        None if test is None else X[test],
        None if test is None else arrays.y[test],
    )


def _task(dataset: Dataset) -> Literal["classification", "regression"]:
    return "regression" if dataset.task == "regression" else "classification"
