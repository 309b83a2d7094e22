"""A forecaster of somebody else's on a stream, asked example by example: what they share."""

from __future__ import annotations

from typing import ClassVar

from leaseboard.algorithms.base import Algorithm, Run
from leaseboard.algorithms.benches.stream import OutsideForecasts, StreamBench, require_finite
from leaseboard.algorithms.events import (
    ChampionChanged,
    ConfigurationAdmitted,
    ConfigurationScored,
    LeaseGranted,
)
from leaseboard.algorithms.reference.forecaster import BLOCK


class OutsideForecaster(Algorithm[StreamBench]):
    """One forecaster that the bench asks for each example before it tells it the label.

    Attributes
    ----------
    system : str
        Whose environment it runs in.
    learner : str
        Which of that system's.
    """

    bench: ClassVar[str] = "stream"

    system: str
    learner: str

    @property
    def capacity(self) -> int:
        """One, whatever it keeps within."""
        return 1

    def run(self, bench: StreamBench, seed: int) -> Run:
        """Hand on its forecasts."""
        stream, budget = bench.stream, bench.budget
        if budget == 0:
            return
        require_finite(stream, budget)
        which = OutsideForecasts(self.system, self.learner)
        parameters = {"system": self.system, "learner": self.learner}
        with bench.outsider(which, seed) as session:
            yield ConfigurationAdmitted(at=0, configuration=0, parameters=parameters)
            yield LeaseGranted(at=0, configuration=0, amount=budget, slot=0)
            yield ChampionChanged(at=0, configuration=0, previous=None)
            for start in range(0, budget, BLOCK):
                rows = slice(start, min(start + BLOCK, budget))
                told = session.learn_many(stream.features[rows], stream.labels[rows])
                yield from bench.record(told)
        score = float(bench.score().value)
        yield ConfigurationScored(at=bench.at, configuration=0, value=score, units=budget)
