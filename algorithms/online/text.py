"""Vowpal Wabbit's text format, read by a compiled parser that rounds as VW's own does.

The grammar is ``[label [importance]] [tag] |namespace[:scale] feature[:value] ... |...``, a line
an example. Not accepted are an initial prediction and a feature that is repeated in a line.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from algorithms.benches.stream import Origin
from algorithms.online.features import FeatureMap, Key
from algorithms.online.text_scan import (
    ANONYMOUS,
    BLANKS,
    DONE,
    FIRST,
    LAST,
    LINE,
    MALFORMED,
    NAME_FIRST,
    NAME_LAST,
    POSITION,
    SEPARATORS,
    UNKNOWN_FEATURE,
    hash_bytes,
    scan,
    scatter,
)
from algorithms.online.values import LARGEST


@dataclass(frozen=True, slots=True)
class Block:
    """Examples read from text.

    Attributes
    ----------
    labels : ndarray of float32, shape (n_examples,)
        NaN where a line has none.
    importances : ndarray of float32, shape (n_examples,)
    rows : ndarray of float32, shape (n_examples, n_features)
    """

    labels: NDArray[np.float32]
    importances: NDArray[np.float32]
    rows: NDArray[np.float32]


def read_text(text: str | bytes, features: FeatureMap) -> tuple[Block, FeatureMap]:
    """The examples of `text`, and `features` with a column for every feature in it.

    What only examples of importance 0 have gets none.

    Raises
    ------
    ValueError
        With the number of the line that is not in the format.

    Examples
    --------
    >>> block, features = read_text("1.5 |a x:2 y |b :0.5", FeatureMap())
    >>> block.labels.tolist(), block.rows.tolist(), features.schema().features
    ([1.5], [[2.0, 1.0, 0.5]], ('x', 'y', '0'))
    """
    data = text.encode() if isinstance(text, str) else text
    reader = _Reader(np.frombuffer(data, dtype=np.uint8), features)
    return reader.read(), reader.features


class _Reader:
    """The part of the parser that knows names: it answers what the compiled part asks."""

    def __init__(self, text: NDArray[np.uint8], features: FeatureMap) -> None:
        self.text = text
        self.given, self.features = features, features.extended({})
        self.added: list[Key] = []
        self.state = np.zeros(8, dtype=np.int64)
        n_lines = int(np.count_nonzero(text == ord("\n"))) + 1
        n_values = 1 + sum(int(np.count_nonzero(text == byte)) for byte in BLANKS)
        self.columns = np.zeros(n_values, dtype=np.int32)
        self.values = np.zeros(n_values, dtype=np.float32)
        self.ends = np.zeros(n_lines, dtype=np.int64)
        self.labels = np.full(n_lines, np.nan, dtype=np.float32)
        self.importances = np.ones(n_lines, dtype=np.float32)
        self.answers: dict[int, tuple[float, int]] = {}
        self.size = 0
        self._index(16)

    def read(self) -> Block:
        while True:
            done = int(self.state[POSITION])
            self.answers = {at: given for at, given in self.answers.items() if at >= done}
            places = np.array(list(self.answers), dtype=np.int64)
            found = np.array([value for value, _ in self.answers.values()], dtype=np.float32)
            stops = np.array([stop for _, stop in self.answers.values()], dtype=np.int64)
            reason = scan(
                self.text, self.state, self.keys, self.homes, self.columns, self.values,
                self.ends, self.labels, self.importances, places, found, stops,
            )  # fmt: skip
            if reason == DONE:
                break
            if reason == MALFORMED:
                raise ValueError(self._complaint())
            if reason == UNKNOWN_FEATURE:
                self._learn_name()
            else:
                self._convert()
        n_lines = int(self.state[LINE])
        rows = np.zeros((n_lines, self.features.n_features), dtype=np.float32)
        repeated = scatter(self.columns, self.values, self.ends[:n_lines], rows)
        if repeated >= 0:
            raise ValueError(f"example {repeated + 1} has a feature twice: add its values up")
        weighs = self.importances[:n_lines] > 0
        if self.added and not weighs.all():
            rows = rows[
                :, self._learned(np.repeat(weighs, np.diff(self.ends[:n_lines], prepend=0)))
            ]
        return Block(self.labels[:n_lines], self.importances[:n_lines], rows)

    def _learned(self, weighs: NDArray[np.bool_]) -> list[int]:
        """Forget the new features of which no value `weighs`; the columns that are left."""
        known = self.given.n_features
        seen = self.columns[: len(weighs)][weighs]
        new = list(dict.fromkeys(seen[seen >= known].tolist()))
        added = [self.added[column - known] for column in new]
        self.features = self.given.extended({key: Origin(key[1]) for key in added})
        return [*range(known), *new]

    def _index(self, size: int) -> None:
        """An open hash table from names to columns, at most half full."""
        names = self.features.text_keys()
        while size < 2 * len(names):
            size *= 2
        self.keys = np.zeros(size, dtype=np.uint64)
        self.homes = np.full(size, -1, dtype=np.int64)
        self.size = 0
        for key, column in names.items():
            self._insert(key, column)

    def _insert(self, name: Key, column: int) -> None:
        joined = np.frombuffer("|".join(name).encode(), dtype=np.uint8)
        key = hash_bytes(joined, 0, len(joined), np.uint64(0))
        place = int(key) & (len(self.keys) - 1)
        while self.homes[place] >= 0:
            place = (place + 1) & (len(self.keys) - 1)
        self.keys[place], self.homes[place] = key, column
        self.size += 1

    def _learn_name(self) -> None:
        """Give the feature at which the parser stopped a column."""
        name = self._key()
        self.features.add({name: Origin(name[1])})
        self.added.append(name)
        if 2 * self.size >= len(self.keys):
            self._index(2 * len(self.keys))
        else:
            self._insert(name, self.features.n_features - 1)

    def _key(self) -> Key:
        space = self._slice(FIRST, LAST) or " "
        anonymous = int(self.state[ANONYMOUS])
        return space, str(anonymous) if anonymous >= 0 else self._slice(NAME_FIRST, NAME_LAST)

    def _convert(self) -> None:
        """A number that needs more care than VW's own fast way, as ``strtod`` reads it."""
        start = int(self.state[NAME_FIRST])
        stop = start
        while stop < len(self.text) and self.text[stop] not in SEPARATORS:
            stop += 1
        token = self.text[start:stop].tobytes().decode(errors="replace").strip()
        try:
            value = float.fromhex(token) if "x" in token.lower() else float(token)
        except ValueError:
            raise ValueError(f"line {int(self.state[LINE]) + 1}: {token!r} is no number") from None
        if not abs(value) <= LARGEST:
            raise ValueError(f"line {int(self.state[LINE]) + 1}: {token!r} is not finite")
        self.answers[start] = (value, stop)

    def _complaint(self) -> str:
        at = int(self.state[NAME_FIRST])
        around = self.text[at : at + 20].tobytes().decode(errors="replace").splitlines()
        return (
            f"line {int(self.state[LINE]) + 1} is not in VW's text format at"
            f" {around[0] if around else 'its end'!r}: write 'label |namespace feature:value'"
        )

    def _slice(self, first: int, last: int) -> str:
        return self.text[self.state[first] : self.state[last]].tobytes().decode()
