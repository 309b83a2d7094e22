"""What every source yields, a `RawTable`, and what `load` makes of it, a checked `Dataset`."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leaseboard.algorithms.errors import DataError, UsageError, unknown
from leaseboard.algorithms.seeds import generator
from leaseboard.tasks.fetch import columns, references
from leaseboard.tasks.fetch.references import Reference

MOST_CLASSES = 20
"""A numeric target of whole numbers with at most so many different values is nominal."""


@dataclass(slots=True)
class RawTable:
    """Data as a source gave them, before any option of the reference is applied.

    `target` is the target's column name, None for the last column; `task` is what the source
    says of it, None if it says nothing.
    """

    frame: pd.DataFrame
    name: str
    target: str | None = None
    task: str | None = None
    source: str = ""
    licence: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Dataset:
    """A data set ready for preprocessing; rows and columns stand in the source's order."""

    reference: str
    """What `leaseboard.tasks.fetch.load` was asked for."""
    name: str
    """The data set's own name."""
    features: pd.DataFrame
    """Numbers, booleans, dates, categories, or text; values may be missing."""
    target: pd.Series
    """float64 for a regression; categories, each of which occurs, for a classification."""
    task: str
    """``regression`` or ``classification``."""
    digest: str
    """Of the content, see `digest_of`."""
    source: str = ""
    licence: str = ""
    """Where the data come from, and under which terms."""
    rows_available: int | None = None
    """Rows of the source before any option left some out; None where that is not known."""


@dataclass(frozen=True, slots=True)
class General:
    """The options that every source takes, as values; None where one is not given."""

    rows: int | None
    first_rows: int | None
    target: str | None
    task: str | None
    threshold: float | None
    missing_target: str | None

    @classmethod
    def of(cls, reference: Reference) -> General:
        """Those of `reference`; UsageError for a value out of range or two that contradict."""
        found = cls(
            rows=references.whole_number(reference, "rows", least=1),
            first_rows=references.whole_number(reference, "first_rows", least=1),
            target=reference.options.get("target"),
            task=references.choice(reference, "task", references.TASKS),
            threshold=references.number(reference, "threshold"),
            missing_target=references.choice(reference, "missing_target", ("drop",)),
        )
        if found.rows is not None and found.first_rows is not None:
            raise UsageError(
                f"{reference}: rows draws a sample and first_rows takes the first rows: give one"
            )
        if found.threshold is not None and found.task == "regression":
            raise UsageError(
                f"{reference}: a threshold makes two classes of the target, so the task cannot "
                "be regression: drop one of the two options"
            )
        return found


def finish(table: RawTable, reference: Reference, text: str) -> Dataset:
    """Apply the general options of `reference` to `table` and check what must hold.

    Raises DataError: fewer than two rows or than are asked for, no features, duplicate column
    names; a target that is absent, constant, has missing values, holds dates, or is not numeric
    though the task is regression.
    """
    options = General.of(reference)
    frame = table.frame.iloc[: options.first_rows]
    _check_shape(frame, text)
    if options.first_rows is not None and options.first_rows > len(frame):
        raise too_many("first_rows", options.first_rows, len(frame), text)
    column = _target_column(frame, options.target or table.target, text)
    if options.missing_target == "drop":
        frame = frame[frame[column].notna()]
        _check_shape(frame, text)
    if reference.source in ("file", "imported"):  # others have been looked through
        for name in frame:
            if name != column or options.task is None:
                columns.refuse_few_words(frame[name])
    target, task = _target(frame[column].rename(str(column)), options, table.task, text)
    if options.rows is not None:
        rows = sampled(target, options.rows, text, by_class=task == "classification")
        frame, target = frame.iloc[rows], target.iloc[rows].reset_index(drop=True)
        _check_shape(frame, text)
    _check_varies(target, options.threshold, text)
    features = columns.tidy_frame(frame.drop(columns=column))
    return Dataset(
        reference=text,
        name=table.name,
        features=features,
        target=target,
        task=task,
        digest=digest_of(features, target, task),
        source=table.source,
        licence=table.licence,
        # With `first_rows` a reader stops there, so how many more there are is not known.
        rows_available=len(table.frame) if options.first_rows is None else None,
    )


def _target(
    column: pd.Series, options: General, declared: str | None, text: str
) -> tuple[pd.Series, str]:
    """The target as numbers or classes, and the task that it makes."""
    target = columns.tidy(column.reset_index(drop=True))
    refuse_dates(target, text)
    _check_present(target, text)
    task = options.task or declared or infer_task(target)
    if options.threshold is not None:
        return _two_classes(target, options.threshold, text), "classification"
    if task == "regression":
        return _as_numbers(target, text), task
    return columns.as_classes(target), task


def refuse_dates(target: pd.Series, text: str) -> None:
    """DataError if a target holds dates, which are neither classes nor numbers of a unit."""
    if columns.is_date(target):
        raise DataError(
            f"{text}: target {target.name!r} holds dates, and is to be numbers or classes: make it"
            " a number, such as days since a day of yours, or name another target"
        )


def infer_task(target: pd.Series) -> str:
    """The task by the target's kind, where neither the user nor the source says it.

    Nominal, boolean and text targets are classes. Whole numbers with at most `MOST_CLASSES`
    different values are classes, too; all other numbers make a regression.

    Raises DataError for more different texts than that which are all numbers as people write them,
    such as ``$151.47``: they were meant to be numbers, and would be that many classes.
    """
    if not columns.is_number(target):
        _refuse_dressed_numbers(target)
        return "classification"
    values = target.to_numpy()
    if not np.isfinite(values).all() or (values != np.floor(values)).any():
        return "regression"
    return "classification" if target.nunique() <= MOST_CLASSES else "regression"


