"""From dictionaries to dense rows: features and namespaces are learned as they appear."""

import copy
import math
import re
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import astuple, dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from leaseboard.algorithms.online.schema import Origin, Schema, hash_name, murmur3
from leaseboard.algorithms.tables.row_reader import FEW, MISSING, RowReader, indicator, new_gaps
from leaseboard.algorithms.tables.values import (
    LONGEST_LABEL,
    Days,
    Key,
    Values,
    parts_of,
    standard_value,
    words_of,
)

_NOT_IN_VW = re.compile(r"[\s|:]")


def by_name(key: tuple[str, str]) -> tuple[Any, ...]:
    """Return a sort key that puts x2 before x10; different names have different ones."""
    parts = [re.split(r"(\d+)", name) for name in key]
    for part in parts:
        part[1::2] = [f"{len(n := digits.lstrip('0')):09d}{n}" for digits in part[1::2]]
    return parts, key


def vw_name(name: str) -> str:
    """Return `name` without the characters that mean something in VW's text; " " stays."""
    return name if name == " " else _NOT_IN_VW.sub("_", name) or "_"


def letter(place: int) -> str:
    """Return the name of the group at `place`: a, b, c, ..., n26, ..."""
    return chr(ord("a") + place) if place < 26 else f"n{place}"


def code_of(text: str) -> float:
    """Return the code of a text, above 0 and at most 1; those of small numbers are in their order.

    Examples
    --------
    >>> code_of("94110") < code_of("94111"), round(code_of("berlin"), 3)
    (True, 0.89)
    """
    number = hash_name(text, 0)
    # Of numbers that are large the last digits may be alike.
    return ((number if number < CODES else murmur3(text.encode(), 0)) % CODES + 1) / CODES


Example = Mapping[Hashable, Any]
"""``{feature: value}``, or ``{namespace: {feature: value}}``, or both mixed."""

Column = NDArray[np.float64] | NDArray[np.datetime64] | NDArray[np.object_]
"""Numbers, of which NaN is missing, dates in microseconds, or texts, of which None is missing."""

MOST_VALUES = 32
"""A name has a column for so many texts, those that were seen first."""

BUCKETS = 16
"""The columns that all its other texts share."""

CODES = 2**20
"""The numbers that they may have, by which trees distinguish them."""


@dataclass(frozen=True, slots=True)
class Feature:
    """A column of the rows: its place, its namespace, its name for VW, and what it is made of."""

    place: int
    space: str
    name: str
    origin: Origin


