"""The state of a race's parts as plain values, and back into parts that were built anew."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from types import FunctionType
from typing import Any

import numpy as np

from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.online.configuration import VWConfiguration
from leaseboard.algorithms.plain import fill_array

State = dict[str, Any]

_KEY_WORDS = 624
"""Of the Mersenne Twister."""


def require_numbers(numbers: Any, stop: int) -> None:
    """Refuse what is not a number of one of `stop` configurations; ValueError."""
    for number in numbers:
        if type(number) is not int or not 0 <= number < stop:
            raise ValueError(f"no configuration has the number {number!r}")


def configuration_state(configuration: VWConfiguration) -> list[Any]:
    """A configuration as plain values."""
    return [configuration.interactions, configuration.learning_rate, configuration.namespaces]


def configuration_of(state: Any) -> VWConfiguration:
    """The inverse of `configuration_state`."""
    return _configuration(*state)


@lru_cache(maxsize=4096)  # models of streams with the same columns share most
def _configuration(interactions: Any, rate: Any, kept: Any) -> VWConfiguration:
    kept = None if kept is None else tuple(map(str, kept))
    return VWConfiguration(tuple(map(tuple, interactions)), float(rate), kept)


def random_state(random: np.random.RandomState) -> State:
    """A generator's state."""
    state: State = dict(random.get_state(legacy=False))
    return state


def fill_random(random: np.random.RandomState, state: Any) -> None:
    """Let `random` go on from `state`; ValueError if no generator can have that."""
    key, place = state["state"]["key"], state["state"]["pos"]
    fill_array(np.empty(_KEY_WORDS, dtype=np.uint32), key)
    if type(place) is not int or not 0 <= place <= _KEY_WORDS:
        raise ValueError(f"a generator is never at word {place!r}")
    random.set_state(state)


def oracle_state(oracle: object) -> dict[tuple[str | int, ...], Any]:
    """The attributes of an oracle, and of the objects that it consists of, by their path."""
    return dict(_attributes(oracle, ()))


def fill_oracle(oracle: object, state: Any) -> None:
    """Set the attributes of a fresh oracle; ValueError if it is built otherwise."""
    for (*path, name), value in state.items():
        part: Any = oracle
        for step in path:
            part = part[step] if isinstance(step, int) else vars(part)[step]
        vars(part)[name] = value


def _attributes(
    part: object, path: tuple[str | int, ...]
) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    if len(path) > 8:
        raise UsageError("the oracle's objects hold each other: give it plain values to save")
    for name, value in getattr(part, "__dict__", {}).items():
        if isinstance(value, (list, tuple)) and value and all(map(_is_object, value)):
            for place, item in enumerate(value):
                yield from _attributes(item, (*path, name, place))
        elif _is_object(value):
            yield from _attributes(value, (*path, name))
        else:
            yield (*path, name), value


def _is_object(value: object) -> bool:
    """Whether its attributes are all that it is, as of an instance of a plain class."""
    kind = type(value)
    return (
        hasattr(value, "__dict__")
        and not isinstance(value, (type, FunctionType))
        and kind.__getstate__ is object.__getstate__
        and kind.__reduce__ is object.__reduce__
    )
