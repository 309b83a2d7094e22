"""Seeded splits of a dataset's rows by ratio, stratified for classes."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from leaseboard.algorithms import seeds
from leaseboard.algorithms.errors import DataError
from leaseboard.tasks.fetch.dataset import Dataset, digest_of

Rows = NDArray[np.int64]

PAPER_RATIOS = (0.64, 0.16, 0.20)
"""Training, validation and test shares of Rising Bandits (Li et al. 2020)."""


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """Row numbers of each part, ascending, so that a part keeps the data's order.

    Together the parts hold every row once; `validation` is empty where only two were asked for.
    """

    train: Rows
    validation: Rows
    test: Rows


def split(dataset: Dataset, ratios: Sequence[float] = PAPER_RATIOS, seed: int = 0) -> Split:
    """Return random parts of the rows: training, validation and test, or training and test.

    `ratios`: three shares, or two, that sum to one; sizes are rounded to whole rows.

    Returns
    -------
    Split
        For a classification each part has each class in its share, give or take one row; and
        every class has a row for training, so that none is met for the first time in a test.
    """
    labels = np.zeros(len(dataset.target), dtype=np.int64)
    if dataset.task == "classification":
        labels = dataset.target.cat.codes.to_numpy().astype(np.int64)
    parts = deal(labels, quotas(len(labels), ratios), seeds.generator(seed, "split"))
    rows = [np.flatnonzero(parts == part) for part in range(len(ratios))]
    for share, part in zip(ratios, rows, strict=True):
        if share > 0 and not len(part):
            raise DataError(
                f"{dataset.reference}: {_rows(labels)} are too few to give {share:.0%} of them "
                "a row: use more data, or other ratios"
            )
    empty = np.empty(0, dtype=np.int64)
    return Split(*rows) if len(rows) == 3 else Split(rows[0], empty, rows[1])


def split_by_column(dataset: Dataset, column: str) -> tuple[Dataset, Rows, Rows]:
    """Return the dataset without `column`, and the rows where that says ``train`` and ``test``.

    For datasets that carry their authors' own split.
    """
    said = dataset.features[column].astype(str)
    wrong = sorted(set(said) - {"train", "test"})
    if wrong:
        raise DataError(f"{dataset.reference}: column {column!r} must say train or test, "
                        f"not {wrong[0]!r}")  # fmt: skip
    features = dataset.features.drop(columns=column)
    digest = digest_of(features, dataset.target, dataset.task)
    rest = replace(dataset, features=features, digest=digest)
    return rest, np.flatnonzero(said == "train"), np.flatnonzero(said == "test")


def quotas(n_rows: int, ratios: Sequence[float]) -> list[int]:
    """Return the number of rows of each part: shares rounded down, then the largest remainders up.

    Examples
    --------
    >>> quotas(10, (0.64, 0.16, 0.20))
    [6, 2, 2]
    """
    exact = np.array(ratios) * n_rows
    sizes = np.floor(exact + 1e-9).astype(int)
    for part in np.argsort(sizes - exact, kind="stable")[: n_rows - sizes.sum()]:
        sizes[part] += 1
    return [int(size) for size in sizes]


def deal(labels: Rows, sizes: Sequence[int], rng: np.random.Generator) -> NDArray[np.int64]:
    """Return the part of each row: dealt class by class to parts in an evenly spread order.

    - `labels`, shape (n,)
    - `sizes`: the parts' sizes, which sum to n.
    """
    order = rng.permutation(len(labels))
    order = order[np.argsort(labels[order], kind="stable")]  # class by class, random within
    firsts = np.flatnonzero(np.diff(labels[order], prepend=-1))  # one of each class to train on
    parts = np.zeros(len(labels), dtype=np.int64)
    others = np.delete(order, firsts)
    left = [max(sizes[0] - len(firsts), 0), *sizes[1:]]
    places = np.concatenate([(np.arange(size) + 0.5) / max(size, 1) for size in left])
    cards = np.repeat(np.arange(len(left)), left)[np.argsort(places, kind="stable")]
    parts[others] = cards[: len(others)]
    return parts


def _rows(labels: NDArray[np.int64]) -> str:
    """Return the number of rows in words, and what each class needs for training first."""
    n_classes = len(np.unique(labels))
    if n_classes == 1:
        return f"{len(labels)} rows"
    return f"{len(labels)} rows of {n_classes} classes, each with a row for training,"
