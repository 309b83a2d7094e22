"""The compiled part of the parser of Vowpal Wabbit's text format; see `algorithms.online.text`."""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

DONE, UNKNOWN_FEATURE, LONG_NUMBER, MALFORMED = range(4)
"""Why the parser stopped: the end; a name without a column; a number for Python; an error."""

POSITION, LINE, COUNT, FIRST, LAST, NAME_FIRST, NAME_LAST, ANONYMOUS = range(8)
"""Where the parser is: byte, line, values read; the namespace's and the feature's bytes."""

BLANKS = (ord(" "), ord("\t"), ord("\r"), ord("|"))
SEPARATORS = (*BLANKS, ord("\n"))
"""What may end a number."""

Bytes = NDArray[np.uint8]
Longs = NDArray[np.int64]
Words = NDArray[np.uint64]
Floats = NDArray[np.float32]

_BAR, _COLON, _SPACE, _TAB, _NEWLINE, _QUOTE, _RETURN = (ord(c) for c in "|: \t\n'\r")
_ZERO, _NINE, _MINUS, _PLUS, _DOT, _SMALL_E, _LARGE_E = (ord(c) for c in "09-+.eE")

_TEN = np.float32(10)


def _powers() -> NDArray[np.float32]:
    """Powers of ten from -37 to 38 as VW has them, each a division or product of the last."""
    powers = np.ones(76, dtype=np.float32)
    for exponent in range(1, 39):
        powers[37 + exponent] = powers[36 + exponent] * _TEN
    for exponent in range(1, 38):
        powers[37 - exponent] = powers[38 - exponent] / _TEN
    return powers


_POWERS = _powers()
_EXACT = 10.0 ** np.arange(23)
_FNV_PRIME = np.uint64(1099511628211)


@njit(cache=True, nogil=True)
def hash_bytes(text: Bytes, start: int, stop: int, key: np.uint64) -> np.uint64:
    """FNV-1a over ``text[start:stop]``, going on from `key`; 0 begins anew."""
    if key == 0:
        key = np.uint64(14695981039346656037)
    for at in range(start, stop):
        key = (key ^ np.uint64(text[at])) * _FNV_PRIME
    return key


@njit(cache=True, nogil=True)
def is_blank(byte: int) -> bool:
    """Whether `byte` parts tokens of a line."""
    return byte in (_SPACE, _TAB, _RETURN)


@njit(cache=True, nogil=True)
def _number(text: Bytes, at: int, stop: int) -> tuple[np.float32, int]:
    """The number at `at` as VW computes it, and the byte after it; -1 if it is not that easy.

    VW adds digits up in float32 and multiplies by a power of ten; before anything but a blank
    or the end of the line it takes the C library's exact way instead.
    """
    negative = at < stop and text[at] == _MINUS
    if negative:
        at += 1
    first = at
    total = np.float32(0)
    exact = np.int64(0)
    digits = 0
    decimals = 0
    while at < stop and _ZERO <= text[at] <= _NINE:
        total = (total * _TEN + np.float32(text[at])) - np.float32(_ZERO)
        exact = exact * 10 + (np.int64(text[at]) - _ZERO)
        digits += 1
        at += 1
    if at < stop and text[at] == _DOT:
        at += 1
        while at < stop and _ZERO <= text[at] <= _NINE:
            if decimals < 35:
                total = total * _TEN + np.float32(text[at] - _ZERO)
                decimals += 1
            exact = exact * 10 + (np.int64(text[at]) - _ZERO)
            digits += 1
            at += 1
    if at == first or digits == 0:
        return np.float32(0), -1
    exponent = 0
    if at < stop and text[at] in (_SMALL_E, _LARGE_E):
        at += 1
        sign = 1
        if at < stop and text[at] == _MINUS:
            sign = -1
            at += 1
        while at < stop and _ZERO <= text[at] <= _NINE:
            exponent = min(exponent * 10 + int(text[at]) - _ZERO, 999)
            at += 1
        exponent *= sign
    power = exponent - decimals
    if at == stop or text[at] in (_SPACE, _TAB):
        if power > 38:
            return np.float32(0), -1
        # VW has no power below 1e-37, and takes it for zero however long the digits before it.
        value = total * _POWERS[power + 37] if power >= -37 else np.float32(0)
    elif text[at] == _BAR and digits <= 15 and -22 <= power <= 22:
        # Both factors are exact in double precision, so one rounding is all that strtod does.
        wide = exact / _EXACT[-power] if power < 0 else exact * _EXACT[power]
        value = np.float32(wide)
    else:
        return np.float32(0), -1
    return (-value if negative else value), at


