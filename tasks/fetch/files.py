"""Data files: parquet, csv, arff and libsvm; every error is one line that names the file."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from leaseboard.algorithms.errors import DataError, UsageError, short, unknown
from leaseboard.algorithms.tables.values import FALSE, TRUE
from leaseboard.tasks.fetch.columns import as_dates, is_numeral
from leaseboard.tasks.fetch.dataset import RawTable

if TYPE_CHECKING:
    import pyarrow as pa

GAPS = ("", "?", "NA", "NaN", "nan", "null")
"""Texts of a csv that are missing values in every column."""

NUMBERS_GAPS = (
    *GAPS, "-", "--", ".", "N/A", "n/a", "n.a.", "N.A.", "NULL", "None", "<NA>", "-NaN", "-nan",
    "#N/A", "#N/A N/A", "#NA", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN",
)  # fmt: skip
"""And in columns of numbers, booleans and dates: pandas' own, dashes and a point."""

SEPARATORS = ",;\t|"
"""Separators of a csv: the one that occurs most in its header is its own."""

WRITE_AGAIN = "write the file again, or name another"
"""Fix of a file that cannot be read."""

TEXTS = "string[pyarrow]"
"""Type of the columns that `as_written` reads from a csv."""

_MOST_DENSE_BYTES = 4 << 30  # libsvm is sparse; a dense table beyond this is surely a mistake


def read(name: str, texts: Collection[str] = ()) -> RawTable:
    """Return the table in the file `name`; its suffix says the format.

    Columns of a csv that are among `texts` are texts, also if they look like numbers.
    """
    path = Path(name).expanduser()
    reader = reader_of(path, name)
    frame = read_csv(path, texts) if reader is read_csv else reader(path)
    return RawTable(frame, path.stem, source=path.name, by_hand=True)


def as_written(path: Path) -> pd.DataFrame:
    """Return the table in a file with every value unchanged, to be passed through.

    A csv gives texts, parquet Arrow's own types; None marks missing values. The values of other
    formats are those of `read`.
    """
    import pyarrow as pa

    reader = reader_of(path, str(path))
    if reader is read_parquet:
        return _parquet(path, types_mapper=pd.ArrowDtype)
    if reader is not read_csv:
        return reader(path)
    layout, text = _layout(path), pa.string()
    names = _arrow_table(path, layout, {}).column_names
    table = _arrow_table(path, layout, dict.fromkeys(names, text), gaps=[""])
    return table.to_pandas().astype(TEXTS)


def reader_of(path: Path, name: str) -> Reader:
    """Return the reader of a file; UsageError unless it can be opened and its format is known."""
    if not path.is_file():
        raise UsageError(f"{name}: no such file: name one that is there")
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise unknown(f"file format of {name}:", path.suffix or "(none)", READERS)
    if not os.access(path, os.R_OK):
        raise UsageError(f"{name}: cannot be read: permission denied")
    return reader


def read_parquet(path: Path) -> pd.DataFrame:
    """Read a parquet file."""
    # Column by column, each freed once it is converted: one copy in memory, not two.
    return _parquet(path, split_blocks=True, self_destruct=True, date_as_object=False)


def _parquet(path: Path, **conversion: Any) -> pd.DataFrame:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path, memory_map=True) as file:
            nested = [each for each in file.schema_arrow if pa.types.is_nested(each.type)]
            table = None if nested else file.read()
        if table is not None:
            table.validate(full=True)  # texts that are not UTF-8, codes of no category
            frame = table.to_pandas(**conversion)
            named = [name for name in frame.index.names if name is not None]
            frame = frame.reset_index(level=named).reset_index(drop=True)
            return frame.set_axis(frame.columns.map(str), axis=1)
    except (  # also what metadata in the place of pandas' lead to
        pa.ArrowException, OSError, ValueError, LookupError, TypeError, AttributeError,
    ) as error:  # fmt: skip
        raise DataError(
            f"{path}: not a readable parquet file: {_first_line(error)}: {WRITE_AGAIN}"
        ) from error
    raise DataError(
        f"{path}: column {short(nested[0].name)!r} holds {short(str(nested[0].type))}: a column"
        " has one value a row, so make columns of its parts or drop it"
    )


