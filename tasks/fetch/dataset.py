"""The `RawTable` of a source, and the checked `Dataset` that `load` makes of it."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, model_validator

from leaseboard.algorithms.errors import DataError, unknown
from leaseboard.algorithms.seeds import generator
from leaseboard.tasks.fetch import columns
from leaseboard.tasks.fetch.data_facts import facts_of

Count = Annotated[int, Field(ge=1)]
Finite = Annotated[float, Field(allow_inf_nan=False)]
Task = Literal["regression", "classification"]


class Options(BaseModel):
    """Options that every source takes; generators add their own."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    rows: Count | None = None
    """A sample of so many rows."""
    first_rows: Count | None = None
    target: str | None = None
    """The target's column; by default the last one, or what the source names."""
    task: Task | None = None
    threshold: Finite | None = None
    """Makes two classes of a numeric target."""
    missing_target: Literal["drop"] | None = None

    @model_validator(mode="after")
    def _agree(self) -> Self:
        if self.rows is not None and self.first_rows is not None:
            raise ValueError("rows draws a sample and first_rows takes the first rows: give one")
        if self.threshold is not None and self.task == "regression":
            raise ValueError("a threshold makes two classes: drop one of the two options")
        return self


MOST_CLASSES = 20
"""A numeric target of whole numbers with at most so many different values is nominal."""


_DRESS = re.compile(r"^[$€£¥]? ?|[ ,.'\u2019\u00a0\u202f](?=\d{3}(?!\d))| ?[%$€£¥]?$")
"""What people write around and within numbers: currencies, per cent, thousands apart."""
_UNIT = re.compile(r"(?<=\d) [^\W\d]{1,5}$")
"""What they write after all of them, such as EUR or kg."""


@dataclass(slots=True)
class RawTable:
    """Data of a source, before any option of the reference is applied.

    `target` is the target's column name, None for the last column; `task` is what the source
    says of it, None if it says nothing.
    """

    frame: pd.DataFrame
    name: str
    target: str | None = None
    task: str | None = None
    source: str = ""
    licence: str = ""
    by_hand: bool = False
    """It may have mistakes, such as texts among numbers; others have been looked through."""


