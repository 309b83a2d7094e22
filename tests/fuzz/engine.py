"""A case of fuzzing: content that is read, or refused in one line; anything else is a fault."""

from __future__ import annotations

import traceback
from pathlib import Path
from random import Random
from typing import Any

from leaseboard.algorithms.errors import LeaseboardError

LONGEST = 1000
"""Characters of an error."""


def fault_of(error: BaseException) -> str:
    """Return why an error is a fault, with its place; empty for a refusal in one line."""
    if not isinstance(error, LeaseboardError):
        return f"{_place(error)}: {type(error).__name__}: {str(error)[:300]}"
    if "\n" in str(error):
        return f"{_place(error)}: more than one line"
    return f"{_place(error)}: too long" if len(str(error)) > LONGEST else ""


def _place(error: BaseException) -> str:
    """Return the last place of ours in a traceback."""
    frames = traceback.extract_tb(error.__traceback__)
    frame = ([each for each in frames if "site-packages" not in each.filename] or frames)[-1]
    return f"{Path(frame.filename).name}:{frame.name}:{frame.lineno}"


def case(target: Any, name: str, number: int, seeds: list[bytes]) -> bytes:
    """Return the mutated content of a case."""
    made: bytes = target.mutate(Random(f"{name} {number}"), seeds)
    return made


def attempt(target: Any, content: bytes, folder: Path) -> tuple[bool, str]:
    """Return whether the content was read, and what is at fault."""
    folder.mkdir(parents=True)
    try:
        target.read(content, folder)
    except Exception as error:  # noqa: BLE001  (each is what is looked for)
        return False, fault_of(error)
    return True, ""