def read_csv(path: Path, texts: Collection[str] = ()) -> pd.DataFrame:
    """Read a csv file in UTF-8 with a header line.

    The separator is a comma, semicolon, tab or bar, or what a first line ``sep=`` says.

    Every line must have as many values as the header: a short one is an error, not a missing
    value. Missing values are `GAPS`, and in columns of numbers, booleans and dates `NUMBERS_GAPS`.
    Where commas do not separate, those in a column of numbers like ``1,5`` are decimal points.
    """
    import pyarrow as pa

    layout = _layout(path)
    types = {name: pa.string() for name in texts}
    table = _arrow_table(path, layout, types)
    if "" in table.column_names:
        raise DataError(
            f"{path}: column {table.column_names.index('') + 1} has no name, as the index that"
            " pandas writes by default: give it a name in the header, or write the file with"
            " index=False"
        )
    zoned = [field for field in table.schema if getattr(field.type, "tz", None)]
    if zoned:  # Arrow moves them to UTC; what the clock shows is in the text
        types |= {field.name: pa.string() for field in zoned}
        table = _arrow_table(path, layout, types)
    for column in table.schema:
        if pa.types.is_binary(column.type):  # what Arrow makes of text that is not UTF-8
            raise DataError(f"{path}: column {column.name!r} is not UTF-8: convert the file")
    if all(is_numeral(name) for name in table.column_names):
        raise DataError(f"{path}: no header line: the first line holds only numbers, add names")
    may_have_commas = layout[0] != "," and any(
        pa.types.is_string(column.type) and column.name not in texts for column in table.schema
    )
    commas = _arrow_table(path, layout, types, point=",") if may_have_commas else table
    for place, column in enumerate(table.schema):
        is_text = column.name in texts
        if pa.types.is_string(column.type) and pa.types.is_floating(commas[place].type):
            table = table.set_column(place, column.name, commas[place])
        elif pa.types.is_string(column.type):
            different = _without(NUMBERS_GAPS, table[place].unique()).to_pandas()
            gaps = GAPS if is_text or as_dates(different) is None else NUMBERS_GAPS
            table = table.set_column(place, column, _without(gaps, table[place]))
        elif pa.types.is_null(column.type):
            table = table.set_column(place, column.name, table[place].cast(pa.float64()))
    # Unlike a dict of columns this keeps duplicate names.
    return table.to_pandas(split_blocks=True, self_destruct=True, date_as_object=False)


def _arrow_table(
    path: Path,
    layout: tuple[str, int],
    types: Mapping[str, Any],
    gaps: Collection[str] | None = None,
    point: str = ".",
) -> pa.Table:
    import pyarrow as pa
    from pyarrow import csv

    separator, skipped = layout
    parsing = csv.ParseOptions(delimiter=separator, newlines_in_values=True)
    converting = csv.ConvertOptions(
        null_values=NUMBERS_GAPS if gaps is None else gaps,
        strings_can_be_null=gaps is not None,
        true_values=TRUE,
        false_values=FALSE,
        column_types=types,
        decimal_point=point,
    )
    for threads in (True, False):  # without threads an error has the number of its row
        reading = csv.ReadOptions(use_threads=threads, skip_rows=skipped)
        try:
            table = csv.read_csv(path, reading, parsing, converting)
            _ = table.column_names  # an error for names that are not UTF-8
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            # Without the value: the message is read by others, too.
            said = re.sub(r"(got \d+|invalid value).*", r"\1", _first_line(error))
            uneven = "give each row as many cells as the first one"
            fix = uneven if "Expected" in said else WRITE_AGAIN
            failure = DataError(f"{path}: malformed csv: {said}: {fix}")
        else:
            return table
    raise failure


def _without(gaps: Collection[str], column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return texts, null where one is among `gaps`."""
    import pyarrow as pa
    import pyarrow.compute as pc

    missing = pc.is_in(column, value_set=pa.array(gaps, pa.string()))
    return pc.if_else(missing, pa.scalar(None, pa.string()), column)


def read_arff(path: Path) -> pd.DataFrame:
    """Read an arff file; declared nominal values keep their order, and ``?`` is missing."""
    import arff

    try:
        with path.open(encoding="utf-8") as lines:
            content = arff.load(_plain_arff(lines))
        kinds = dict(content["attributes"])
        frame = pd.DataFrame(content["data"], columns=list(kinds), dtype=object)
        for name, kind in kinds.items():
            if isinstance(kind, list):
                frame[name] = pd.Categorical(frame[name], categories=kind)
            elif kind.upper() in ("NUMERIC", "REAL", "INTEGER"):
                frame[name] = frame[name].astype(np.float64)
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not UTF-8 at byte {error.start}: convert the file") from error
    except arff.BadAttributeType as error:
        raise DataError(
            f"{path}: malformed arff: {_first_line(error)} A type is numeric, real, integer,"
            " string or {a, list, of, values}: make a date a number"
        ) from error
    except (arff.ArffException, ValueError, IndexError) as error:
        raise DataError(f"{path}: malformed arff: {_first_line(error)}: {WRITE_AGAIN}") from error
    return frame


_DECLARED = re.compile(
    r"""(?i)\s*(@attribute\s+(?:'(?:\\.|[^'])*'|"(?:\\.|[^"])*"|\S+)\s+"""
    r"""(?:numeric|real|integer))\s*(?:\[[^]]*\])?\s*(?:%.*)?$"""
)
"""A column of numbers, after which Weka allows a range and a comment."""
_COMMENTED = re.compile(r"""((?:'(?:\\.|[^'])*'|"(?:\\.|[^"])*"|[^'"%])*)%.*""", re.DOTALL)


