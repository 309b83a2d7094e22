"""The vectorised form of `FeatureMap`: it encodes columns as their rows one by one would be."""

import heapq
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leaseboard.algorithms.array_types import Doubles, Floats
from leaseboard.algorithms.online.hashing import hash_name
from leaseboard.algorithms.tables.features import BUCKETS, MOST_VALUES, FeatureMap
from leaseboard.algorithms.tables.gaps import MISSING, fill_gaps, indicator
from leaseboard.algorithms.tables.values import (
    LONGEST_LABEL,
    WEEKDAYS,
    WORDS,
    YEAR_COSINE,
    YEAR_SINE,
    date_parts,
    words_of,
)

Places = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Texts:
    """A column of texts: the place of each row's text among `values`, -1 where it is missing."""

    codes: Places
    values: Sequence[str]


Column = Doubles | NDArray[np.datetime64] | Texts
"""Numbers, of which NaN is missing, dates in microseconds, or texts."""


@dataclass(frozen=True, slots=True)
class _ColumnPart:
    """Features of a column: one number, or one of several keys for its texts.

    `begins` has the first row of each key.
    """

    column: str
    keys: list[str]
    begins: dict[str, int]
    numbers: Doubles | None = None
    codes: Places | None = None


class ColumnFeatures(FeatureMap):
    """A `FeatureMap` that encodes whole columns, to the bit as it encodes their rows in order.

    Notes
    -----
    Only rows with which a feature begins are read one by one, by `FeatureMap` itself: the first
    one with a value, with each text or bucket of texts, and with the gaps for which an indicator
    may be there.
    """

    def encode(
        self, columns: Mapping[str, Column], *, learns: bool
    ) -> tuple[Floats, NDArray[np.intp]]:
        """Encode the rows of `columns`.

        Parameters
        ----------
        columns : dict
            Of equal lengths.
        learns : bool
            Give new features a place, and let each row be part of what fills later gaps;
            otherwise each of the rows is taken for the next one.

        Returns
        -------
        rows : ndarray of float32, shape (n_rows, n_features)
        begins : ndarray of int, shape (n_features,)
            The row with which each feature begins; it is 0 before.
        """
        lengths = (len(c.codes if isinstance(c, Texts) else c) for c in columns.values())
        n_rows = max(lengths, default=0)
        parts = [
            part
            for name, column in columns.items()
            for part in self._parts(name, column, learns=learns)
        ]
        begins = np.zeros(self.n_features, dtype=np.intp)
        if learns:
            for row in self._growing(columns, parts):
                new = self.n_features - len(begins)
                begins = np.append(begins, np.full(new, row))
        rows = np.zeros((n_rows, self.n_features), dtype=np.float32)
        for part in parts:
            self._write(part, rows, begins, learns=learns)
        for begin in np.unique(begins):
            # A column that is not there yet teaches its gaps nothing.
            some = np.flatnonzero(begins == begin)
            block, gaps = np.take(rows[begin:], some, axis=1), np.take(self._gaps, some, axis=1)
            fill_gaps(block, gaps, learns)
            rows[begin:, some], self._gaps[:, some] = block, gaps
        return rows, begins

    def _parts(self, name: str, column: Column, *, learns: bool) -> Iterator[_ColumnPart]:
        """Take a column apart into its features."""
        if isinstance(column, Texts):
            yield from self._texts(name, column, learns=learns)
        elif column.dtype.kind == "M":
            missing = np.isnat(column)
            found = date_parts(np.where(missing, 0, column.astype(np.int64)))
            hours = [*map(str, range(24))]
            for part, texts, codes in (
                ("hour", hours, np.where(found.hour, found.hour, -1)),
                ("weekday", WEEKDAYS, found.weekday),
            ):
                known = Texts(np.where(missing, -1, codes), texts)
                yield self._keyed(name, f"{name} {part}", known, learns=learns)
            for part, numbers in (
                ("year sine", YEAR_SINE[found.yearday]),
                ("year cosine", YEAR_COSINE[found.yearday]),
                ("days", found.days),
            ):
                yield _number(name, f"{name} {part}", np.where(missing, np.nan, numbers))
        else:
            yield _number(name, name, column.astype(np.float64, copy=False))

    def _texts(self, name: str, column: Texts, *, learns: bool) -> Iterator[_ColumnPart]:
        """Yield the categories of texts, and their words from the first long one on."""
        start: Any = 0
        before = np.zeros(len(column.codes), dtype=bool)
        if ("", f"{name} words#0") not in self._columns:
            long = np.array([len(text) > LONGEST_LABEL for text in column.values] + [False])
            at, start = long[column.codes], len(column.codes)
            before = ~at  # only predicted, a long text changes nothing of other rows
            if learns and at.any():
                start = np.argmax(at)
                before[start:] = False
        yield self._keyed(
            name, name, Texts(np.where(before, column.codes, -1), column.values), learns=learns
        )
        if start < len(column.codes):
            used, places = np.unique(column.codes[start:], return_inverse=True)
            texts = [words_of(name, column.values[code] if code >= 0 else "") for code in used]
            counts = np.array([[float(count) for _, count in words] for words in texts])
            rows = np.full((len(column.codes), WORDS), np.nan)
            rows[start:] = counts[places]
            for place in range(WORDS):
                yield _number(name, f"{name} words#{place}", rows[:, place])

    def _keyed(self, column: str, name: str, texts: Texts, *, learns: bool) -> _ColumnPart:
        """Name the feature of each text, as `FeatureMap` names them in the order of the rows."""
        used, first = np.unique(texts.codes, return_index=True)
        keys, made, begins = [""] * len(texts.values), set[str](), dict[str, int]()
        count = self._n_values["", column, name[len(column) + 1 :]]
        for place in np.argsort(first):
            code = used[place]
            if code < 0:
                continue
            key = f"{name}={texts.values[code]}"
            if key not in made and ("", key) not in self._columns and count >= MOST_VALUES:
                key = f"{name}=#{hash_name(texts.values[code], 0) % BUCKETS}"
            if learns and key not in made and ("", key) not in self._columns:
                made.add(key)
                count += 1
            keys[code] = key
            begins.setdefault(key, int(first[place]))
        return _ColumnPart(column, keys, begins, codes=texts.codes)

    def _growing(self, columns: Mapping[str, Column], parts: list[_ColumnPart]) -> Iterator[int]:
        """Give features a place, in the order of the rows; yield each row that has new ones."""
        due, waiting = defaultdict[int, set[str]](set), dict[str, tuple[str, Places]]()
        for part in parts:
            for key, row in part.begins.items():
                if ("", key) not in self._columns:
                    due[row].add(part.column)
            if part.numbers is not None and np.isnan(part.numbers).any():
                waiting[part.keys[0]] = part.column, np.flatnonzero(np.isnan(part.numbers))
        queue, grown = [*due], -1
        heapq.heapify(queue)
        self._await_gaps(waiting, grown, due, queue)
        while queue:
            row = heapq.heappop(queue)
            if row not in due:
                continue
            values = self.values({name: _value(columns[name], row) for name in due.pop(row)})
            unknown = self.unknown(values)
            if unknown:
                self.add(unknown)
                yield row
                self._await_gaps(waiting, row, due, queue)

    def _await_gaps(
        self,
        waiting: dict[str, tuple[str, Places]],
        row: int,
        due: dict[int, set[str]],
        queue: list[int],
    ) -> None:
        """Let the next gaps after `row` be read of columns that may have an indicator of them."""
        if self._n_indicators >= self.n_features // self.few:
            return
        for name, (column, gaps) in list(waiting.items()):
            if ("", indicator(name)) in self._columns:
                del waiting[name]
            elif ("", name) in self._columns:
                later = gaps[np.searchsorted(gaps, row, side="right") :]
                if len(later):
                    due[int(later[0])].add(column)
                    heapq.heappush(queue, int(later[0]))

    def _write(self, part: _ColumnPart, rows: Floats, begins: Places, *, learns: bool) -> None:
        """Write a part's features into their columns."""
        if part.codes is not None:
            columns = [self._columns.get(("", key)) for key in part.keys]
            places = [-1 if each is None else each.place for each in columns]
            at = np.array([*places, -1], dtype=np.intp)[part.codes]
            there = np.flatnonzero(at >= 0)
            rows[there, at[there]] = 1.0
            return
        assert part.numbers is not None
        (name,), numbers = part.keys, part.numbers
        known = self._columns.get(("", name))
        if known is None:
            return
        place, gaps = known.place, np.isnan(numbers)
        gaps[: begins[place]] = False
        if name != part.column and known.origin.part == "days":
            days = numbers[~np.isnan(numbers)]
            if learns and len(days):
                self._begins.setdefault(("", name), float(days[0]))
            numbers = numbers - self._begins.get(("", name), numbers)
        rows[begins[place] :, place] = numbers[begins[place] :]
        marked = self._columns.get(("", indicator(name)))
        if marked is not None and marked.origin.part == MISSING:
            gaps[: begins[marked.place]] = False
            rows[gaps, marked.place] = 1.0


def _number(column: str, key: str, numbers: Doubles) -> _ColumnPart:
    """Return a feature that is a number, which begins with its first value."""
    rows = np.flatnonzero(~np.isnan(numbers))[:1].tolist()
    return _ColumnPart(column, [key], dict(zip([key], rows, strict=False)), numbers=numbers)


def _value(column: Column, row: int) -> Any:
    """Return the value of a row as an example has it."""
    if isinstance(column, Texts):
        code = column.codes[row]
        return None if code < 0 else column.values[code]
    return float(column[row]) if column.dtype.kind == "f" else column[row]
