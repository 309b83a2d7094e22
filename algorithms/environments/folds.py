"""The folds environment: train a configuration on all folds but one, and test it on that one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from leaseboard.algorithms.base import Algorithm, Score
from leaseboard.algorithms.environments.selecting import Probe, SelectionEnvironment
from leaseboard.algorithms.events import Event, Parameters


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
    paid: ClassVar[frozenset[str]] = frozenset(("test",))
    actions: ClassVar[frozenset[str]] = paid | SelectionEnvironment.actions

    def __init__(self, probes: Folds, seed: int = 0, budget: float | None = None) -> None:
        most = len(probes.configurations) * probes.folds
        super().__init__(probes.configurations, seed, "fits", most if budget is None else budget)
        self._probes, self.folds = probes, probes.folds

    def test(self, configuration: int, fold: int) -> Generator[Event, None, FoldProbe | None]:
        """Train a configuration on the other folds, test it on this one, and pay a fit for it.

        None when the budget does not buy it.
        """
        measure = partial(self._probes.measure, configuration, fold)
        return (yield from self._paid_for(configuration, 1, measure, f"in fold {fold}"))

    def score(self) -> Score:
        """Return the accuracy of the champion; see the notes."""
        champion = self._crowned()
        tested = [self._probes.measure(champion, fold) for fold in range(self.folds)]
        return self._scored({}, self._probes.held_out(champion), *tested)


class FoldsAlgorithm(Algorithm[FoldsEnvironment]):
    """Algorithm that runs on a folds environment."""

    environment: ClassVar[str] = "folds"
