"""Environments that train one of given configurations, test it, and charge the cost.

On the samples environment it is trained on s rows and tested on s' rows; on the folds environment
it is trained on all folds but one and tested on that one.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from numpy.typing import NDArray

from leaseboard.algorithms.base import Algorithm, Score
from leaseboard.algorithms.environments.selecting import Probe, SelectionEnvironment
from leaseboard.algorithms.errors import SkipError
from leaseboard.algorithms.events import Event, Parameters


@dataclass(frozen=True, slots=True)
class ProbeAsked:
    """Probe that a search asks for next.

    Attributes
    ----------
    configuration : int
        From 0.
    rows : int
        Of the sample.
    fold, folds : int, optional
        Trained on the sample but for that one of so many folds, and tested on it; without them
        trained on the sample and tested on held-out rows.
    """

    configuration: int
    rows: int
    fold: int | None = None
    folds: int = 1


Deciders = Callable[[str, Mapping[str, Any], int], Any]
"""Starts a search of a system with a seed; SkipError where its library is missing.

It gets its ``settings``, in that library's words where it has some, how many ``configurations``
there are, the ``rows`` of a full training and the ``initial_rows`` of a first probe.

It has `hear`, which returns the `ProbeAsked` next, or at last the number of the configuration that
is chosen, None if nothing could be trained; `report`, which takes the accuracy of what was asked
last, None if that could not be trained; and `close`, also while it works.
"""


class Probes(ABC):
    """Source of probes: learners on data, a probe store, or a simulation.

    `measure` must answer alike whenever it is asked alike, costs included.

    Attributes
    ----------
    configurations : sequence of dict
        The candidates C_1 .. C_n, in the order of their identifiers.
    train_rows, test_rows : int
        |D_tr| and |D_te|, the rows of a full training and of a full test.
    """

    configurations: Sequence[Parameters]
    train_rows: int
    test_rows: int

    @abstractmethod
    def measure(self, configuration: int, rows: int, test_rows: int) -> Probe:
        """Train on the first `rows` training rows and test on the first `test_rows` test rows."""

    def measure_fold(
        self, configuration: int, rows: int, fold: int, folds: int, *, verdicts: bool = False
    ) -> Probe:
        """Train on the first `rows` training rows but those of a fold, test on that fold.

        With `verdicts` the probe has those of each row. Raises SkipError where nothing is trained.
        """
        raise SkipError("folds need configurations that are trained: set folds=1")


class KnownVerdicts(Probes):
    """Probes of classifiers that are fixed beforehand: no row that they are trained on matters.

    - `right`, shape (n_configurations, n_rows): 1 where one is right; first the training rows.
    - `seconds`: cost of training each on a row.
    """

    def __init__(self, right: NDArray[Any], train_rows: int, seconds: Sequence[float]) -> None:
        self.train_rows, self.test_rows = train_rows, right.shape[1] - train_rows
        self._train = right[:, :train_rows].cumsum(axis=1)
        self._test = right[:, train_rows:].cumsum(axis=1)
        self._seconds = seconds

    def measure(self, configuration: int, rows: int, test_rows: int) -> Probe:
        """Return the counts of correct rows in the two prefixes, at a linear cost."""
        seconds = self._seconds[configuration] * rows
        full = rows == self.train_rows
        train, test = self._train[configuration], self._test[configuration]
        return Probe(
            rows=rows,
            test_rows=test_rows,
            train_correct=None if full else int(train[rows - 1]),
            half_correct=None if full else int(train[: rows // 2][-1:].sum()),
            test_correct=int(test[test_rows - 1]),
            half_test_correct=int(test[: test_rows // 2][-1:].sum()),
            fit_cpu=seconds,
            fit_wall=seconds,
        )


class SamplesEnvironment(SelectionEnvironment):
    """Selection among given configurations by probes; it keeps the ledger and the score.

    Parameters
    ----------
    probes : Probes
    budget : float, optional
        Training rows that may be consumed. The default, five full trainings of every
        configuration, is beyond what any algorithm here can use.
    initial_rows : int
        s_0, the training rows of a first probe.
    deciders : Deciders, optional
        Where searches of other libraries are started; without it they are skipped.

    Notes
    -----
    A probe is tested on twice its training rows, as the paper's appendix has it, unless the
    algorithm asks for more, and on all test rows at most; at full size on all of them, so that
    the accuracy is measured. Its recorded cost is charged, whether it is run now or
    replayed.
    """

    kind: ClassVar[str] = "samples"

    def __init__(
        self,
        probes: Probes,
        budget: float | None = None,
        initial_rows: int = 1000,
        deciders: Deciders | None = None,
    ) -> None:
        self.train_rows, self.test_rows = probes.train_rows, probes.test_rows
        most = 5.0 * len(probes.configurations) * self.train_rows
        super().__init__(probes.configurations, "rows", most if budget is None else budget)
        self.initial_rows = min(initial_rows, self.train_rows)
        self._probes, self._deciders = probes, deciders

    def tested_on(self, rows: int, tested: int = 2) -> int:
        """Return |S_te| of a probe on `rows` training rows, `tested` for each of them."""
        return self.test_rows if rows == self.train_rows else min(tested * rows, self.test_rows)

    def probe(
        self,
        configuration: int,
        rows: int,
        *,
        train: bool = True,
        seconds: float = math.inf,
        tested: int = 2,
    ) -> Generator[Event, None, Probe | None]:
        """Probe a configuration on `rows` rows and pay for it.

        Parameters
        ----------
        configuration, rows : int
        train : bool
            Whether the accuracy on the training rows is wanted, and paid for.
        seconds : float
            CPU seconds that this probe may take.
        tested : int
            Rows to test on for each that is trained on.

        Returns
        -------
        Probe or None
            None when the budget or `seconds` ended before the probe did: nothing is learned
            from it, and the time that was left is spent.
        """
        train = train and rows != self.train_rows
        test_rows = self.tested_on(rows, tested)
        measure = partial(self._probes.measure, configuration, rows, test_rows)
        return (yield from self._paid_for(configuration, rows, measure, train, seconds))

    def probe_fold(
        self, configuration: int, rows: int, fold: int, folds: int
    ) -> Generator[Event, None, Probe | None]:
        """Cross-validate a configuration on one fold of a sample and pay for it.

        No held-out row is part of it. None when the budget ended before it did.

        Parameters
        ----------
        configuration : int
        rows : int
            Of the sample, those to be tested on among them.
        fold, folds : int
            Which of how many is tested on.

        Raises
        ------
        SkipError
            If the probes know no folds.
        """
        measure = partial(self._probes.measure_fold, configuration, rows, fold, folds)
        trained = rows - len(range(fold, rows, folds))
        return (yield from self._paid_for(configuration, trained, measure))

    def decider(
        self, system: str, settings: Mapping[str, Any], configurations: int, seed: int
    ) -> AbstractContextManager[Any]:
        """Return a search of another library, which the context closes; see `Deciders`."""
        if self._deciders is None:
            raise SkipError(f"{system} runs on jobs alone: take `leaseboard race`")
        order = {"settings": settings, "configurations": configurations,
                 "rows": self.train_rows, "initial_rows": self.initial_rows}  # fmt: skip
        return closing(self._deciders(system, order, seed))

    def confirm(self, configuration: int, least: float) -> bool:
        """Return whether a configuration reaches `least`, trained and tested in full.

        The training is the one that the score is of: as there it is charged to no one. Where
        False is the answer the selection goes on, and a probe in full is paid for.
        """
        full = self._probes.measure(configuration, self.train_rows, self.test_rows)
        return full.status == "ok" and full.test_accuracy >= least

    def score(self) -> Score:
        """Return the test accuracy of the champion trained in full, which is not charged."""
        full = self._probes.measure(self._crowned(), self.train_rows, self.test_rows)
        probes, largest = len(self._paid), max(self._paid, default=0)
        return self._scored({"probes": float(probes), "largest_rows": float(largest)}, full)


class SamplesAlgorithm(Algorithm[SamplesEnvironment]):
    """Algorithm that runs on a samples environment."""

    environment: ClassVar[str] = "samples"


def geometric_sizes(initial: int, full: int) -> list[int]:
    """Return the sample sizes s_0, 2 s_0, 4 s_0, ... and at last the full size.

    Examples
    --------
    >>> geometric_sizes(1000, 10_000)
    [1000, 2000, 4000, 8000, 10000]
    """
    sizes: list[int] = []
    while (rows := initial << len(sizes)) < full:
        sizes.append(rows)
    return [*sizes, full]


class FoldsEnvironment(SelectionEnvironment):
    """Selection among given configurations by cross-validation, with its cost and score.

    Parameters
    ----------
    probes : Probes
        Which may hold no row out.
    folds : int
    budget : float, optional
        Fits that may be made; by default one of every configuration for each fold.

    Notes
    -----
    The score is the test accuracy of the champion trained on all folds, where rows are held out of
    them, and its cross-validated accuracy where none are. What is trained for the score alone is
    not charged.
    """

    kind: ClassVar[str] = "folds"

    def __init__(self, probes: Probes, folds: int, budget: float | None = None) -> None:
        most = len(probes.configurations) * folds
        super().__init__(probes.configurations, "fits", most if budget is None else budget)
        self._probes, self.folds = probes, folds

    def test(self, configuration: int, fold: int) -> Generator[Event, None, Probe | None]:
        """Train a configuration on the other folds, test it on this one, and pay a fit for it.

        None when the budget does not buy it.
        """
        measure = partial(self._measured, configuration, fold)
        return (yield from self._paid_for(configuration, 1, measure))

    def _measured(self, configuration: int, fold: int) -> Probe:
        rows = self._probes.train_rows
        return self._probes.measure_fold(configuration, rows, fold, self.folds, verdicts=True)

    def score(self) -> Score:
        """Return the accuracy of the champion; see the notes."""
        champion, probes = self._crowned(), self._probes
        tested = [self._measured(champion, fold) for fold in range(self.folds)]
        whole = probes.train_rows, probes.test_rows
        return self._scored(
            {}, probes.measure(champion, *whole) if probes.test_rows else None, *tested
        )


class FoldsAlgorithm(Algorithm[FoldsEnvironment]):
    """Algorithm that runs on a folds environment."""

    environment: ClassVar[str] = "folds"
