"""What a bench is made of, as arrays in a folder that many processes map at once."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from leaseboard.algorithms.benches.holdout import Holdout, Part
from leaseboard.algorithms.benches.stream import Namespace, Origin, Stream
from leaseboard.algorithms.errors import DataError
from leaseboard.tasks.evaluate.probes.sample_rows import Samples
from leaseboard.tasks.fetch.arrays import Arrays, map_arrays, write_arrays

_CLASSES = {each.__name__: each for each in (Holdout, Namespace, Origin, Part, Samples, Stream)}
_SPARSE = ("data", "indices", "indptr")


def freeze(value: Any, made_of: str, folder: Path) -> None:
    """Write a value made of arrays, sparse rows, tuples, plain values and `_CLASSES`.

    `made_of` says what `thaw` must be told, so that nobody takes it for another.
    """
    arrays: Arrays = {}
    said = _said(value, "", arrays)
    write_arrays(folder, arrays, {"made_of": made_of, "value": said})


def thaw(folder: Path, made_of: str) -> Any:
    """The value that `freeze` wrote; its arrays are mapped, and read-only.

    Raises DataError if it was made of something else.
    """
    arrays, said = map_arrays(folder)
    if said["made_of"] != made_of:
        raise DataError(f"{folder}: made of {said['made_of']}, not of {made_of}: prepare it anew")
    return _made(said["value"], arrays)


def _said(value: Any, name: str, arrays: Arrays) -> dict[str, Any]:
    """How to make `value` again; its arrays are put into `arrays` under names below `name`."""
    if isinstance(value, np.ndarray):
        arrays[name] = value
        return {"array": name}
    if sparse.issparse(value):
        arrays.update({f"{name}.{part}": getattr(value, part) for part in _SPARSE})
        return {"sparse": name, "shape": value.shape}
    if dataclasses.is_dataclass(value):
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        made = {key: _said(each, f"{name}.{key}", arrays) for key, each in fields.items()}
        return {"class": type(value).__name__, "fields": made}
    if isinstance(value, tuple) and value and isinstance(value[0], np.ndarray):
        arrays[f"{name}.all"] = np.concatenate(value)  # a text has thousands: one array, not each
        arrays[f"{name}.ends"] = np.cumsum([len(each) for each in value])
        return {"arrays": name}
    if isinstance(value, tuple):
        return {"tuple": [_said(each, f"{name}.{i}", arrays) for i, each in enumerate(value)]}
    return {"plain": value}


def _made(said: dict[str, Any], arrays: Arrays) -> Any:
    match said:
        case {"array": name}:
            return arrays[name]
        case {"sparse": name, "shape": shape}:
            parts = tuple(arrays[f"{name}.{part}"] for part in _SPARSE)
            return sparse.csr_array(parts, shape=tuple(shape), copy=False)
        case {"class": name, "fields": fields}:
            return _CLASSES[name](**{key: _made(each, arrays) for key, each in fields.items()})
        case {"arrays": name}:
            return tuple(np.split(arrays[f"{name}.all"], arrays[f"{name}.ends"][:-1]))
        case {"tuple": parts}:
            return tuple(_made(each, arrays) for each in parts)
        case _:
            return said["plain"]
