"""The samples bench: train a configuration on s rows, test it on s' rows, pay what it cost."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar, Protocol, runtime_checkable

from algorithms.base import Algorithm, Cost, Score
from algorithms.benches.deciders import Deciders, DecidingSession, OutsideDecider
from algorithms.benches.selecting import SelectionBench
from algorithms.errors import LeaseboardError, SkipError
from algorithms.events import (
    Event,
    LeaseGranted,
    Parameters,
    ProbeFinished,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """One configuration trained on the first `rows` training rows, as it was recorded.

    Attributes
    ----------
    rows, test_rows : int
        |S_tr| and |S_te|.
    train_correct : int or None
        Training rows that the model classifies correctly; None at full size, where nobody asks.
    half_correct : int or None
        Of the first ``rows // 2`` of them; None at full size, and where nobody counted.
    common : int or None
        Training rows of the most frequent class; None at full size, and where nobody counted.
    test_correct : int
        Test rows, of `test_rows`, that it classifies correctly.
    half_test_correct : int or None
        Of the first ``test_rows // 2`` of them; None where nobody counted.
    fit_cpu, fit_wall, train_cpu, train_wall, test_cpu, test_wall : float
        Seconds of the fit and of the evaluations on the training and on the test rows.
    status, reason : str
        ``ok``, or why there is no model: ``crash``, ``timeout``, ``memout``.
    """

    rows: int
    test_rows: int
    train_correct: int | None = None
    half_correct: int | None = None
    common: int | None = None
    test_correct: int = 0
    half_test_correct: int | None = None
    fit_cpu: float = 0.0
    fit_wall: float = 0.0
    train_cpu: float = 0.0
    train_wall: float = 0.0
    test_cpu: float = 0.0
    test_wall: float = 0.0
    status: str = "ok"
    reason: str = ""

    @property
    def train_accuracy(self) -> float:
        """A(H_S, S_tr); NaN where it was not measured."""
        return math.nan if self.train_correct is None else self.train_correct / self.rows

    @property
    def test_accuracy(self) -> float:
        """A(H_S, S_te)."""
        return self.test_correct / self.test_rows if self.status == "ok" else math.nan

    def cpu(self, *, train: bool = True) -> float:
        """CPU seconds, with or without the evaluation on the training rows."""
        return self.fit_cpu + self.test_cpu + (self.train_cpu if train else 0.0)

    def wall(self, *, train: bool = True) -> float:
        """Wall seconds, with or without the evaluation on the training rows."""
        return self.fit_wall + self.test_wall + (self.train_wall if train else 0.0)


class Environment(Protocol):
    """What really trains and tests: learners on data, a probe store, or a simulation.

    `measure` must answer alike whenever it is asked alike, costs included.
    """

    @property
    def configurations(self) -> Sequence[Parameters]:
        """The candidates C_1 .. C_n, in the order of their identifiers."""

    @property
    def train_rows(self) -> int:
        """|D_tr|, the rows of a full training."""

    @property
    def test_rows(self) -> int:
        """|D_te|, the rows of a full test."""

    def measure(self, configuration: int, rows: int, test_rows: int) -> Probe:
        """Train on the first `rows` training rows and test on the first `test_rows` test rows."""


@runtime_checkable
class Folded(Protocol):
    """An environment that cross-validates on a sample as well."""

    def measure_fold(self, configuration: int, rows: int, fold: int, folds: int) -> Probe:
        """Train on the first `rows` training rows but those of a fold, test on that fold."""


class SamplesBench(SelectionBench):
    """Selection among given configurations by probes; it keeps the ledger and the score.

    Parameters
    ----------
    environment : Environment
    seed : int
        The environment's seed: split, shuffle, draw of configurations, learners.
    budget : float, optional
        Units that may be consumed. The default, five full trainings of every configuration in
        rows and no end in seconds, is beyond what any algorithm here can use.
    unit : {"rows", "seconds"}
        What the budget counts: training rows, or CPU seconds as recorded.
    initial_rows : int
        s_0, the training rows of a first probe.
    deciders : Deciders, optional
        Where searches of other libraries are started; without it they are skipped.

    Notes
    -----
    A probe is tested on twice its training rows, as the paper's appendix has it, unless the
    algorithm asks for more, and on all test rows at most; at full size on all of them, so that
    the accuracy is measured. Its cost is charged as it was recorded, whether it is run now or
    replayed.
    """

    kind: ClassVar[str] = "samples"
    to_be_spent: ClassVar[bool] = False
    paid: ClassVar[frozenset[str]] = frozenset(
        ("probe", "probe_fold", "train", "retest", "confirm")
    )
    deeds: ClassVar[frozenset[str]] = paid | SelectionBench.deeds

    def __init__(
        self,
        environment: Environment,
        seed: int = 0,
        budget: float | None = None,
        unit: str = "rows",
        initial_rows: int = 1000,
        deciders: Deciders | None = None,
    ) -> None:
        super().__init__(environment.configurations)
        if unit not in ("rows", "seconds"):
            raise ValueError(f"unit {unit!r} must be 'rows' or 'seconds'")
        self._environment = environment
        self.train_rows = environment.train_rows
        self.test_rows = environment.test_rows
        self.initial_rows = min(initial_rows, self.train_rows)
        self.seed = seed
        self.unit = unit
        most = 5.0 * len(self.configurations) * self.train_rows if unit == "rows" else math.inf
        self.budget = most if budget is None else float(budget)
        self.at = 0.0
        self._cost = Cost()
        self._sizes: list[tuple[int, int]] = []
        self._selection: Cost | None = None
        self._last_failure = "none was probed"
        self._deciders = deciders

    @property
    def cost(self) -> Cost:
        """What all probes cost when they were run."""
        return self._cost

    def tested_on(self, rows: int, tested: int = 2) -> int:
        """|S_te| of a probe on `rows` training rows, `tested` for each of them."""
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
        full = rows == self.train_rows
        return (
            yield from self._paid_for(
                configuration,
                rows,
                lambda: self._environment.measure(
                    configuration, rows, self.tested_on(rows, tested)
                ),
                train=train and not full,
                seconds=seconds,
            )
        )

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
            If the environment knows no folds.
        """
        environment = self._environment
        if not isinstance(environment, Folded):
            raise SkipError("folds need configurations that are trained: set folds=1")
        trained = rows - len(range(fold, rows, folds))
        return (
            yield from self._paid_for(
                configuration,
                trained,
                lambda: environment.measure_fold(configuration, rows, fold, folds),
                train=False,
            )
        )

    @contextmanager
    def decider(self, which: OutsideDecider, seed: int) -> Iterator[DecidingSession]:
        """A search of another library, which is ended whatever comes.

        Raises SkipError where that library is missing.
        """
        if self._deciders is None:
            raise SkipError(f"{which.system} runs on jobs alone: take `leaseboard race`")
        session = self._deciders.start(which, seed)
        try:
            yield session
        finally:
            session.close()

    def _paid_for(
        self,
        configuration: int,
        rows: int,
        measure: Callable[[], Probe],
        *,
        train: bool,
        seconds: float = math.inf,
    ) -> Generator[Event, None, Probe | None]:
        """Lease, measure, charge and tell a probe that trains on `rows` rows."""
        if self.unit == "rows" and self.at + rows > self.budget:
            return None
        start = self.at
        yield LeaseGranted(at=start, configuration=configuration, amount=rows)
        probe = measure()
        cpu, wall = probe.cpu(train=train), probe.wall(train=train)
        left = min(seconds, self.budget - start) if self.unit == "seconds" else seconds
        if cpu > left:
            self._charge(rows, left, wall * left / cpu)
            return None
        self._charge(rows, cpu, wall)
        if probe.status != "ok":
            self._last_failure = f"configuration {configuration} at {rows} rows: {probe.reason}"
        self._sizes.append((configuration, rows))
        yield ProbeFinished(
            at=self.at,
            configuration=configuration,
            rows=rows,
            train_accuracy=probe.train_accuracy if train else math.nan,
            test_accuracy=probe.test_accuracy,
            test_rows=probe.test_rows,
            cpu_seconds=cpu,
            wall_seconds=wall,
            status=probe.status,
            reason=probe.reason,
        )
        return probe

    def train(self, configuration: int) -> Generator[Event, None, Probe | None]:
        """Train in full and pay for it, unless a probe has done so; the probe, or None if cut.

        Selection ends here: what is charged from now on is no part of its cost.
        """
        self._selection = self.cost
        if (configuration, self.train_rows) in self._sizes:
            return self._environment.measure(configuration, self.train_rows, self.test_rows)
        return (yield from self.probe(configuration, self.train_rows, train=False))

    def confirm(self, configuration: int, least: float) -> bool:
        """Whether a configuration reaches `least`, trained and tested in full.

        The training is the one that the score is of: as there it is charged to no one. Where
        False is the answer the selection goes on, and a probe in full is paid for.
        """
        full = self._environment.measure(configuration, self.train_rows, self.test_rows)
        return full.status == "ok" and full.test_accuracy >= least

    def retest(self, configuration: int, rows: int) -> Probe:
        """Test the model of an earlier probe on all test rows; only the test is paid for."""
        probe = self._environment.measure(configuration, rows, self.test_rows)
        cpu = probe.test_cpu
        if self.unit == "seconds":
            cpu = min(cpu, self.budget - self.at)
        self._charge(0, cpu, probe.test_wall)
        return probe

    def twin(self) -> SamplesBench:
        """A fresh bench on the same environment, which answers alike."""
        return SamplesBench(
            self._environment, self.seed, self.budget, self.unit, self.initial_rows
        )

    def score(self) -> Score:
        """Test accuracy of the champion trained in full; that training is not charged."""
        if self.champion is None:
            raise LeaseboardError(f"no configuration could be trained: {self._last_failure}")
        full = self._environment.measure(self.champion, self.train_rows, self.test_rows)
        if full.status != "ok":
            raise LeaseboardError(
                f"the chosen configuration {self.champion} cannot be trained on all"
                f" {self.train_rows} rows: {full.status}, {full.reason}"
            )
        selection = self._selection or self.cost
        return Score(
            full.test_accuracy,
            "test_accuracy",
            "max",
            {
                "selection_cpu_seconds": selection.cpu_seconds,
                "selection_wall_seconds": selection.wall_seconds,
                "training_cpu_seconds": full.cpu(train=False),
                "configurations": float(len(self.configurations)),
                "probes": float(len(self._sizes)),
                "largest_rows": float(max((rows for _, rows in self._sizes), default=0)),
            }
            | self._notes,
        )

    def _charge(self, rows: int, cpu: float, wall: float) -> None:
        self._cost = self._cost.plus(cpu, wall)
        spent = self.at + (rows if self.unit == "rows" else cpu)
        # A cut probe spends exactly what was left; rounding must not spend more.
        self.at = min(spent, self.budget)


class SamplesAlgorithm(Algorithm[SamplesBench]):
    """Runs on a samples bench."""

    bench: ClassVar[str] = "samples"

    by_seconds: ClassVar[bool] = False
    """Whether the seconds that probes took decide what it does: where they are measured anew, it
    may do something else."""


def geometric_sizes(initial: int, full: int, ratio: float = 2.0) -> list[int]:
    """The sample sizes s_0, c s_0, c^2 s_0, ... and at last the full size.

    Examples
    --------
    >>> geometric_sizes(1000, 10_000)
    [1000, 2000, 4000, 8000, 10000]
    """
    sizes: list[int] = []
    exponent = 0
    while (rows := round(initial * ratio**exponent)) < full:
        sizes.append(rows)
        exponent += 1
    return [*sizes, full]
