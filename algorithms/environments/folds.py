"""The folds environment: train a configuration on all folds but one, and test it on that one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from leaseboard.algorithms.base import Algorithm, Cost, Score
from leaseboard.algorithms.environments.selecting import Probe, SelectionEnvironment
from leaseboard.algorithms.errors import LeaseboardError
from leaseboard.algorithms.events import Event, LeaseGranted, Parameters


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldProbe(Probe):
    """Probe on all folds but one, tested on every row of that.

    Attributes
    ----------
    right : str
        A sign for each row of the fold, in the same order for every configuration: ``1`` where the
        model is right, else ``0``.
    """

    right: str = ""


class Folds(ABC):
    """Source of fold probes; `measure` answers alike whenever it is asked alike.

    Attributes
    ----------
    configurations : sequence of dict
        The candidates, in the order of their identifiers.
    folds : int
        How many there are.
    """

    configurations: Sequence[Parameters]
    folds: int

    @abstractmethod
    def measure(self, configuration: int, fold: int) -> FoldProbe:
        """Train on all folds but one, and test on that."""

    def held_out(self, configuration: int) -> Probe | None:
        """Train on all folds, and test on the rows of none; None if every row is in a fold."""
        return None

    def prefetch(self, wanted: Sequence[tuple[int, int]]) -> None:
        """Measure these (configuration, fold) in parallel, if that is possible."""


class FoldsEnvironment(SelectionEnvironment):
    """Selection among given configurations by cross-validation, with its cost and score.

    Parameters
    ----------
    probes : Folds
    seed : int
        The environment's: of the split, of the draw of configurations, of learners.
    budget : float, optional
        Fits that may be made; by default one of every configuration for each fold.

    Notes
    -----
    The score is the test accuracy of the champion trained on all folds, where rows are held out of
    them, and its cross-validated accuracy where none are. What is trained for the score alone is
    not charged.
    """

    kind: ClassVar[str] = "folds"
    to_be_spent: ClassVar[bool] = False
    unit: str = "fits"
    paid: ClassVar[frozenset[str]] = frozenset(("test",))
    actions: ClassVar[frozenset[str]] = paid | SelectionEnvironment.actions

    def __init__(self, probes: Folds, seed: int = 0, budget: float | None = None) -> None:
        super().__init__(probes.configurations)
        self._probes = probes
        self.folds = probes.folds
        self.seed = seed
        most = len(self.configurations) * self.folds
        self.budget = float(most if budget is None else budget)

    def prefetch(self, configurations: Sequence[int], fold: int) -> None:
        """Announce the configurations that will be tested on a fold in any case."""
        left = configurations[: int(self.budget - self.at)]
        self._probes.prefetch([(configuration, fold) for configuration in left])

    def test(self, configuration: int, fold: int) -> Generator[Event, None, FoldProbe | None]:
        """Train a configuration on the other folds, test it on this one, and pay a fit for it.

        None when the budget does not buy it.
        """
        if self.at + 1 > self.budget:
            return None
        probe = self._probes.measure(configuration, fold)
        yield LeaseGranted(at=self.at, configuration=configuration, amount=1)
        self.at += 1
        cost = Cost(probe.cpu(train=False), probe.wall(train=False))
        self._cost = self._cost.plus(cost.cpu_seconds, cost.wall_seconds)
        learned, where = probe.train_accuracy, f"in fold {fold}"
        yield self._finished(configuration, probe.rows, probe, learned, cost, where)
        return probe

    def score(self) -> Score:
        """Return the accuracy of the champion; see the notes."""
        champion = self._crowned()
        tested = [self._probes.measure(champion, fold) for fold in range(self.folds)]
        whole = self._probes.held_out(champion)
        for probe in [*tested, *([whole] if whole else [])]:
            if probe.status != "ok":
                raise LeaseboardError(
                    f"the chosen configuration {champion} cannot be trained on {probe.rows}"
                    f" rows: {probe.status}, {probe.reason}"
                )
        rows = sum(probe.test_rows for probe in tested)
        cross_validated = sum(probe.test_correct for probe in tested) / rows
        metrics = {
            "selection_cpu_seconds": self._cost.cpu_seconds,
            "selection_wall_seconds": self._cost.wall_seconds,
            "configurations": float(len(self.configurations)),
            "cv_accuracy": cross_validated,
        } | self._notes
        if whole is None:
            return Score(cross_validated, "cv_accuracy", "max", metrics)
        metrics["training_cpu_seconds"] = whole.cpu(train=False)
        return Score(whole.test_accuracy, "test_accuracy", "max", metrics)


class FoldsAlgorithm(Algorithm[FoldsEnvironment]):
    """Algorithm that runs on a folds environment."""

    environment: ClassVar[str] = "folds"