def _refuse_dressed_numbers(target: pd.Series) -> None:
    known = target.dropna().unique() if not columns.is_nominal(target) else target.cat.categories
    texts = [text for text in known if isinstance(text, str)]
    if len(texts) <= MOST_CLASSES or len(texts) < len(known):
        return
    dressed = [text for text in texts if columns.is_dressed_numeral(text)]
    if dressed and all(columns.is_numeral(text) for text in set(texts) - set(dressed)):
        raise DataError(
            f"target {str(target.name)!r} has {len(texts)} different texts that are written like"
            f" numbers, such as {dressed[0]!r}: write digits and a decimal point alone, 151.47;"
            " or say task=classification (--task classification) if they are names of classes"
        )


def _check_shape(frame: pd.DataFrame, text: str) -> None:
    names = frame.columns.map(str)
    if names.has_duplicates:
        twice = names[names.duplicated()][0]
        raise DataError(f"{text}: column name {twice!r} occurs twice: names must be unique")
    if frame.shape[1] < 2:
        raise DataError(
            f"{text}: no features: at least one column beside the target is needed, "
            f"there {'is' if frame.shape[1] == 1 else 'are'} {frame.shape[1]} in all"
        )
    if len(frame) < 2:
        raise DataError(
            f"{text}: {len(frame)} row{'s' * (len(frame) != 1)}: at least two are needed"
        )


def _target_column(frame: pd.DataFrame, name: str | None, text: str) -> object:
    """The label in `frame` of the column called `name`, the last one where it is None."""
    if name is None:
        return frame.columns[-1]
    by_name = {str(column): column for column in frame.columns}
    if name not in by_name:
        raise DataError(f"{text}: {unknown('target column', name, list(by_name)[:50])}")
    return by_name[name]


def _check_present(target: pd.Series, text: str) -> None:
    missing = int(target.isna().sum())
    if missing:
        raise DataError(
            f"{text}: target {target.name!r} is missing (NaN) in {missing} of {len(target)} rows: "
            "drop those rows with missing_target=drop"
        )


def _as_numbers(target: pd.Series, text: str, *, why: str = "a regression's") -> pd.Series:
    try:
        if columns.is_nominal(target):  # digits that a file declares as nominal
            target = target.astype(object)
        numbers = target.astype("float64")
    except (TypeError, ValueError) as error:
        raise DataError(
            f"{text}: target {target.name!r} is not numeric, as {why} must be: name another "
            "column with target=, or leave the target's own classes with task=classification"
            " and no threshold"
        ) from error
    if columns.is_infinite(numbers.to_numpy()):
        raise DataError(
            f"{text}: target {target.name!r} has infinite values (beyond 3.4e38): drop those rows,"
            " or rescale the target"
        )
    return numbers


def _two_classes(target: pd.Series, threshold: float, text: str) -> pd.Series:
    above = _as_numbers(target, text, why="one with a threshold").to_numpy() >= threshold
    labels = [f"<{threshold:g}", f">={threshold:g}"]
    classes = pd.Categorical.from_codes(above.astype(np.int8), labels)
    return columns.as_classes(pd.Series(classes, name=target.name))


def _check_varies(target: pd.Series, threshold: float | None, text: str) -> None:
    if target.nunique() < 2:
        at = "" if threshold is None else f" at threshold {threshold:g}"
        raise DataError(
            f"{text}: target {target.name!r} is constant{at} (always {target.iloc[0]}): "
            "there is nothing to learn; name another column with target=, or, where other labels"
            " come later, let `leaseboard learn` make a stream's model"
        )


def sampled(target: pd.Series, rows: int, text: str, *, by_class: bool) -> NDArray[np.intp]:
    """The places of `rows` rows, drawn without replacement, in the source's order.

    Each class has its share of them, and at least one row. The seed is fixed, so that a reference
    names one table: another sample would be other data.

    Raises
    ------
    DataError
        There are not so many rows, or more classes than rows are asked for.
    """
    n_rows = len(target)
    if rows > n_rows:
        raise too_many("rows", rows, n_rows, text)
    rng = generator("sample of rows")
    if not by_class:
        return np.sort(rng.permutation(n_rows)[:rows])
    codes = columns.as_classes(target).cat.codes.to_numpy()
    counts = np.bincount(codes)
    if rows < len(counts):
        raise DataError(
            f"{text}: rows={rows} of {len(counts)} classes: ask for at least a row of each, or"
            " take first_rows"
        )
    kept = [
        rng.permutation(np.flatnonzero(codes == code))[:share]
        for code, share in enumerate(shares(counts, rows))
    ]
    return np.sort(np.concatenate(kept))


def too_many(option: str, asked: int, there: int, text: str) -> DataError:
    """The error for an `option` that asks for more rows than are there."""
    return DataError(
        f"{text}: {option}={asked} of {there} rows: ask for at most {there}, or leave {option} out"
        " for all of them"
    )


def shares(counts: NDArray[np.intp], rows: int) -> NDArray[np.intp]:
    """How many of `rows` rows each class gets: its share of `counts`, rounded, at least one.

    Examples
    --------
    >>> shares(np.array([900, 99, 1]), 100).tolist()
    [90, 9, 1]
    """
    quota = counts * (rows / counts.sum())
    given = np.maximum(np.floor(quota), 1.0)
    while given.sum() < rows:
        given[(quota - given).argmax()] += 1
    while given.sum() > rows:
        given[np.where(given > 1, given - quota, -np.inf).argmax()] -= 1
    return given.astype(np.intp)


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
