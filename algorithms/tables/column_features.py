"""The vectorised form of `FeatureMap`: it encodes columns as their rows one by one would be."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leaseboard.algorithms.online.hashing import hash_name
from leaseboard.algorithms.tables.features import BUCKETS, MOST_VALUES, FeatureMap
from leaseboard.algorithms.tables.gaps import MISSING, fill_gaps, indicator
from leaseboard.algorithms.tables.values import (
    LONGEST_LABEL,
    WEEKDAYS,
    WORDS,
    date_parts,
    words_of,
)

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
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
    """Features of a column: one number, or one of several keys where it has a text."""

    column: str
    keys: list[str]
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
        births : ndarray of int, shape (n_features,)
            The row with which each feature begins; it is 0 before.
        """
        n_rows = max((len(c.codes if isinstance(c, Texts) else c) for c in columns.values()),
                     default=0)  # fmt: skip
        parts = [part for name, column in columns.items()
                 for part in self._parts(name, column, learns=learns)]  # fmt: skip
        births = np.zeros(self.n_features, dtype=np.intp)
        if learns:
            for row in self._growing(columns, parts):
                new = self.n_features - len(births)
                births = np.append(births, np.full(new, row))
        rows = np.zeros((n_rows, self.n_features), dtype=np.float32)
        for part in parts:
            self._write(part, rows, births, learns=learns)
        self._last = None
        for birth in np.unique(births):
            # A column that is not there yet teaches its gaps nothing.
            some = np.flatnonzero(births == birth)
            block, gaps = np.take(rows[birth:], some, axis=1), np.take(self._gaps, some, axis=1)
            fill_gaps(block, gaps, learns)
            rows[birth:, some], self._gaps[:, some] = block, gaps
        return rows, births

    def _parts(self, name: str, column: Column, *, learns: bool) -> Iterator[_ColumnPart]:
        """Take a column apart into its features."""
        if isinstance(column, Texts):
            yield from self._texts(name, column, learns=learns)
        elif column.dtype.kind == "M":
            missing = np.isnat(column)
            found = date_parts(np.where(missing, 0, column.astype(np.int64)))
            hours, months = map(str, range(24)), map(str, range(13))
            for part, texts, codes in (
                ("hour", [*hours], np.where(found.hour, found.hour, -1)),
                ("weekday", WEEKDAYS, found.weekday),
                ("month", [*months], found.month),
            ):
                known = Texts(np.where(missing, -1, codes), texts)
                yield self._keyed(name, f"{name} {part}", known, learns=learns)
            yield _ColumnPart(name, [f"{name} days"], np.where(missing, np.nan, found.days))
        else:
            yield _ColumnPart(name, [name], column.astype(np.float64, copy=False))

    def _texts(self, name: str, column: Texts, *, learns: bool) -> Iterator[_ColumnPart]:
        """Yield the categories of texts, and their words from the first long one on."""
        start: Any = 0
        before = np.zeros(len(column.codes), dtype=bool)
        if ("", f"{name} words#0") not in self._columns:
            long = np.array([len(text) > LONGEST_LABEL for text in column.values] + [False])
            at, start = long[column.codes], len(column.codes)
            before = ~at  # only forecast, a long text changes nothing of other rows
            if learns and at.any():
                start = np.argmax(at)
                before[start:] = False
        yield self._keyed(
            name, name, Texts(np.where(before, column.codes, -1), column.values), learns=learns
        )
        if start < len(column.codes):
            used, places = np.unique(column.codes[start:], return_inverse=True)
            told = [words_of(name, column.values[code] if code >= 0 else "") for code in used]
            counts = np.array([[float(count) for _, count in words] for words in told])
            rows = np.full((len(column.codes), WORDS), np.nan)
            rows[start:] = counts[places]
            for place in range(WORDS):
                yield _ColumnPart(name, [f"{name} words#{place}"], rows[:, place])

    def _keyed(self, column: str, name: str, texts: Texts, *, learns: bool) -> _ColumnPart:
        """Name the feature of each text, as `FeatureMap` names them in the order of the rows."""
        used, first = np.unique(texts.codes, return_index=True)
        keys, made = [""] * len(texts.values), set[str]()
        count = self._n_values["", column, name[len(column) + 1 :]]
        for code in used[np.argsort(first)]:
            if code < 0:
                continue
            key = f"{name}={texts.values[code]}"
            if key not in made and ("", key) not in self._columns and count >= MOST_VALUES:
                key = f"{name}=#{hash_name(texts.values[code], 0) % BUCKETS}"
            if learns and key not in made and ("", key) not in self._columns:
                made.add(key)
                count += 1
            keys[code] = key
        return _ColumnPart(column, keys, codes=texts.codes)

    def _growing(self, columns: Mapping[str, Column], parts: list[_ColumnPart]) -> Iterator[int]:
        """Give features a place, in the order of the rows; yield each row that has new ones."""
        due, waiting = defaultdict[int, set[str]](set), dict[str, tuple[str, Places]]()
        for part in parts:
            for row in self._first_rows(part):
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

    def _first_rows(self, part: _ColumnPart) -> list[int]:
        """Return the rows with which the features of a part begin that have no place."""
        if part.numbers is not None:
            known = ("", part.keys[0]) in self._columns
            return [] if known else np.flatnonzero(~np.isnan(part.numbers))[:1].tolist()
        assert part.codes is not None
        used, first = np.unique(part.codes, return_index=True)
        rows: dict[str, int] = {}
        for code, row in zip(used.tolist(), first.tolist(), strict=True):
            if code >= 0 and ("", part.keys[code]) not in self._columns:
                rows[part.keys[code]] = min(row, rows.get(part.keys[code], row))
        return list(rows.values())

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

    def _write(self, part: _ColumnPart, rows: Floats, births: Places, *, learns: bool) -> None:
        """Write a part's features into their columns."""
        if part.codes is not None:
            places = [self._columns.get(("", key), -1) for key in part.keys]
            at = np.array([*places, -1], dtype=np.intp)[part.codes]
            known = np.flatnonzero(at >= 0)
            rows[known, at[known]] = 1.0
            return
        assert part.numbers is not None
        (name,), numbers = part.keys, part.numbers
        place = self._columns.get(("", name))
        if place is None:
            return
        gaps = np.isnan(numbers)
        gaps[: births[place]] = False
        if name != part.column and self._origins[place].part == "days":
            told = numbers[~np.isnan(numbers)]
            if learns and len(told):
                self._begins.setdefault(("", name), float(told[0]))
            numbers = numbers - self._begins.get(("", name), numbers)
        rows[births[place] :, place] = numbers[births[place] :]
        told_at = self._columns.get(("", indicator(name)))
        if told_at is not None and self._origins[told_at].part == MISSING:
            gaps[: births[told_at]] = False
            rows[gaps, told_at] = 1.0


def _value(column: Column, row: int) -> Any:
    """Return the value of a row as an example has it."""
    if isinstance(column, Texts):
        code = column.codes[row]
        return None if code < 0 else column.values[code]
    return float(column[row]) if column.dtype.kind == "f" else column[row]
