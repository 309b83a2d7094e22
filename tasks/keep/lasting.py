"""What cannot change in a keep that has a model: what is forecast, what tells rows apart, of what.

The models that live know columns by name and kind, and the state knows rows by their ids. Whoever
edits FILE.yaml or the contract against them is told so in one line, before anything is taken in.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.keep.contract import Contract, ValueKind
from leaseboard.tasks.keep.living import Recipe
from leaseboard.tasks.keep.settings import Keep

MADE_FOR = "made for"
"""In the memory: what `made_for` gave when the last turn began."""

_HELD: dict[ValueKind, str] = {
    "number": "numbers",
    "integer": "numbers",
    "flag": "numbers",
    "date": "dates",
    "text": "words",
    "category": "words",
}
"""What a column of a kind holds for a model; among kinds of one sort a contract may change."""
_ANEW = "write it back, or begin another keep, by another name"


def made_for(keep: Keep, contract: Contract, recipe: Recipe) -> dict[str, Any]:
    """What a state is of, as JSON."""
    data = keep.data
    kinds = {name: _HELD[rule.kind] for name, rule in contract.columns.items()}
    return {
        "data.target": data.target,
        "data.id": data.id,
        "data.time": data.time,
        "task": recipe.task,
        "model.algorithm": "of streams" if recipe.goes_on else recipe.algorithm,
        "columns": {name: kinds[name] for name in kinds if name not in (data.id, data.target)},
    }


def check_lasting(before: Mapping[str, Any], now: Mapping[str, Any], contract: Path) -> None:
    """UsageError if something else is asked of a state than it was `made_for`."""
    for key in ("data.target", "data.id", "data.time", "task", "model.algorithm"):
        if before[key] != now[key]:
            raise UsageError(
                f"{key}: the model that lives was made for {before[key]}, not for {now[key]}:"
                f" {_ANEW}"
            )
    for name, held in before["columns"].items():
        if now["columns"].get(name, held) != held:
            raise UsageError(
                f"{contract}: column {name!r} held {held} when the model that lives was made, and"
                f" holds {now['columns'][name]} now: {_ANEW}"
            )


def file_of(file: Path, place: Path | str) -> str:
    """FILE.yaml as the state in `place` remembers it, so that both may be moved together."""
    path = file.resolve()
    return os.path.relpath(path, place.parent) if isinstance(place, Path) else str(path)


def check_file(before: str | None, file: Path, place: Path | str) -> None:
    """UsageError if the state is of another file, which is there still."""
    if before is None or before == file_of(file, place):
        return
    other = (place.parent / before).resolve() if isinstance(place, Path) else Path(before)
    if other.exists() and not other.samefile(file):
        raise UsageError(
            f"{file}: a keep of this name, in {other}, has this state: give yours another name"
        )
