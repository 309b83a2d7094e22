"""Splits of a dataset's rows by ratio: random and stratified for classes, by time, or by group."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from leaseboard.algorithms import seeds
from leaseboard.algorithms.errors import DataError, UsageError, unknown
from leaseboard.tasks.fetch import columns
from leaseboard.tasks.fetch.dataset import Dataset, digest_of, shares

Rows = NDArray[np.int64]

PAPER_RATIOS = (0.64, 0.16, 0.20)
"""Training, validation and test shares of Rising Bandits (Li et al. 2020)."""


SplitBy = Annotated[str, Field(pattern=r"\A(random|time(=.+)?|group=.+)\z")] | None
"""``random``; ``time``, of the only column of dates, or ``time=COLUMN``; ``group=COLUMN``; None:
by time where exactly one column holds dates, in every row and not always the same, else random."""


class SplitOptions(BaseModel):
    """Options of an environment that divides rows."""

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="forbid")

    split: SplitBy = None
    """Which rows are held out, and how folds are made: ``random``, ``time``, ``time=COLUMN`` or
    ``group=COLUMN``. None: ``time`` if exactly one column holds dates, else ``random``."""


@dataclass(frozen=True, slots=True, eq=False)
class Division:
    """Rule by which rows are held out and dealt to folds.

    By time the last rows are held out, and a fold is validated after its training rows (an
    expanding window). Rows of one time, or of one group, are never parted.

    Examples
    --------
    >>> division = Division("time", "day", np.array([2, 0, 1, 1, 3]))
    >>> division.parts((0.8, 0.2)).tolist()
    [0, 0, 0, 0, 1]
    >>> list(division.folds(1))
    [(array([1, 2, 3]), array([0, 4]))]
    """

    kind: str = "random"
    """``random``, ``time`` or ``group``."""
    column: str = ""
    units: Rows = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    """Number of the time of each row, in order, or of its group; empty of random rows."""
    why: str = "asked for"

    def __str__(self) -> str:
        rows = {"time": "the last rows by ", "group": "whole groups by "}.get(
            self.kind, "random rows"
        )
        return f"{rows}{self.column and repr(self.column)} are held out ({self.why})"

    def of(self, rows: Rows | slice) -> "Division":
        """Return the same rule for some of the rows."""
        return replace(self, units=self.units[rows]) if self.column else self

    def parts(self, ratios: Sequence[float], seed: int = 0) -> Rows:
        """Return the part of each row by time or group; DataError if there are too few of these.

        Groups are in random order.
        """
        units = self.units
        if self.kind == "group":
            units = seeds.generator(seed, "groups").permutation(units.max() + 1)[units]
        middles = (pd.Series(units).rank() - 0.5) / len(units)  # rows of one unit share theirs
        parts = np.searchsorted(np.cumsum(ratios)[:-1], middles)
        if len(np.unique(parts)) < len(ratios):
            raise DataError(
                f"column {self.column!r} has too few values to divide {len(units)} rows into"
                f" {len(ratios)} parts by it: ask for split=random, or give more rows"
            )
        return parts

    def folds(self, count: int, blocks: Rows | None = None) -> Iterator[tuple[Rows, Rows]]:
        """Yield the rows that each fold is trained on, and those that it is validated on.

        - `blocks`: the fold of each row, where that is random.
        """
        later = self.kind == "time"
        if self.column:
            n_blocks = count + later
            blocks = self.parts([1 / n_blocks] * n_blocks)
        for fold in range(count):
            trained = blocks <= fold if later else blocks != fold
            yield np.flatnonzero(trained), np.flatnonzero(blocks == fold + later)


def division(dataset: Dataset) -> Division:
    """Return the rule by which the rows of a dataset are divided; UsageError for a wrong column.

    Where the time that was asked for is missing, a row counts as one of the last.
    """
    kind, _, column = (dataset.split or "time").partition("=")
    if kind == "random":
        return Division()
    features, why = dataset.features, "asked for"
    if not column:
        dates = [name for name, each in features.items() if columns.is_date(each)
                 and each.notna().all() and each.nunique() > 1]  # fmt: skip
        if len(dates) != 1:
            found = f"{len(dates) or 'no'} column{'s' * (len(dates) > 1)} of dates without gaps"
            if not dataset.split:
                return Division(why=found)
            raise UsageError(f"split=time, and {found}: write split=time=COLUMN, or random")
        column = str(dates[0])
        why = why if dataset.split else f"guessed from column {column!r}, the only one of dates"
    if column not in features:
        raise unknown("column to split by", column, features.columns)
    values = features[column]
    if kind == "time" and columns.is_named(values):
        raise UsageError(
            f"split=time={column}: texts such as {values.iloc[0]!r} have no order in time: name a"
            f" column of dates or numbers, or keep rows of one value together by group={column}"
        )
    units, _ = pd.factorize(values, sort=kind == "time", use_na_sentinel=False)
    return Division(kind, column, units, why)


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """Row numbers of each part, ascending, so that a part keeps the data's order.

    Together the parts hold every row once; `validation` is empty where only two were asked for.
    """

    train: Rows
    test: Rows
    validation: Rows = field(default_factory=lambda: np.empty(0, dtype=np.int64))


def split(dataset: Dataset, ratios: Sequence[float] = PAPER_RATIOS, seed: int = 0) -> Split:
    """Return parts of the rows: training, validation and test, or training and test.

    `ratios`: three shares, or two, that sum to one; sizes are rounded to whole rows.

    Returns
    -------
    Split
        For a classification each random part has each class in its share, give or take one row;
        and every class has a row for training, so that none is met for the first time in a test.
    """
    rule = division(dataset)
    labels = np.zeros(len(dataset.target), dtype=np.int64)
    if dataset.task == "classification":
        labels = dataset.target.cat.codes.to_numpy().astype(np.int64)
    if rule.kind == "random":
        parts = deal(labels, shares(ratios, len(labels), least=0), seeds.generator(seed, "split"))
    else:
        parts = rule.parts(ratios, seed)
    rows = [np.flatnonzero(parts == part) for part in range(len(ratios))]
    for share, part in zip(ratios, rows, strict=True):
        if share > 0 and not len(part):
            n_classes = len(np.unique(labels))
            classes = f" of {n_classes} classes, each with a row for training," * (n_classes > 1)
            raise DataError(
                f"{dataset.reference}: {len(labels)} rows{classes} are too few to give"
                f" {share:.0%} of them a row: use more data, or other ratios"
            )
    return Split(rows[0], rows[-1], *rows[1:-1])


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