@njit(cache=True, nogil=True)
def scan(
    text: Bytes,
    state: Longs,
    keys: Words,
    homes: Longs,
    columns: NDArray[np.int32],
    values: Floats,
    ends: Longs,
    labels: Floats,
    importances: Floats,
    answered: Longs,
    answers: Floats,
    stops: Longs,
) -> int:
    """Read lines from ``state[POSITION]`` on; stop where Python must answer, then go on there.

    Parameters
    ----------
    text : ndarray of uint8
    state : ndarray of int64, shape (8,)
        Where the parser is; a line counts only if it was read to its end.
    keys, homes
        The hash table from names to columns.
    columns, values : ndarray, shape (at least one a feature,)
        Written: the features, line after line.
    ends : ndarray of int64, shape (at least one a line,)
        Written: where each line's features end.
    labels, importances : ndarray of float32, shape (at least one a line,)
        Written where a line says them.
    answered, answers, stops
        Numbers that Python read: where each begins, its value, where it ends.
    """
    while state[POSITION] < len(text):
        start = state[POSITION]
        end = start
        while end < len(text) and text[end] != _NEWLINE:
            end += 1
        stop = end
        while stop > start and is_blank(text[stop - 1]):
            stop -= 1
        if stop > start:
            bar = start
            while bar < stop and text[bar] != _BAR:
                bar += 1
            state[NAME_FIRST] = start
            if bar == stop:
                return MALFORMED
            reason = _scan_head(
                text, start, bar, state, labels, importances, answered, answers, stops
            )
            if reason == DONE:
                reason = _scan_features(
                    text, bar, stop, state, keys, homes, columns, values,
                    answered, answers, stops,
                )  # fmt: skip
            if reason != DONE:
                return reason
            ends[state[LINE]] = state[COUNT]
            state[LINE] += 1
        state[POSITION] = end + 1
    return DONE


@njit(cache=True, nogil=True)
def _scan_head(
    text: Bytes,
    start: int,
    bar: int,
    state: Longs,
    labels: Floats,
    importances: Floats,
    answered: Longs,
    answers: Floats,
    stops: Longs,
) -> int:
    """Label, importance, and a tag, which touches the first bar or begins with a quote."""
    line = state[LINE]
    given = 0
    at = _skip_blanks(text, start, bar)
    while at < bar:
        token = at
        while token < bar and not is_blank(text[token]):
            token += 1
        if text[at] != _QUOTE and token < bar:
            state[NAME_FIRST] = at
            value, after = _answer(text, at, token, answered, answers, stops)
            if after < 0:
                return LONG_NUMBER
            if after != token or given > 1 or (given == 1 and value < 0):
                return MALFORMED
            if given == 0:
                labels[line] = value
            else:
                importances[line] = value
            given += 1
        at = _skip_blanks(text, token, bar)
    return DONE


