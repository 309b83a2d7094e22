"""A search as it runs: its rows to train on and to validate on, its audit, MLflow kept out."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.model_selection import GroupKFold, PredefinedSplit, StratifiedGroupKFold, check_cv
from sklearn.utils import column_or_1d
from sklearn.utils.validation import assert_all_finite

from leaseboard.algorithms.audit import Auditor
from leaseboard.algorithms.base import Algorithm, Environment, play
from leaseboard.algorithms.errors import DataError
from leaseboard.algorithms.events import Event
from leaseboard.algorithms.seeds import generator
from leaseboard.algorithms.tables.column_types import complete_labels
from leaseboard.tasks.fetch import columns
from leaseboard.tasks.fetch.dataset import shares
from leaseboard.tasks.preprocess.splits import deal

Rows = NDArray[np.intp]

FOLDS = 5
HOLDOUT = 0.2
CELLS_A_SECOND = 8_000
"""Rows times features (times classes) which 5 folds of each arm leave time for in a second of
budget: measured on two dozen tables with the arms of space ``tables``, see benchmarks."""
REGRESSION = 4
"""Classes as which a regression counts: its trees grow to single rows, and ask most features at
each node where those of classes ask the square root."""


@dataclass(frozen=True, slots=True, eq=False)
class Validation:
    """Row numbers of each fit.

    `bagged`: whether the models of the folds together are the model: every one has seen half of
    the rows at least, and no row validates twice. Otherwise a fit on all rows is.
    """

    train: tuple[Rows, ...]
    validation: tuple[Rows, ...]
    bagged: bool

    @property
    def in_order(self) -> bool:
        """Whether fits validate later rows than they learn, and the last one the last rows."""
        pairs = [*zip(self.train, self.validation, strict=True)]
        later = all(rows.max() < others.min() for rows, others in pairs)
        return not self.bagged and later and pairs[0][1].max() < pairs[-1][1].min()


def complete_target(search: Any, y: Any) -> NDArray[Any]:
    """Return the labels that a `search` is given; ValueError if some are missing."""
    if y is None:
        name = type(search).__name__
        raise DataError(f"{name} requires y to be passed, but the target y is None")
    target: NDArray[Any] = column_or_1d(complete_labels(y), warn=True)
    assert_all_finite(target, input_name="y")
    return target


def folds_of(
    cv: Any,
    target: NDArray[Any],
    *,
    codes: NDArray[np.int64] | None,
    groups: Any,
    X: Any,
    seed: int,
    counted: NDArray[np.bool_],
) -> Validation:
    """Return the folds that `cv` asks for.

    - `cv`: a number of folds; a share of the rows, for one fit; a splitter of scikit-learn; or
      pairs of row numbers.
    - `target`: as scikit-learn's splitters get it.
    - `codes`: the classes of a classification.
    - `counted`: which of the rows that were given these are; `groups`, pairs and a
      `PredefinedSplit` are of all that were given.

    Raises ValueError for what cannot be split so.
    """
    if groups is not None:
        groups = _numbered(groups, len(counted))[counted]
    number = isinstance(cv, (int, np.integer)) and not isinstance(cv, bool)
    splitter = cv
    if groups is not None and (number or isinstance(cv, float)):
        splitter = _of_groups(int(cv) if number else FOLDS, groups, codes is not None, seed)
    elif number:
        splitter = PredefinedSplit(_k_folds(int(cv), len(target), codes, seed))
    elif isinstance(cv, float):
        splitter = PredefinedSplit(_holdout(cv, len(target), codes, seed))
    pairs = list(check_cv(splitter, target, classifier=codes is not None).split(X, target, groups))
    if not pairs:
        raise ValueError(f"cv={cv!r} of {len(target)} rows leaves none to validate on: give more")
    if isinstance(cv, PredefinedSplit) or not hasattr(splitter, "split"):
        pairs = [(_among(counted, a), _among(counted, b)) for a, b in pairs]
    for number, (rows, others) in enumerate(pairs):
        if not len(rows) or not len(others):
            raise ValueError(f"split {number} of cv={cv!r} has no rows to train or to validate on")
        if np.intersect1d(rows, others).size:
            raise ValueError(
                f"split {number} of cv has rows both to train and to validate on: their scores"
                " would be those of rows that were seen, give other rows"
            )
    train, validation = zip(*pairs, strict=True)
    every = np.concatenate(validation)
    once = len(np.unique(every)) == len(every)
    enough = min(map(len, train)) >= len(target) // 2
    return Validation(train, validation, bagged=len(pairs) > 1 and once and enough)


def default_cv(n_rows: int, n_features: int, n_classes: int, seconds: float) -> int | float:
    """Return 5 folds where a budget of so many seconds has time for it, else a share of 80 %.

    `n_classes`: 0 for a regression.
    """
    fits = REGRESSION if n_classes == 0 else n_classes if n_classes > 2 else 1
    cells = n_rows * n_features * fits
    return FOLDS if cells <= CELLS_A_SECOND * seconds and n_rows >= 2 * FOLDS else HOLDOUT


def warn_of_dates(frame: pd.DataFrame, folds: Validation, fix: str) -> None:
    """Warn if columns hold dates, and by none of them rows are validated after those trained on.

    `fix`: what to do, to follow the warning.
    """
    every = [columns.as_dates(column) for _, column in frame.items()]
    dates = [column for column in every if column is not None]

    def in_order(times: pd.Series) -> bool:
        pairs = zip(folds.train, folds.validation, strict=True)
        return all(times.iloc[a].max() <= times.iloc[b].min() for a, b in pairs)

    if dates and not any(map(in_order, dates)):
        name = dates[0].name
        warnings.warn(
            f"column {name!r} holds dates, and rows are shuffled across them: scores are of rows"
            f" among those that are learned, not of later ones: {fix}",
            stacklevel=4,
        )


def _numbered(groups: Any, n_rows: int) -> Rows:
    """Return the number of each row's group; rows without a name are one group."""
    names = column_or_1d(groups, dtype=object)
    if len(names) != n_rows:
        raise ValueError(f"X has {n_rows} samples and groups has {len(names)}: name each row's")
    return pd.factorize(names, use_na_sentinel=False)[0]


