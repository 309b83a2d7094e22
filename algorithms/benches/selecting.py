"""What benches share on which one of given configurations is chosen."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any, ClassVar, Protocol

from algorithms.base import Bench
from algorithms.events import (
    ChampionChanged,
    ConfigurationAdmitted,
    ConfigurationFailed,
    Eliminated,
    Event,
    Parameters,
)

Steps = Generator[Event, None, Any]


class Untrained(Protocol):
    """What could not be trained on so many rows."""

    @property
    def rows(self) -> int:
        """Training rows."""

    @property
    def status(self) -> str:
        """What the end is called."""

    @property
    def reason(self) -> str:
        """Why."""


class SelectionBench(Bench):
    """A bench of given configurations, one of which is the answer of a run.

    Attributes
    ----------
    configurations : tuple of dict
        By number.
    champion : int or None
        The answer.
    """

    deeds: ClassVar[frozenset[str]] = frozenset(("crown", "fail", "note"))

    def __init__(self, configurations: Sequence[Parameters]) -> None:
        super().__init__()
        self.configurations = tuple(dict(each) for each in configurations)
        self.champion: int | None = None

    def admit(self) -> Generator[Event, None, list[int]]:
        """Admit every configuration; returns those that are no duplicate of an earlier one.

        A ``name`` is no part of what a configuration is.
        """
        contents = [
            {key: value for key, value in parameters.items() if key != "name"}
            for parameters in self.configurations
        ]
        distinct: list[int] = []
        for index, parameters in enumerate(self.configurations):
            origin = str(parameters.get("learner", ""))
            yield ConfigurationAdmitted(
                at=self.at, configuration=index, parameters=parameters, origin=origin
            )
        for index, content in enumerate(contents):
            twin = next((j for j in distinct if contents[j] == content), None)
            if twin is None:
                distinct.append(index)
            else:
                reason = f"duplicate of configuration {twin}"
                yield Eliminated(at=self.at, configuration=index, reason=reason)
        return distinct

    def crown(self, configuration: int) -> Steps:
        """Make a configuration the answer of the run, if it is not."""
        if configuration != self.champion:
            yield ChampionChanged(at=self.at, configuration=configuration, previous=self.champion)
            self.champion = configuration

    def fail(self, configuration: int, probe: Untrained, heir: int | None) -> Steps:
        """Remove a configuration whose probe failed; `heir` follows if it was the champion."""
        if configuration == self.champion and heir is not None:
            yield from self.crown(heir)
        if configuration != self.champion:
            reason = f"{probe.status} at {probe.rows} rows: {probe.reason}"
            yield ConfigurationFailed(at=self.at, configuration=configuration, reason=reason)
