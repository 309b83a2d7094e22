"""Races as plain values, from which they are built again without executing any of them."""

from collections.abc import Mapping
from typing import Any

from leaseboard.algorithms import registry
from leaseboard.algorithms.base import settings_of
from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.online.schema import Schema
from leaseboard.algorithms.online_automl.one_vs_rest import OneVsRest
from leaseboard.algorithms.online_automl.race import Race
from leaseboard.algorithms.online_automl.racing import Racing


def racing_of(algorithm: str, settings: Mapping[str, Any]) -> Racing:
    """Return the registered race called `algorithm`; UsageError for others, and for files."""
    if registry.file_of(algorithm) is None:  # no file: what is saved must not name code
        built = registry.build(algorithm, settings)
        if isinstance(built, Racing):
            return built
    rooms = (".online_automl.", ".chacha.")
    names = [one.name for one in registry.ENTRIES if any(room in one.target for room in rooms)]
    races = [name for name in names if issubclass(registry.algorithm_class(name), Racing)]
    raise UsageError(
        f"algorithm {algorithm!r} is not a race of models on a stream, which alone learns on from"
        f" table to table: name one of {', '.join(races)}"
    )


def race_state(
    algorithm: str, settings: Mapping[str, Any], seed: int, race: Race | OneVsRest
) -> dict[str, Any]:
    """Return a race, or those of many classes, with algorithm and settings, as plain values."""
    every = settings_of(racing_of(algorithm, settings))
    return {"algorithm": algorithm, "settings": every, "seed": seed, "race": race.state()}


def restored_race(state: Mapping[str, Any], schema: Schema, task: str) -> Race | OneVsRest:
    """Return the race of which `race_state` made `state`, for examples of `schema`.

    Nothing that the state holds is executed. Raises one of `leaseboard.algorithms.plain.UNFIT` for
    a state that no race has.
    """
    racing, seed = racing_of(state["algorithm"], state["settings"]), state["seed"]

    def new_race(schema: Schema) -> Race:
        return racing.race(schema, seed, task)

    many = "races" in state["race"]
    race = OneVsRest(new_race, schema) if many else new_race(schema)
    race.fill(state["race"])
    return race
