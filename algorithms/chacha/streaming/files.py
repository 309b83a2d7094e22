"""The files of models for streams: read without executing, written in one step."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from algorithms import plain
from algorithms.chacha.race_file import FORMAT, UNFIT, file_in
from algorithms.errors import UsageError
from algorithms.events import Event


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A file to write that takes the place of `path` in one step; no half of it is ever seen."""
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


def read_state(path: str | Path) -> tuple[str, str | None, dict[str, Any]]:
    """The class, the oracle of the user's if there is one, and the state that a file holds."""
    try:
        state = plain.read(Path(path), FORMAT)
        return str(state["class"]), file_in(state["settings"]) or state["oracle"], state
    except OSError as error:
        raise UsageError(
            f"{str(path)!r} cannot be read ({error.strerror}): name a file that `save` wrote"
        ) from error
    except UNFIT as error:
        raise UsageError(unfit(path)) from error


def fields_of(event: Event) -> dict[str, Any]:
    """An event's fields as they are: copying what they hold would take most of a save's time."""
    return {field.name: getattr(event, field.name) for field in dataclasses.fields(event)}


def unfit(path: str | Path) -> str:
    """What is said of a file that no model of this version wrote."""
    return (
        f"{str(path)!r} is no saved model of this version ({FORMAT}), or a damaged one: name a"
        " file that `save` wrote and nothing has changed since"
    )
