"""What files hold of a race: plain values, from which it is built anew without executing any."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from tokenize import TokenError
from typing import Any

from leaseboard.algorithms import plain, registry
from leaseboard.algorithms.base import settings_of
from leaseboard.algorithms.chacha.one_vs_rest import OneVsRest
from leaseboard.algorithms.chacha.race import Race
from leaseboard.algorithms.chacha.racing import Racing
from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.online.schema import Schema
from leaseboard.algorithms.user_files import file_of

FORMAT = "leaseboard-chacha-18"
"""The mark of a file with a race; the number changes with what is saved."""

UNFIT = (ArithmeticError, AttributeError, LookupError, MemoryError, RuntimeError, TokenError,
         TypeError, ValueError)  # fmt: skip
"""What building a race from values that no race has can raise."""


def racing_of(algorithm: str, settings: Mapping[str, Any]) -> Racing:
    """The registered race called `algorithm`; UsageError if it is none, or in a file."""
    if file_of(algorithm) is None:  # no file: what is saved must not name code
        built = registry.build(algorithm, settings)
        if isinstance(built, Racing):
            return built
    raise UsageError(
        f"algorithm {algorithm!r} is no race of models on a stream, which alone learns on from"
        f" table to table: name one of {', '.join(_races())}"
    )


def _races() -> list[str]:
    """The registered races."""
    places = (each for each in registry.ENTRIES if ".chacha." in each.target)
    return [
        each.name for each in places if issubclass(registry.algorithm_class(each.name), Racing)
    ]


def file_in(settings: Mapping[str, Any]) -> str | None:
    """The oracle in a file of the user's that the settings name."""
    tune = settings.get("tune") or ""
    return tune if ".py:" in tune else None


def write_race(
    path: Path, algorithm: str, settings: Mapping[str, Any], seed: int, race: Race | OneVsRest
) -> None:
    """Write a race, or those of many classes, with the registered algorithm and its settings."""
    racing = racing_of(algorithm, settings)
    state = {
        "algorithm": algorithm,
        "settings": settings_of(racing),
        "seed": seed,
        "race": race.state(),
    }
    plain.write(path, state, FORMAT)


def read_race(path: Path, schema: Schema, task: str) -> Race | OneVsRest:
    """What `write_race` wrote, for examples of `schema`.

    Raises
    ------
    UsageError
        If the file holds none of this version. Nothing that it holds is executed.
    """
    try:
        state = plain.read(path, FORMAT)
        if file_in(state["settings"]) is not None:
            raise ValueError("it names an oracle in a file")
        racing, seed = racing_of(state["algorithm"], state["settings"]), state["seed"]

        def new_race(schema: Schema) -> Race:
            return racing.race(schema, seed, task)

        many = "races" in state["race"]
        race = OneVsRest(new_race, schema) if many else new_race(schema)
        race.fill(state["race"])
    except (OSError, *UNFIT) as error:
        raise UsageError(
            f"{str(path)!r} holds no race of this version ({FORMAT}), or a damaged one:"
            " register the model anew"
        ) from error
    return race
