"""Files of models: plain values and arrays, and no code. JSON next to numpy's own format.

All models have one format, `FORMAT`, with a version and the kind of the model. A file is a zip
archive of ``.npy`` members, one an array, and one of them the JSON text that says where the arrays
belong. JSON has no tuples, sets, bytes, numpy scalars, or keys that are not
texts: each is an object with a single name that begins with ``$``. Nothing that is read names a
type or a function, so nothing that a file holds is executed.

What is read goes into objects that their own constructors have built: the fresh object says which
type and shape each value must have. Whether the values are those of a model is not checked: a file
that is damaged has another checksum, and who writes one by hand answers for it.
"""

import io
import json
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tokenize import TokenError
from typing import Any, ClassVar

import numpy as np

from leaseboard.algorithms.errors import UsageError, short

Arrays = dict[str, np.ndarray[Any, Any]]

FORMAT, VERSION = "leaseboard-model", 17
"""The format of all models' files; the version is raised with each change of what they hold."""

REBUILD = "learn or register it again, or use the version of Leaseboard that wrote it"
"""How users get a model back whose file cannot be read."""

UNFIT = (ArithmeticError, AttributeError, EOFError, LookupError, MemoryError, RuntimeError,
         TokenError, TypeError, ValueError, zipfile.BadZipFile, zlib.error)  # fmt: skip
"""What building a model from values that no model has can raise."""

_TEXT = "values"
"""The member that holds the JSON text."""

_NUMBERS = {"b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"}
"""NumPy's types of numbers that are the same on every machine."""


_CONTAINERS: dict[str, Any] = {f"${kind.__name__}": kind for kind in (list, tuple, set, frozenset)}
_DATE = "$datetime64"

_SAME = frozenset({type(None), bool, int, float, str})
"""Types of values that JSON has, too."""


def dump(kind: str, value: Any) -> bytes:
    """Return the content of a file with a model of some kind.

    Raises
    ------
    UsageError
        If a part of it is not a number, text, date, None, bytes, array, list, tuple, set or dict.
    """
    arrays: Arrays = {}
    content = {"format": FORMAT, "version": VERSION, "kind": kind}
    text = json.dumps(content | {"value": _tagged(value, arrays)})
    file = io.BytesIO()
    np.savez(
        file, allow_pickle=False, **{_TEXT: np.frombuffer(text.encode(), dtype=np.uint8)}, **arrays
    )
    return file.getvalue()


def check(value: Any) -> None:
    """Raise UsageError, as `dump` does, if `value` cannot be written."""
    _tagged(value, {})


def load(content: bytes, name: str, rebuild: str = REBUILD) -> tuple[str, Any]:
    """Return the kind and the value of which `dump` made `content`.

    Parameters
    ----------
    content : bytes
    name : str
        What an error calls it.
    rebuild : str
        How to rebuild the model, for the error message.

    Raises
    ------
    UsageError
        If it has another format or version, or is damaged.
    """
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as stored:
            found = json.loads(stored[_TEXT].tobytes())
            arrays = {member: stored[member] for member in stored if member != _TEXT}
            format_ = short(f"{found['format']} {found.get('version', '')}".rstrip(), 60)
            if format_ == f"{FORMAT} {VERSION}":
                return str(found["kind"]), _untagged(found["value"], arrays)
    except UNFIT as error:
        raise damaged(name, rebuild) from error
    raise UsageError(
        f"{name} has the format {format_}, and this version of Leaseboard reads {FORMAT}"
        f" {VERSION}: {rebuild}"
    )


