"""Rows that a trial trains on, validates on and tests on, and their arrays."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from leaseboard.tasks.evaluate.trials.evaluate import Arrays, Fold
from leaseboard.tasks.fetch.dataset import Dataset
from leaseboard.tasks.preprocess.encoders import Scale, TableEncoder, labels_of, refuse_text
from leaseboard.tasks.preprocess.encoding import naming
from leaseboard.tasks.preprocess.splits import Rows, Split, division, split, split_by_column

TRAIN_SHARE = 0.8
"""Of the rows, for cross-validation where the data bring no split of their own."""

_NO_ROWS = np.empty(0, dtype=np.int64)


def scored(
    dataset: Dataset, seed: int, protocol: str, column: str | None = None
) -> tuple[Dataset, Split]:
    """Return data and rows of the fit whose test score is recorded, which a winner repeats.

    - `seed`: of the split.
    - `protocol`, {"holdout", "cv"}: ``holdout``: 64 %, 16 % and 20 % of the rows, as Rising
      Bandits has them; of random rows every class has a row for training. ``cv``: all rows but a
      fifth; so it is by time, where those before the test are worth most.
    - `column`: says ``train`` or ``test`` of each row, for ``cv``; the data are then without it.
    """
    if protocol == "holdout" and division(dataset).kind != "time":
        return dataset, split(dataset, seed=seed)
    if column is None:
        return dataset, split(dataset, (TRAIN_SHARE, 1 - TRAIN_SHARE), seed)
    dataset, train, test = split_by_column(dataset, column)
    return dataset, Split(train, _NO_ROWS, test)


def holdout(dataset: Dataset, seed: int, scale: Scale = "none") -> Arrays:
    """Return the arrays of one fit, validated and tested, as Rising Bandits does.

    By time the test is of another fit, see `scored`.
    """
    part, (_, tested) = split(dataset, seed=seed), scored(dataset, seed, "holdout")
    refit = None if len(tested.validation) else _fold(dataset, tested, scale)
    return Arrays(_task(dataset), (_fold(dataset, part, scale),), refit)


def cross_validation(
    dataset: Dataset, seed: int, folds: int, column: str | None = None, scale: Scale = "none"
) -> Arrays:
    """Return the arrays of stratified folds and of a tested fit on all of them, as ER-UCB does.

    - `dataset`: of a classification.
    - `seed`, `column`: as in `scored`.
    - `folds`: each class's training rows are dealt to them in their order, without shuffling,
      unless time or groups divide them.
    """
    dataset, every = scored(dataset, seed, "cv", column)
    train = every.train
    rule, codes = division(dataset).of(train), dataset.target.cat.codes.to_numpy()[train]
    blocks = rule.blocks(folds) if rule.column else dealt(codes, folds)
    pairs = (rule.fold(blocks, fold) for fold in range(folds))
    parts = [Split(train[rows], train[others], _NO_ROWS) for rows, others in pairs]
    refit = _fold(dataset, every, scale)
    return Arrays(_task(dataset), tuple(_fold(dataset, p, scale) for p in parts), refit)


def encoder(dataset: Dataset, train: Rows, scale: Scale) -> TableEncoder:
    """Return the encoder of the features, fitted on the rows `train`.

    Raises DataError for a text column.
    """
    refuse_text(dataset)
    return TableEncoder(scale).fit(dataset.features.iloc[train])


def dealt(labels: NDArray[np.integer], folds: int) -> NDArray[np.intp]:
    """Return the fold of each row: each class is cut into `folds` runs of nearly equal length.

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


def _fold(dataset: Dataset, part: Split, scale: Scale) -> Fold:
    """Return the arrays of one fit, encoded by its training rows alone."""
    features, labels = dataset.features, labels_of(dataset)
    with naming(dataset.reference):
        encode = encoder(dataset, part.train, scale).transform
        train, validation, test = (
            (encode(features.iloc[rows]), labels[rows])
            for rows in (part.train, part.validation, part.test)
        )
    return Fold(*train, *validation, *(test if len(part.test) else (None, None)))


def _task(dataset: Dataset) -> Literal["classification", "regression"]:
    return "regression" if dataset.task == "regression" else "classification"
