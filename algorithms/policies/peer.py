"""Another AutoML system on the pulls bench: it searches by itself, and its trials are replayed."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic.dataclasses import dataclass

from algorithms.base import Run
from algorithms.benches.pulls import PullsAlgorithm, PullsBench
from algorithms.policies.policy import Record


@dataclass(frozen=True, kw_only=True)
class Peer(PullsAlgorithm):
    """A system with learners and an optimiser of its own, on the split and budget of all others.

    Parameters
    ----------
    system : {"flaml", "hyperopt-sklearn", "tpot"}
        Each runs in an environment of its own: ``leaseboard peers install flaml``.

    Notes
    -----
    The bench shows it as one arm. It may stop before the budget is spent.
    """

    may_stop: ClassVar[bool] = True

    system: Literal["flaml", "hyperopt-sklearn", "tpot"] = "flaml"

    def run(self, bench: PullsBench, seed: int) -> Run:
        """Take its trials in its own order."""
        del seed  # the bench has told it the environment's
        record = Record(bench)
        yield from record.arms()
        while bench.at < bench.budget and not bench.exhausted(0):
            yield record.lease(0, bench.at, bench.pulls[0])
            yield from record.trial(bench.pull(0))
