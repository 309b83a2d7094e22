"""Plain values and arrays in one file that can hold no code: JSON beside numpy's own format.

A file is a zip archive of ``.npy`` members, one an array, and one of them the JSON text that says
where the arrays belong. JSON has no tuples, sets, bytes, numpy scalars, or keys that are not
texts: each is an object with a single name that begins with ``$``. Nothing that is read names a
type or a function, so whatever a file holds, nothing of it is executed.

What is read goes into objects that their own constructors have built: the fresh object says which
type and shape each value must have. So no array reaches compiled code that is shorter than the
code believes, whoever wrote the file.
"""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from leaseboard.algorithms.errors import UsageError

Arrays = dict[str, np.ndarray[Any, Any]]

_TEXT = "values"
"""The member that holds the JSON text."""

_NUMBERS = "biuf"
"""Kinds of numpy's dtypes: booleans, integers, floats."""


_SAME = frozenset({type(None), bool, int, float, str})
"""Types of values that JSON has as they are."""


def write(path: Path, value: Any, mark: str) -> None:
    """Write `value` and the `mark` of its format.

    Raises
    ------
    UsageError
        If a part of it is not a number, text, None, bytes, array, list, tuple, set or dict.
    """
    arrays: Arrays = {}
    text = json.dumps({"format": mark, "value": _tagged(value, arrays)})
    with path.open("wb") as file:
        np.savez(file, allow_pickle=False, **{_TEXT: _bytes(text.encode())}, **arrays)


def check(value: Any) -> None:
    """UsageError, as `write` raises it, if `value` cannot be written."""
    _tagged(value, {})


def read(path: Path, mark: str) -> Any:
    """What `write` wrote; ValueError for any other file, OSError if it cannot be read."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            content = json.loads(stored[_TEXT].tobytes())
            if content["format"] != mark:
                raise ValueError(f"format {content['format']!r}, not {mark!r}")
            return _untagged(content["value"], {n: stored[n] for n in stored if n != _TEXT})
    except (
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        LookupError,
        TypeError,
        NotImplementedError,
        RuntimeError,
        MemoryError,
    ) as error:
        raise ValueError(str(error)) from error


def values_of(part: object, names: Sequence[str]) -> dict[str, Any]:
    """The attributes called `names`."""
    return {name: getattr(part, name) for name in names}


def fill(part: object, state: Mapping[str, Any], names: Sequence[str]) -> None:
    """Set the attributes called `names`, arrays in place.

    Raises
    ------
    ValueError
        If a value has not the type, or an array not the shape, of the one that is there.
    """
    for name in names:
        old, new = getattr(part, name), state[name]
        if isinstance(old, np.ndarray):
            fill_array(old, new)
        elif type(new) is type(old):
            setattr(part, name, new)
        else:
            raise ValueError(f"{name} is a {type(new).__name__}, not a {type(old).__name__}")


def fill_array(old: np.ndarray[Any, Any], new: Any) -> None:
    """Overwrite `old` with `new`; ValueError unless both have one shape and type."""
    if not isinstance(new, np.ndarray) or (new.shape, new.dtype) != (old.shape, old.dtype):
        raise ValueError(f"no array of {old.dtype} with shape {old.shape}")
    old[...] = new


def _tagged(value: Any, arrays: Arrays) -> Any:
    if type(value) in _SAME:
        return value
    if type(value) in (list, tuple, set, frozenset):
        # most are of such values, for which no call is made
        items = [item if type(item) in _SAME else _tagged(item, arrays) for item in value]
        return items if type(value) is list else {f"${type(value).__name__}": items}
    if type(value) is dict:
        if all(type(key) is str and not key.startswith("$") for key in value):
            return {key: _tagged(item, arrays) for key, item in value.items()}
        return {"$dict": [[_tagged(k, arrays), _tagged(v, arrays)] for k, v in value.items()]}
    if _is_number(value):
        return {"$scalar": [value.dtype.str, value.item()]}
    name = f"a{len(arrays)}"
    if type(value) is bytes:
        arrays[name] = _bytes(value)
        return {"$bytes": name}
    if type(value) is np.ndarray and value.dtype.kind in _NUMBERS:
        arrays[name] = value
        return {"$array": name}
    raise UsageError(
        f"{str(value)[:60]!r} is a {type(value).__name__}, which is not saved: keep numbers,"
        " texts, arrays of numbers, and lists, tuples, sets and dicts of them"
    )


def _untagged(value: Any, arrays: Arrays) -> Any:
    if isinstance(value, list):
        return [item if type(item) in _SAME else _untagged(item, arrays) for item in value]
    if not isinstance(value, dict):
        return value
    tag, *more = value if value else ("",)
    if more or not tag.startswith("$"):
        return {key: _untagged(item, arrays) for key, item in value.items()}
    content = value[tag]
    if tag == "$array":
        return arrays[content]
    if tag == "$bytes":
        return arrays[content].tobytes()
    if tag == "$scalar":
        dtype = np.dtype(content[0])
        if dtype.kind not in _NUMBERS:
            raise ValueError(f"scalar of {dtype}")
        return dtype.type(content[1])
    items = _untagged(content, arrays)
    kinds = {"$tuple": tuple, "$set": set, "$frozenset": frozenset, "$dict": dict}
    return kinds[tag](items)


def _is_number(value: Any) -> bool:
    """Whether it is a numpy scalar that JSON has a number for, which a long double is not."""
    scalar = isinstance(value, np.generic) and value.dtype.kind in _NUMBERS
    return scalar and not isinstance(value, np.longdouble)


def _bytes(content: bytes) -> np.ndarray[Any, Any]:
    return np.frombuffer(content, dtype=np.uint8)