@dataclass(frozen=True, slots=True, eq=False)
class Dataset:
    """Dataset ready for preprocessing; rows and columns are in the source's order."""

    reference: str
    """Argument of `leaseboard.tasks.fetch.loading.load`."""
    name: str
    """The dataset's own name."""
    features: pd.DataFrame
    """Numbers, booleans, dates, categories, or text; values may be missing."""
    target: pd.Series
    """float64 for a regression; categories, each of which occurs, for a classification."""
    task: Task
    digest: str
    """Of the content, see `digest_of`."""
    source: str = ""
    licence: str = ""
    """Where the data come from, and under which terms."""
    rows_available: int = 0
    """Rows of the source before any option left some out."""
    split: str | None = None
    """How its rows are divided, see `leaseboard.tasks.preprocess.splits.SplitBy`."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """See `leaseboard.tasks.fetch.data_facts`."""


def finish(table: RawTable, options: Options, text: str) -> Dataset:
    """Apply the options of the reference `text` to `table` and check what must hold.

    Raises DataError: fewer than two rows or than are asked for, no features, duplicate column
    names; a target that is absent, constant, has missing values, holds dates, or is not numeric
    though the task is regression.
    """
    frame = table.frame.iloc[: options.first_rows]
    _check_shape(frame, text)
    if options.first_rows is not None and options.first_rows > len(frame):
        raise too_many("first_rows", options.first_rows, len(frame), text)
    name, by_name = options.target or table.target, {str(each): each for each in frame}
    if name not in (None, *by_name):
        raise DataError(f"{text}: {unknown('target column', name, by_name)}")
    column = frame.columns[-1] if name is None else by_name[name]
    if options.missing_target == "drop":
        frame = frame[frame[column].notna()]
        _check_shape(frame, text)
    if table.by_hand:
        for name in frame:
            if name != column or options.task is None:
                columns.refuse_unclear(frame[name])
    target, task = _target(frame[column].rename(str(column)), options, table.task, text)
    if options.rows is not None:
        rows = sampled(target, options.rows, text, by_class=task == "classification")
        frame, target = frame.iloc[rows], target.iloc[rows].reset_index(drop=True)
        _check_shape(frame, text)
    if target.nunique() < 2:
        at = "" if options.threshold is None else f" at threshold {options.threshold:g}"
        raise DataError(
            f"{text}: target {target.name!r} is constant{at} (always {target.iloc[0]}): "
            "there is nothing to learn; name another column with target=, or, where other labels"
            " come later, let `leaseboard learn` make a stream's model"
        )
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
        rows_available=len(table.frame),
        facts=facts_of(features, target),
    )


def _target(
    column: pd.Series, options: Options, declared: str | None, text: str
) -> tuple[pd.Series, Task]:
    """Return the target as numbers or classes, and the task."""
    target = columns.tidy(column.reset_index(drop=True))
    refuse_dates(target, text)
    if missing := int(target.isna().sum()):
        raise DataError(
            f"{text}: target {target.name!r} is missing (NaN) in {missing} of {len(target)} rows: "
            "drop those rows by an option of the data, as in file.csv?missing_target=drop"
        )
    task = options.task or declared or infer_task(target)
    if (threshold := options.threshold) is not None:
        above = _as_numbers(target, text, why="one with a threshold").to_numpy() >= threshold
        labels = [f"<{threshold:g}", f">={threshold:g}"]
        classes = pd.Categorical.from_codes(above.astype(np.int8), labels)
        return columns.as_classes(pd.Series(classes, name=target.name)), "classification"
    if task == "regression":
        return _as_numbers(target, text), "regression"
    return columns.as_classes(target), "classification"


def refuse_dates(target: pd.Series, text: str) -> None:
    """Raise DataError if a target holds dates, which are not classes or numbers of a unit."""
    if columns.is_date(target):
        raise DataError(
            f"{text}: target {target.name!r} holds dates, and is to be numbers or classes: make it"
            " a number, such as days since a day of yours, or name another target"
        )


def infer_task(target: pd.Series) -> str:
    """Return the task by the target's kind, where neither the user nor the source says it.

    Nominal, boolean and text targets are classes. Whole numbers with at most `MOST_CLASSES`
    different values are classes, too; all other numbers make a regression.

    Raises DataError for more different texts than that which are all numbers as people write them,
    such as ``$151.47``: they were meant to be numbers, and would be that many classes.
    """
    if columns.kind_of(target) not in ("integer", "number"):
        _refuse_dressed_numbers(target)
        return "classification"
    values = target.to_numpy()
    if not np.isfinite(values).all() or (values != np.floor(values)).any():
        return "regression"
    return "classification" if target.nunique() <= MOST_CLASSES else "regression"


def _refuse_dressed_numbers(target: pd.Series) -> None:
    different = target.dropna().unique()
    if len(different) <= MOST_CLASSES:
        return
    units = {found[0] if (found := _UNIT.search(str(text))) else "" for text in different}
    unit = units.pop() if len(units) == 1 else ""
    bare = [_DRESS.sub("", str(text).removesuffix(unit)) for text in different]
    if all(map(columns.is_numeral, bare)) and not all(map(columns.is_numeral, different)):
        raise DataError(
            f"target {str(target.name)!r} has {len(different)} different texts that are written"
            f" like numbers, such as {different[0]!r}: write digits and a decimal point alone,"
            " 151.47; or say task=classification (--task classification) if they are names of"
            " classes"
        )


def _check_shape(frame: pd.DataFrame, text: str) -> None:
    names = frame.columns.map(str)
    if names.has_duplicates:
        twice = names[names.duplicated()][0]
        raise DataError(f"{text}: column name {twice!r} occurs twice: rename one")
    if frame.shape[1] < 2:
        raise DataError(
            f"{text}: {frame.shape[1]} column{'s' * (frame.shape[1] != 1)}, and a table needs the"
            " target and at least one feature: add a column, or check what separates the cells"
        )
    if len(frame) < 2:
        raise DataError(
            f"{text}: {len(frame)} row{'s' * (len(frame) != 1)}: at least two are needed: add rows"
            " below the names of the columns"
        )


def _as_numbers(target: pd.Series, text: str, *, why: str = "a regression's") -> pd.Series:
    try:
        return columns.as_numbers(target).astype("float64")
    except DataError as error:
        raise DataError(
            f"{text}: target {target.name!r} is not numeric, as {why} must be ({error}): name"
            " another column with target=, or take its own classes with task=classification and"
            " no threshold"
        ) from error


def sampled(target: pd.Series, rows: int, text: str, *, by_class: bool) -> NDArray[np.intp]:
    """Return the places of `rows` rows, drawn without replacement, in the source's order.

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
    codes = columns.as_classes(target).cat.codes.to_numpy() if by_class else np.zeros(n_rows, int)
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
    """Return the error for an `option` that asks for more rows than there are."""
    return DataError(
        f"{text}: {option}={asked} of {there} rows: ask for at most {there}, or leave {option} out"
        " for all of them"
    )


