"""Table files that a model learns or predicts: read, and written with its predictions."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from leaseboard.algorithms.errors import DataError, UsageError
from leaseboard.tasks.fetch import files


def read_rows(path: Path, kinds: Mapping[str, str] | None = None) -> pd.DataFrame:
    """Return the table in a file; a column that was learned as text is read unchanged.

    In a libsvm file an index that does not occur is 0, so columns that were learned are there.

    Raises UsageError, DataError if it cannot be read, or two columns have one name.
    """
    kinds = kinds or {}
    texts = tuple(name for name, kind in kinds.items() if kind == "text")
    frame = files.read(str(path), texts=texts).frame
    frame.columns = frame.columns.map(str)
    twice = frame.columns[frame.columns.duplicated()]
    if len(twice):
        raise DataError(f"{path}: column name {twice[0]!r} occurs twice: rename one")
    if files.is_sparse(path):
        zeros = {name: 0.0 for name in kinds if name not in frame and files.is_index(name)}
        frame = frame.assign(**zeros)
    return frame.reset_index(drop=True)


def pass_through(path: Path, frame: pd.DataFrame, added: pd.DataFrame) -> pd.DataFrame:
    """Return the table in a file with columns added, every value unchanged.

    `frame` is what `read_rows` made of it: a column of a csv that says the same in its own type
    keeps that type.
    """
    written = files.as_written(path).reset_index(drop=True)
    written.columns = written.columns.map(str)
    for name in written:
        if written[name].dtype == files.TEXTS:
            said = frame[name].astype("string").astype(files.TEXTS)
            written[name] = frame[name] if said.equals(written[name]) else written[name]
    taken = [name for name in added if name in written]
    if taken:
        raise UsageError(f"the table has a column {taken[0]!r} of its own: rename it")
    return pd.concat([written, added], axis=1)


def in_own_types(written: pd.DataFrame, frame: pd.DataFrame) -> pd.DataFrame:
    """Return what `pass_through` gave with numbers, flags and dates of a csv in their types.

    For a file that has types: a mark of a gap, such as ``NA`` among numbers, is missing there.
    Ids that a number would change stay texts.
    """
    found = written.copy()
    for name in frame:
        column = frame[name]
        if found[name].dtype == files.TEXTS and column.dtype.kind in "iufbM":
            said = column.astype("string").astype(files.TEXTS)
            if (said.eq(found[name]) | column.isna()).fillna(False).all():
                found[name] = column
    return found


def in_fewest_digits(frame: pd.DataFrame, names: Iterable[str]) -> pd.DataFrame:
    """Return the table for a csv, in which columns of 32 bits among `names` have no more digits.

    A column of 64 bits is unchanged.

    Examples
    --------
    >>> frame = pd.DataFrame({"prediction": np.float64(np.float32([123.4, 0.1]))})
    >>> frame["prediction"].tolist()
    [123.4000015258789, 0.10000000149011612]
    >>> in_fewest_digits(frame, ["prediction"]).to_csv(index=False).split()
    ['prediction', '123.4', '0.1']
    """
    with np.errstate(over="ignore"):  # beyond 32 bits, and so not equal
        narrow = {n: frame[n].astype("float32") for n in names if frame[n].dtype.kind == "f"}
    equal = {name for name, c in narrow.items() if c.astype("float64").equals(frame[name])}
    return frame.assign(**{name: narrow[name] for name in equal})