class FeatureMap:
    """Columns of examples that come as dictionaries.

    A number is a feature's value; a boolean counts 1 or 0, a duration and a time of day their
    seconds; a text is a nominal value, the feature ``name=text`` with value 1. A date is the texts
    ``name hour`` and ``name weekday``; as numbers, whose order trees need, ``name time of day`` in
    hours and ``name day of week``; ``name year sine`` and ``name year cosine`` of the day of the
    year; and ``name days`` since the first date that was learned. What was never seen before gets
    a column of its own; of a name with more than `MOST_VALUES` texts, later ones share `BUCKETS`
    columns, into which they are hashed; one more has the `code_of` each, and one is 0, in whose
    place `leaseboard.algorithms.online_automl.safe.texts` puts the text's effect. From the first
    text of more than `LONGEST_LABEL` characters on, a name's texts are free text: their words,
    hashed into `WORDS` columns.

    None and NaN are a missing value: in its place is what the examples before let expect, and if
    few others have one, a feature ``name is missing`` marks it from the first gap on
    (`leaseboard.algorithms.tables.row_reader`), unless the examples have one of that name
    themselves; for a text there is nothing. A feature that an example does not name counts 0,
    which VW leaves out.

    Features without a namespace are grouped: those of the first example, in the order of their
    names, into up to `most_namespaces` groups of equal size, as ChaCha's authors group columns;
    later ones each join the smallest group.

    Parameters
    ----------
    most_namespaces : int

    Attributes
    ----------
    example : ndarray of float32, shape (n_features,)
        The row that `read_quickly` or `row` made last; the next call overwrites it.
    reader : RowReader
        Of the columns known so far.
    """

    few: ClassVar[int] = FEW

    def __init__(self, most_namespaces: int = 10) -> None:
        self.most_namespaces = most_namespaces
        self._columns: dict[Key, Feature] = {}
        self._called: dict[str, str] = {}
        self._groups: list[str] = []
        self._begins: dict[Key, float] = {}
        self._n_values: Counter[tuple[str, str, str]] = Counter()
        self._n_indicators = 0
        self._gaps = new_gaps(0)
        self._make_reader()

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return len(self._columns)

    def schema(self) -> Schema:
        """Return the columns seen so far."""
        spaces: dict[str, list[int]] = {}
        for each in self._columns.values():
            spaces.setdefault(each.space, []).append(each.place)
        return Schema(
            namespaces=tuple(spaces),
            columns=tuple(map(tuple, spaces.values())),
            features=tuple(each.name for each in self._columns.values()),
            origins=tuple(each.origin for each in self._columns.values()),
            called={n: own for n, own in self._called.items() if n not in self._groups},
        )

    def values(self, example: Example) -> Values:
        """Return the features of `example` by key, checked; nothing is changed.

        Raises
        ------
        TypeError
            If `example` is not a mapping, or a value is neither a number nor a text nor a date.
        ValueError
            If a value is infinite, two have one name, or one that of what is made of another.
        """
        if not isinstance(example, Mapping):
            raise TypeError(
                f"an example must be a mapping of features, not {type(example).__name__}:"
                " pass a dict, or use learn_many for arrays"
            )
        found = Values()
        for name, value in example.items():
            if isinstance(value, Mapping):
                for feature, inner in value.items():
                    self._collect(found, str(name), str(feature), inner)
            else:
                self._collect(found, "", str(name), value)
        count, most = self._n_indicators, self.n_features // self.few
        for space, name in sorted((k for k, v in found.items() if math.isnan(v)), key=by_name):
            key = space, indicator(name)
            known = self._origin(key)
            if key in found or (known and known.part != MISSING):
                continue  # the examples have it themselves
            if known or count < most:
                found[key] = 1.0
                found.origins[key] = Origin(self._columns[space, name].origin.column, MISSING)
                count += not known
        return found

    def _collect(self, found: Values, space: str, name: str, value: Any) -> None:
        """Put the features of one value under their keys; what is missing only where it was."""
        value = standard_value(value)
        long = isinstance(value, str) and (
            len(value) > LONGEST_LABEL or (space, f"{name} words#0") in self._columns
        )
        parts = words_of(name, value) if long else parts_of(name, value)
        for part, content in parts:
            what = part[len(name) + 1 :].partition("#")[0]
            is_text = isinstance(content, str)
            if isinstance(content, str):
                key, number = self._key_of(space, name, part, content), 1.0
                if key[1] != f"{part}={content}":
                    # The loop reads both, too.
                    parts += [(f"{part}#code", code_of(content)), (f"{part}#effect", 0.0)]
            else:
                key, number = (space, part), content
            known = self._origin(key)
            same = known is not None and known.column == name and known.part == what
            if math.isnan(number) and (known is None or (what and not same)):
                continue
            if known and not same:
                makers = [repr(of) for of in (known.column, name) if of != key[1]]
                raise ValueError(
                    f"feature {key[1]!r} is also made of {' and of '.join(makers)}: rename one of"
                    " them"
                )
            if key in found:
                raise ValueError(f"feature {key[1]!r} comes twice in an example: give it once")
            found[key] = number
            if known is None and name != key[1]:
                value_of = key[1][len(part) + 1 :] if is_text else ""
                found.origins[key] = Origin(name, what, value_of)

    def _origin(self, key: Key) -> Origin | None:
        """Return what the column of `key` is made of; None if it has no column."""
        known = self._columns.get(key)
        return None if known is None else known.origin

    def _key_of(self, space: str, column: str, name: str, text: str) -> Key:
        """Return the feature that is 1 where `name`, which is of a column, has this text."""
        key = space, f"{name}={text}"
        if key in self._columns:
            return key
        if self._n_values[space, column, name[len(column) + 1 :]] < MOST_VALUES:
            return key
        return space, f"{name}=#{hash_name(text, 0) % BUCKETS}"

    def read_quickly(self, example: Example) -> bool:
        """Fill `example` with an example of plain numbers and texts that have columns.

        Most are, and are served a hundred times faster so. False means that `values` has to read
        it.
        """
        return self.reader.read(example)

    def _column_of_text(self, name: str, text: str) -> tuple[int, int, float] | None:
        """Return the column of a text of the feature `name`; that of its code, and the code.

        The second is -1 where the first is of this text alone. None if it needs a closer look.
        """
        if len(text) > LONGEST_LABEL or ("", f"{name} words#0") in self._columns:
            return None
        key = self._key_of("", name, name, text)
        known = self._columns.get(key)
        if known is None or (known.origin.column, known.origin.part) != (name, ""):
            return None
        if key[1] == f"{name}={text}":
            return known.place, -1, 0.0
        coded = self._columns.get(("", f"{name}#code"))
        return None if coded is None else (known.place, coded.place, code_of(text))

    def unknown(self, values: Values) -> dict[Key, Origin]:
        """Return the keys of `values` that have no column yet, with what each is made of.

        They are in the order of their names: a mapping has none that means anything, and the same
        example in another order is learned the same. Numbers in names count as such, so that an
        array's columns keep theirs.
        """
        new = sorted((key for key in values if key not in self._columns), key=by_name)
        return {key: values.origins.get(key) or Origin(key[1]) for key in new}

    def absent(self, values: Values) -> list[Key]:
        """Return the keys of what was learned that are not among `values`, in order."""
        return [
            key
            for key, each in self._columns.items()
            if key not in values and each.origin.part != MISSING
        ]

    def extended(self, keys: Mapping[Key, Origin]) -> Self:
        """Return a copy in which every one of `keys`, see `unknown`, has a column."""
        grown = copy.copy(self)
        for name in ("_columns", "_called", "_groups", "_begins", "_n_values"):
            setattr(grown, name, getattr(self, name).copy())
        grown.add(keys)
        return grown

    def add(self, keys: Mapping[Key, Origin]) -> None:
        """Give every one of `keys`, none of which has one, a column; see `unknown`."""
        self._remember(keys)
        homes = self._homes(sum(not space for space, _ in keys))
        for (space, name), of in keys.items():
            home = vw_name(space or next(homes))
            place, origin = len(self._columns), replace(of, space=space)
            self._columns[space, name] = Feature(place, home, vw_name(name), origin)
        self._gaps = np.hstack([self._gaps, new_gaps(len(keys))])
        self._make_reader()

    def _remember(self, keys: Mapping[Key, Origin]) -> None:
        """Count what is made of something else, and keep what people call namespaces."""
        named = {vw_name(space): space for space, _ in reversed([*keys]) if space}
        self._called = named | self._called  # the first name counts
        self._n_indicators += sum(of.part == MISSING for of in keys.values())
        self._n_values.update(
            (space, of.column, of.part)
            for (space, name), of in keys.items()
            if of.column != name and name.endswith(f"={of.value}")
        )

    def _make_reader(self) -> None:
        numbers = {
            name: each.place
            for (space, name), each in self._columns.items()
            if not space and each.origin.column == name
        }
        self.reader = RowReader(numbers, self._gaps, self._column_of_text)
        self.example: NDArray[np.float32] = self.reader.example

    def state(self) -> dict[str, Any]:
        """Return all that `restored` needs, as plain values."""
        return {
            "columns": [
                (*key, each.space, each.name, *astuple(each.origin))
                for key, each in self._columns.items()
            ],
            "groups": self._groups,
            "begins": [(*key, begin) for key, begin in self._begins.items()],
            "gaps": self._gaps,
        }

    @classmethod
    def restored(cls, state: Mapping[str, Any]) -> Self:
        """Return a map with the columns of `state`."""
        features = cls()
        features._groups = state["groups"]
        for place, (given, key, space, name, *of) in enumerate(state["columns"]):
            features._columns[given, key] = Feature(place, space, name, Origin(*of))
        features._begins = {(space, name): begin for space, name, begin in state["begins"]}
        features._remember({key: each.origin for key, each in features._columns.items()})
        features._gaps = new_gaps(len(features._columns))
        features._gaps[:] = state["gaps"]
        features._make_reader()
        return features

    def row(self, values: Mapping[Key, float], *, learns: bool = False) -> NDArray[np.float32]:
        """Return `example`, made a dense row of the known features without gaps.

        If it `learns`, the values are part of what the next row's gaps are filled by.
        """
        row, columns = self.example, self._columns
        row[:] = 0.0
        for key, value in values.items():
            if key in columns:
                row[columns[key].place] = value - self._begin(key, value, learns)
        (self.reader.learn_gaps if learns else self.reader.fill_gaps)()
        return row

    def encode(
        self, columns: Mapping[str, Column]
    ) -> tuple[NDArray[np.float32], NDArray[np.intp]]:
        """Learn the rows of columns of equal lengths, one after the other.

        New features get a place, and each row is part of what fills later gaps.

        Returns
        -------
        rows : ndarray of float32, shape (n_rows, n_features)
        begins : ndarray of int, shape (n_features,)
            The row with which each feature begins; it is 0 before.
        """
        # A date of NumPy has no type of Python that holds all of them.
        values = [list(c) if c.dtype.kind == "M" else c.tolist() for c in columns.values()]
        begins, rows = [0] * self.n_features, list[NDArray[np.float32]]()
        for at, row in enumerate(zip(*values, strict=True)):
            example: Example = dict(zip(columns, row, strict=True))
            if not self.read_quickly(example):
                found = self.values(example)
                if unknown := self.unknown(found):
                    self.add(unknown)
                    begins += [at] * len(unknown)
                self.row(found, learns=True)
            else:
                self.reader.learn_gaps()
            rows.append(self.example.copy())
        encoded = np.zeros((len(rows), self.n_features), dtype=np.float32)
        for place, known in zip(encoded, rows, strict=True):
            place[: len(known)] = known
        return encoded, np.array(begins, dtype=np.intp)

    def _begin(self, key: Key, value: float, learns: bool) -> float:
        """Return from where a value is counted: days from the first ones, others from 0."""
        if not isinstance(value, Days):
            return 0.0
        if learns:
            self._begins.setdefault(key, float(value))
        return self._begins.get(key, float(value))

    def _homes(self, count: int) -> Iterator[str]:
        """Yield the group of each of `count` new features without a namespace."""
        if not self._groups and count:
            size = math.ceil(count / self.most_namespaces)
            self._groups = [letter(place) for place in range(math.ceil(count / size))]
            yield from (self._groups[place // size] for place in range(count))
            return
        homes = Counter(each.space for each in self._columns.values())
        sizes = {name: homes[name] for name in self._groups}
        for _ in range(count):
            smallest = min(sizes, key=sizes.__getitem__)
            sizes[smallest] += 1
            yield smallest