def shares(weights: Sequence[float], rows: int, least: int = 1) -> NDArray[np.intp]:
    """Return how many of `rows` rows each class gets: its share by `weights`, at least one.

    Shares are rounded down, then the largest remainders up.

    - `least`: 0 for parts that may be empty.

    Examples
    --------
    >>> shares([900, 99, 1], 100).tolist(), shares([0.64, 0.16, 0.20], 10, least=0).tolist()
    ([90, 9, 1], [6, 2, 2])
    """
    quota = np.array(weights) * (rows / np.sum(weights))
    given = np.maximum(np.floor(quota + 1e-9), least)
    while given.sum() < rows:
        given[(quota - given).argmax()] += 1
    while given.sum() > rows:
        given[np.where(given > least, given - quota, -np.inf).argmax()] -= 1
    return given.astype(np.intp)


_VERSION = "leaseboard-data-1"
_BLOCK = 1 << 18  # rows converted at once: the wide copy of a narrow column stays small


def digest_of(features: pd.DataFrame, target: pd.Series, task: str) -> str:
    """Return a digest of column names, their order, kinds and values, the target and the task.

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
    """Return the SHA-256 of a file's bytes, as catalogues give it."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _column(hasher: Any, column: pd.Series) -> None:
    more: list[list[str]] = []
    nominal = columns.is_nominal(column)
    values = column.cat.codes.to_numpy() if nominal else column.to_numpy()
    if nominal:
        kind, dtype = "nominal", "<i4"
        more = [[str(label) for label in column.cat.categories]]
    elif columns.is_date(column):
        kind, dtype, values = "date", "<i8", values.view(np.int64)
    elif columns.is_text(column):
        values, texts = pd.factorize(column)
        kind, dtype, more = "text", "<i4", [[str(text) for text in texts]]
    elif pd.api.types.is_bool_dtype(column.dtype):
        kind, dtype = "boolean", "<i1"
    elif (
        values.dtype.kind == "f"
        or values.dtype.itemsize < 8
        or (column.min() >= -(2**53) and column.max() <= 2**53)  # of integers all are doubles
    ):
        kind, dtype = "number", "<f8"
    elif values.dtype.kind == "u" and column.max() > np.iinfo(np.int64).max:
        kind, dtype = "natural", "<u8"
    else:
        kind, dtype = "integer", "<i8"
    _header(hasher, kind, str(column.name), *more)
    for start in range(0, len(values), _BLOCK):
        block = np.ascontiguousarray(values[start : start + _BLOCK], dtype=dtype)
        if dtype == "<f8":
            block = np.where(np.isnan(block), np.nan, block + 0.0)  # -0.0 + 0.0 is 0.0
        hasher.update(block.tobytes())


def _header(hasher: Any, *parts: Any) -> None:
    # JSON delimits the parts: no two different headers run together to the same bytes.
    hasher.update(json.dumps(parts).encode() + b"\n")
