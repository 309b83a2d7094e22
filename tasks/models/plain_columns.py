"""What the columns of a table hold, and what a model of streams takes of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import pandas as pd

from leaseboard.algorithms.errors import DataError
from leaseboard.tasks.fetch import columns
from leaseboard.tasks.fetch.dataset import MOST_CLASSES, infer_task
from leaseboard.tasks.models.columns import as_dates, as_numbers, as_texts
from leaseboard.tasks.preprocess.stream_encoder import FLAGS, is_flag, text_of


def kinds_of(frame: pd.DataFrame) -> dict[str, str]:
    """What each column holds; empty for one that is missing in all rows."""
    return {name: kind_of(frame[name]) for name in frame}


def kind_of(column: pd.Series) -> str:
    """``number``, ``date`` or ``text``; empty if all is missing."""
    if column.isna().all():
        return ""
    tidy = columns.tidy(column)
    if columns.is_date(tidy):
        return "date"
    texts = columns.is_nominal(tidy) or columns.is_text(tidy)
    return "text" if texts and not is_flag(tidy) else "number"


def plain(frame: pd.DataFrame, known: Mapping[str, str]) -> pd.DataFrame:
    """The columns as numbers, dates, and texts as they are; DataError for another kind."""
    found = {}
    for name, column in frame.items():
        kind = known.get(str(name)) or kind_of(column)
        if kind == "number":
            found[name] = flags_or_numbers(column)
        elif kind == "date":
            found[name] = as_dates(column)
        else:
            if name not in known:
                columns.refuse_few_words(column)
            found[name] = as_texts(column).map(text_of, na_action="ignore").astype(object)
    return pd.DataFrame(found, frame.index)


def flags_or_numbers(column: pd.Series) -> pd.Series:
    """A column as numbers, of which true and false are 1 and 0, however they are written."""
    if columns.is_nominal(column) or columns.is_text(column):
        column = column.astype(object).map(lambda value: FLAGS.get(str(value), value))
    return as_numbers(column)


def refuse_many_numbers(target: pd.Series, classes: Sequence[str]) -> None:
    """DataError for many reals as labels, where few whole numbers were taken for `classes`."""
    if not classes or not all(name.lstrip("-").isdecimal() for name in classes):
        return
    n_values = target.nunique()
    if n_values > MOST_CLASSES and infer_task(target) == "regression":
        raise DataError(
            f"target {target.name!r} now has {n_values} different numbers, such as"
            f" {target.iloc[-1]}, and the model takes whole numbers such as {classes[0]} for"
            " classes: learn a new model of all tables with --task regression"
        )


@contextmanager
def data_errors() -> Iterator[None]:
    """What an example or a label must be is told as a fault of the table."""
    try:
        yield
    except (TypeError, ValueError) as error:
        raise DataError(str(error)) from error