def damaged(name: str, rebuild: str = REBUILD) -> UsageError:
    """Return the error of a file that holds no model, or not all of one."""
    return UsageError(
        f"{name} is not a model of the format {FORMAT} {VERSION}, or a damaged one: {rebuild}"
    )


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a file to write that takes the place of `path` in one step, or not at all."""
    partial = path.with_name(path.name + ".partial")
    try:
        partial.touch()
        yield partial
        partial.replace(path)
    except OSError as error:
        raise UsageError(
            f"{str(path)!r} cannot be written ({error.strerror}): name a file in a folder that"
            " exists and may be written"
        ) from error
    finally:
        if partial.is_file():
            partial.unlink()


def read_content(path: str | Path) -> bytes:
    """Return the content of a file; UsageError if it cannot be read."""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise UsageError(
            f"{str(path)!r} cannot be read ({error.strerror}): name the file of a model"
        ) from error


def unpickled(cls: Any, content: bytes) -> Any:
    """Return the model that was pickled; UsageError if another version pickled it."""
    return cls.restored(load(content, "the pickle")[1], "the pickle")


class Saved:
    """Object whose state is the attributes that `kept` names, and those of its parts.

    An attribute is a plain value, an array, another such object, or a list of them. An extension
    type is one if it has `kept`, and `fill` if more is to be done.
    """

    kept: ClassVar[tuple[str, ...]] = ()

    def state(self) -> dict[str, Any]:
        """Return all that a fresh object needs to go on as this one does, as plain values."""
        return values_of(self, self.kept)

    def fill(self, state: Any) -> None:
        """Go on from `state`, where nothing was seen so far; ValueError if it cannot be one."""
        fill(self, state, self.kept)


def values_of(part: object, names: Sequence[str]) -> dict[str, Any]:
    """Return the attributes called `names`, as plain values."""
    return {name: _value_of(_attribute(part, name)) for name in names}


def _attribute(part: object, name: str) -> Any:
    """Return an attribute; of an extension type's array, that array."""
    value = getattr(part, name)
    return np.asarray(value) if hasattr(value, "is_c_contig") else value


def _value_of(value: Any) -> Any:
    if hasattr(value, "kept"):
        return value.state() if hasattr(value, "state") else values_of(value, value.kept)
    if isinstance(value, list) and value and hasattr(value[0], "kept"):
        return [_value_of(item) for item in value]
    return value


def fill(part: object, state: Mapping[str, Any], names: Sequence[str]) -> None:
    """Set the attributes called `names`, arrays and parts in place, lists of arrays by new ones.

    Raises
    ------
    ValueError
        If a value has not the type, or an array not the shape, of the one that is there.
    """
    for name in names:
        old, new = _attribute(part, name), state[name]
        if hasattr(old, "kept"):
            _fill_part(old, new)
        elif isinstance(old, list) and old and hasattr(old[0], "kept"):
            for item, its in zip(old, new, strict=True):
                _fill_part(item, its)
        elif isinstance(old, np.ndarray):
            fill_array(old, new)
        elif isinstance(old, list) and old and isinstance(old[0], np.ndarray):
            items = [np.empty_like(old[0]) for _ in new]  # of one shape, and as many as came
            for item, its in zip(items, new, strict=True):
                fill_array(item, its)
            setattr(part, name, items)
        elif type(new) is type(old):
            setattr(part, name, new)
        else:
            raise ValueError(f"{name} is a {type(new).__name__}, not a {type(old).__name__}")


def _fill_part(part: Any, state: Any) -> None:
    if hasattr(part, "fill"):
        part.fill(state)
    else:
        fill(part, state, part.kept)


def fill_array(old: np.ndarray[Any, Any], new: Any) -> None:
    """Overwrite `old` with `new`; ValueError unless both have one shape and type."""
    if not isinstance(new, np.ndarray) or (new.shape, new.dtype) != (old.shape, old.dtype):
        raise ValueError(f"no array of {old.dtype} with shape {old.shape}")
    old[...] = new


def _tagged(value: Any, arrays: Arrays) -> Any:
    if type(value) in _SAME:
        return value
    if isinstance(value, (np.str_, np.bytes_)):  # equal to Python's, also as a key
        return _tagged(value.item(), arrays)
    if type(value) is np.datetime64:
        return {_DATE: str(value)}
    if type(value) in _CONTAINERS.values():
        ordered = value if isinstance(value, list | tuple) else sorted(value, key=repr)
        # most are of such values, for which no call is made
        items = [item if type(item) in _SAME else _tagged(item, arrays) for item in ordered]
        return items if type(value) is list else {f"${type(value).__name__}": items}
    if type(value) is dict:
        if all(type(key) is str and not key.startswith("$") for key in value):
            return {key: _tagged(item, arrays) for key, item in value.items()}
        return {"$dict": [[_tagged(k, arrays), _tagged(v, arrays)] for k, v in value.items()]}
    name = f"a{len(arrays)}"
    if type(value) is bytes:
        arrays[name] = np.frombuffer(value, dtype=np.uint8)
        return {"$bytes": name}
    if isinstance(value, (np.ndarray, np.generic)) and value.dtype.str[1:] in _NUMBERS:
        arrays[name] = np.asarray(value)
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
        return arrays[content][()]  # of no dimension it is a scalar
    if tag == _DATE:
        return np.datetime64(content)
    if tag == "$bytes":
        return arrays[content].tobytes()
    items = _untagged(content, arrays)
    return dict(items) if tag == "$dict" else _CONTAINERS[tag](items)