@njit(cache=True, nogil=True)
def _scan_features(
    text: Bytes,
    bar: int,
    stop: int,
    state: Longs,
    keys: Words,
    homes: Longs,
    columns: NDArray[np.int32],
    values: Floats,
    answered: Longs,
    answers: Floats,
    stops: Longs,
) -> int:
    """All namespaces of a line, from its first bar to its end."""
    count = state[COUNT]
    at = bar
    while at < stop:
        state[FIRST] = at + 1
        at = _name_end(text, at + 1, stop)
        state[LAST] = at
        space = _hash_space(text, state[FIRST], at)
        scale, at = _value(text, at, stop, state, answered, answers, stops)
        if at < 0:
            return LONG_NUMBER
        anonymous = 0
        at = _skip_blanks(text, at, stop)
        while at < stop and text[at] != _BAR:
            name = at
            at = _name_end(text, at, stop)
            state[NAME_LAST] = at
            value, at = _value(text, at, stop, state, answered, answers, stops)
            if at < 0:
                return LONG_NUMBER
            state[NAME_FIRST] = name
            if at < stop and not is_blank(text[at]) and text[at] != _BAR:
                return MALFORMED
            state[ANONYMOUS] = -1
            key = hash_bytes(text, name, state[NAME_LAST], space)
            if state[NAME_LAST] == name:
                key = _hash_decimal(anonymous, space)
                state[ANONYMOUS] = anonymous
                anonymous += 1
            column = _find(key, keys, homes)
            if column < 0:
                return UNKNOWN_FEATURE
            columns[count] = column
            values[count] = value * scale
            count += 1
            at = _skip_blanks(text, at, stop)
    state[COUNT] = count
    return DONE


@njit(cache=True, nogil=True)
def _value(
    text: Bytes,
    at: int,
    stop: int,
    state: Longs,
    answered: Longs,
    answers: Floats,
    stops: Longs,
) -> tuple[np.float32, int]:
    """What follows a name after a colon, and the byte after it; 1 if there is no colon."""
    if at >= stop or text[at] != _COLON:
        return np.float32(1), at
    state[NAME_FIRST] = at + 1
    return _answer(text, at + 1, stop, answered, answers, stops)


@njit(cache=True, nogil=True)
def _skip_blanks(text: Bytes, at: int, stop: int) -> int:
    while at < stop and is_blank(text[at]):
        at += 1
    return at


@njit(cache=True, nogil=True)
def _name_end(text: Bytes, at: int, stop: int) -> int:
    while at < stop and not is_blank(text[at]) and text[at] != _COLON and text[at] != _BAR:
        at += 1
    return at


@njit(cache=True, nogil=True)
def _hash_space(text: Bytes, first: int, last: int) -> np.uint64:
    """The hash of a namespace and the bar after it; one without a name is called " "."""
    key = hash_bytes(text, first, last, np.uint64(0))
    if first == last:
        key = (key ^ np.uint64(_SPACE)) * _FNV_PRIME
    return (key ^ np.uint64(_BAR)) * _FNV_PRIME


@njit(cache=True, nogil=True)
def _answer(
    text: Bytes,
    at: int,
    stop: int,
    answered: Longs,
    answers: Floats,
    stops: Longs,
) -> tuple[np.float32, int]:
    """The number at `at`, from Python's answers if it has been asked for."""
    for number in range(len(answered)):
        if answered[number] == at:
            return answers[number], stops[number]
    return _number(text, at, stop)


@njit(cache=True, nogil=True)
def _find(key: np.uint64, keys: Words, homes: Longs) -> int:
    place = np.int64(key & np.uint64(len(keys) - 1))
    while homes[place] >= 0:
        if keys[place] == key:
            return int(homes[place])
        place = (place + 1) & (len(keys) - 1)
    return -1


@njit(cache=True, nogil=True)
def _hash_decimal(number: int, key: np.uint64) -> np.uint64:
    """As `_hash` of the number's digits."""
    digits = 1
    while number >= 10**digits:
        digits += 1
    for place in range(digits - 1, -1, -1):
        digit = (number // 10**place) % 10
        key = (key ^ np.uint64(_ZERO + digit)) * _FNV_PRIME
    return key


@njit(cache=True, nogil=True)
def scatter(
    columns: NDArray[np.int32],
    values: Floats,
    ends: Longs,
    rows: Floats,
) -> int:
    """Put the values into their rows; return the first row with a feature twice, or -1."""
    at = 0
    seen = np.full(rows.shape[1], -1, dtype=np.int64)
    for row in range(len(ends)):
        for place in range(at, ends[row]):
            column = columns[place]
            if seen[column] == row:
                return row
            seen[column] = row
            value = values[place]
            rows[row, column] = np.float32(0) if math.isnan(value) else value
        at = ends[row]
    return -1