def _among(counted: NDArray[np.bool_], given: Any) -> Rows:
    """Return the numbers of rows among those counted; `given` may be a mask, or from the end."""
    try:
        rows = np.arange(len(counted))[np.asarray(given) if len(given) else slice(0)]
    except IndexError as error:
        raise ValueError(
            f"cv names rows that X, with {len(counted)} samples, does not have: {error}"
        ) from error
    return np.cumsum(counted)[rows[counted[rows]]] - 1


def _of_groups(n_folds: int, groups: Any, classes: bool, seed: int) -> Any:
    """Return a splitter that never divides the rows of a group."""
    n_groups = len(np.unique(groups))
    if n_groups < 2:
        raise ValueError("groups has one group: rows of at least two are needed to validate")
    kind = StratifiedGroupKFold if classes else GroupKFold
    return kind(min(n_folds, n_groups), shuffle=True, random_state=seed)


def _holdout(share: float, n_rows: int, codes: NDArray[np.int64] | None, seed: int) -> Rows:
    """Return 0 for the rows to validate on, of each class its share, and -1 for the others."""
    if not 0 < share < 1:
        raise ValueError(f"cv={share} must lie between 0 and 1, or be a number of folds")
    classes = np.zeros(n_rows, dtype=np.int64) if codes is None else codes
    sizes = shares((1 - share, share), n_rows, least=0)
    parts = deal(classes, sizes, generator(seed, "validation"))
    return parts.astype(np.intp) - 1


def _k_folds(n_folds: int, n_rows: int, codes: NDArray[np.int64] | None, seed: int) -> Rows:
    """Return the fold of each row: each class is dealt evenly, its only row is in none (-1)."""
    if not 2 <= n_folds <= n_rows:
        raise ValueError(f"cv={n_folds}: give 2 to {n_rows} folds, a share, or a splitter")
    order = generator(seed, "validation").permutation(n_rows)
    if codes is not None:
        order = order[np.argsort(codes[order], kind="stable")]
    fold_of = np.empty(n_rows, dtype=np.intp)
    fold_of[order] = np.arange(n_rows) % n_folds
    if codes is not None:
        fold_of[np.bincount(codes)[codes] == 1] = -1
    return fold_of


def audited(
    name: str, algorithm: Algorithm[Any], env: Environment, seed: int, log: list[Event]
) -> Auditor:
    """Run an algorithm; return the auditor of its events, which are appended to `log`."""
    auditor = Auditor()
    for event in play(name, algorithm, env, seed):
        auditor(event)
        log.append(event)
    auditor.close()
    return auditor
