"""What runs a race over a bench's stream, whichever rules it follows."""

from __future__ import annotations

import math
from abc import abstractmethod

import numpy as np
from pydantic.dataclasses import dataclass

from leaseboard.algorithms.base import Run
from leaseboard.algorithms.benches.stream import StreamAlgorithm, StreamBench, require_finite
from leaseboard.algorithms.chacha.many_classes import race_classes
from leaseboard.algorithms.chacha.oracle import ConfigOracle
from leaseboard.algorithms.chacha.race import Race
from leaseboard.algorithms.online.engine import EngineName, VwOptions
from leaseboard.algorithms.online.schema import Schema, stream_schema


@dataclass(frozen=True, kw_only=True)
class Racing(StreamAlgorithm):
    """An algorithm that is a race.

    Parameters
    ----------
    engine : "auto", "kernel" or "vw"
        What trains the models; "auto" is the kernel wherever it can do the work.
    vw_options : str
        Further options of Vowpal Wabbit for every model; they need the engine "vw".
    """

    engine: EngineName = "auto"
    vw_options: VwOptions = ""

    @abstractmethod
    def race(
        self,
        schema: Schema,
        seed: int,
        task: str,
        oracle: ConfigOracle | None = None,
        horizon: float = math.inf,
    ) -> Race:
        """The state of a run that has seen nothing; for streams that do not come from a bench.

        Parameters
        ----------
        schema : Schema
        seed : int
        task : "regression" or "classification"
            Classes are labelled -1 and 1.
        oracle : ConfigOracle, optional
            In the place of that of the settings.
        horizon : float
            Length of the stream where it is known.
        """

    def live_at_most(self, bench: StreamBench) -> int | None:
        """`capacity`, for each race that may come."""
        n_races = max(1, len(bench.stream.classes) - 1)
        return None if self.capacity is None else n_races * self.capacity

    def run(self, bench: StreamBench, seed: int) -> Run:
        """Race over the stream; what forecasts on is the model."""
        stream, budget = bench.stream, bench.budget
        if budget == 0:
            return None
        require_finite(stream, budget)
        if stream.classes:
            made = race_classes(bench, lambda schema: self.race(schema, seed, stream.task))
            return (yield from made)
        importances = np.ones(budget, dtype=np.float32)
        forecasts = np.empty(budget, dtype=np.float32)
        race: Race | None = None
        for rows, features in stream.stretches(budget):
            schema = stream_schema(stream, features.shape[1])
            if race is None:
                race = self.race(schema, seed, stream.task, horizon=budget)
                yield from race.open()
            else:
                # What is new with an example has no part in the forecast of it.
                first = race.predict(features[0, : race.schema.n_features])
                race.require_fit(schema)
                yield from race.grow(schema)
            while race.at < rows.stop:
                rest = slice(race.at, rows.stop)
                learned = race.learn(
                    features[rest.start - rows.start :], stream.labels[rest],
                    importances[rest], forecasts[rest],
                )  # fmt: skip
                if rest.start and rest.start == rows.start:
                    forecasts[rest.start] = first
                block = forecasts[rest.start : rest.start + learned]
                yield from bench.record(block, live=len(race.live))
                if race.at < budget and race.is_due():
                    yield from race.decide()
        assert race is not None
        bench.note(race.notes())
        yield from race.conclude()
        return race.model()
