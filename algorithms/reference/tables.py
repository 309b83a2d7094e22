"""What a person tries first on a table, and whole AutoML systems, each at its own defaults."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic.dataclasses import dataclass

from leaseboard.algorithms.base import Run
from leaseboard.algorithms.benches.systems import SystemsAlgorithm, SystemsBench
from leaseboard.algorithms.events import ChampionChanged, ConfigurationAdmitted, LeaseGranted


class OnTable(SystemsAlgorithm):
    """One fit, with all of the budget."""

    system: str

    def run(self, bench: SystemsBench, seed: int) -> Run:
        """Fit once, unless there is nothing to spend."""
        yield ConfigurationAdmitted(
            at=0, configuration=0, parameters={"system": self.system}, origin="system"
        )
        if bench.at < bench.budget:
            yield LeaseGranted(at=0, configuration=0, amount=bench.budget)
            bench.fit(self.system, seed)
            yield ChampionChanged(at=bench.at, configuration=0, previous=None)


@dataclass(frozen=True, kw_only=True)
class TableSystem(OnTable):
    """An AutoML system that is told the task, the metric, the seconds and a seed, no more.

    Parameters
    ----------
    system : {"leaseboard", "flaml", "tpot", "tpot-light", "hyperopt-sklearn", "autogluon"}
        ``leaseboard`` is `PolicyClassifier` or `PolicyRegressor`. The others run in an
        environment of their own: ``leaseboard peers install flaml``. AutoGluon takes no seed.
        ``tpot-light`` is TPOT with its search space of fast pipelines.
    """

    system: Literal[
        "leaseboard", "flaml", "tpot", "tpot-light", "hyperopt-sklearn", "autogluon"
    ] = "leaseboard"


@dataclass(frozen=True, kw_only=True)
class TableBaseline(OnTable):
    """A learner at its library's defaults, which takes the seconds that it takes.

    Parameters
    ----------
    system : {"lightgbm", "forest"}
        LightGBM with nominal columns as they are, or scikit-learn's random forest with their
        codes; both take gaps.
    """

    baseline: ClassVar[bool] = True

    system: Literal["lightgbm", "forest"] = "lightgbm"