def _plain_arff(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines of an arff file without what liac-arff does not read.

    These are ranges and comments behind declarations, and tabs between values.
    """
    in_data = False
    for line in lines:
        if in_data:
            yield line if "," in line else line.replace("\t", ",")
        elif line.lstrip().lower().startswith("@data"):
            in_data = True
            yield line
        elif declared := _DECLARED.match(line):
            yield f"{declared[1]}\n"
        elif line.lstrip().startswith("@") and (commented := _COMMENTED.fullmatch(line)):
            yield f"{commented[1]}\n"
        else:
            yield line


def read_libsvm(path: Path) -> pd.DataFrame:
    """Read a libsvm file as a dense table of float32, columns ``f1`` ... and at last ``label``.

    A column is called by its index, so that all files of a dataset agree; index 0 is optional.
    """
    from sklearn.datasets import load_svmlight_file

    try:
        matrix, labels = load_svmlight_file(str(path), dtype=np.float32, zero_based=True)
    except (ValueError, OverflowError) as error:
        raise DataError(
            f"{path}: malformed libsvm: {_first_line(error)}: {WRITE_AGAIN}"
        ) from error
    if len(labels) and not matrix.nnz:  # scikit-learn makes up a column of zeros
        raise DataError(f"{path}: no features: no line has an index:value: {WRITE_AGAIN}")
    first = int(matrix.indices.all())  # 0 if that is an index here
    matrix = matrix[:, first:]
    size = 4 * matrix.shape[0] * matrix.shape[1]
    if size > _MOST_DENSE_BYTES:
        raise DataError(
            f"{path}: {matrix.shape[1]} columns need {size / 2**30:.0f} GiB as a dense table: "
            "select columns first"
        )
    names = [f"f{i}" for i in range(first, first + matrix.shape[1])]
    frame = pd.DataFrame(matrix.toarray(), columns=names)
    frame["label"] = labels.astype(np.float64)
    return frame


def zeros(path: Path, absent: Iterable[str]) -> dict[str, float]:
    """Return 0 for each `absent` column that the format of a file leaves out where all is 0."""
    is_sparse = READERS.get(path.suffix.lower()) is read_libsvm
    return {name: 0.0 for name in absent if is_sparse and re.fullmatch(r"f(0|[1-9]\d*)", name)}


Reader = Callable[[Path], pd.DataFrame]

READERS: dict[str, Reader] = {
    ".parquet": read_parquet,
    ".pq": read_parquet,
    ".csv": read_csv,
    ".tsv": read_csv,
    ".arff": read_arff,
    ".libsvm": read_libsvm,
    ".svm": read_libsvm,
    ".svmlight": read_libsvm,
}


def _layout(path: Path) -> tuple[str, int]:
    """Return the separator of a csv, and the number of lines before its header."""
    with path.open("rb") as file:
        line = file.readline()
    if not line.strip():
        raise DataError(
            f"{path}: 0 rows: the file is empty or begins with an empty line: put the names of the"
            " columns into its first line, and rows below"
        )
    try:
        first = line.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not UTF-8 at byte {error.start}: convert the file") from error
    header = re.sub(r'"[^"]*"?', "", first)  # without what is in quotes
    if first.lower().startswith("sep=") and len(first.rstrip("\r\n")) == 5:
        return first[4], 1
    separator = max(SEPARATORS[:-1], key=header.count)  # a bar may be part of a name
    return separator if separator in header or "|" not in header else "|", 0


def _first_line(error: Exception) -> str:
    return short((str(error).splitlines() or [type(error).__name__])[0])
