"""Environment that trains given configurations on s rows, tests them, and charges the cost."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass
from typing import Any, ClassVar

from numpy.typing import NDArray

from leaseboard.algorithms import events
from leaseboard.algorithms.base import Algorithm, Cost, Environment, Score
from leaseboard.algorithms.errors import LeaseboardError, SkipError

Steps = Generator[events.Event, None, Any]


@dataclass(frozen=True, slots=True)
class ProbeAsked:
    """Probe that a search asks for next.

    Attributes
    ----------
    configuration : int
        From 0.
    rows : int
        Of the sample.
    """

    configuration: int
    rows: int


Deciders = Callable[[str, Mapping[str, Any], int], Any]
"""Starts a search of a system with a seed; SkipError where its library is missing.

It gets its ``settings``, in that library's words where it has some, how many ``configurations``
there are, the ``rows`` of a full training and the ``initial_rows`` of a first probe.

It has `hear`, which returns the `ProbeAsked` next, or at last the number of the configuration that
is chosen, None if nothing could be trained; `report`, which takes the accuracy of what was asked
last, None if that could not be trained; and `close`, also while it works.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """Record of one configuration trained on the first `rows` training rows.

    Attributes
    ----------
    rows, test_rows : int
        |S_tr| and |S_te|.
    train_correct : int or None
        Training rows that the model classifies correctly; None at full size.
    half_correct : int or None
        Of the first ``rows // 2`` of them; None at full size, and where not counted.
    common : int or None
        Training rows of the most frequent class; None at full size, and where not counted.
    test_correct : int
        Test rows, of `test_rows`, that it classifies correctly.
    half_test_correct : int or None
        Of the first ``test_rows // 2`` of them; None where not counted.
    fit_cpu, fit_wall, train_cpu, train_wall, test_cpu, test_wall : float
        Seconds of the fit and of the evaluations on the training and on the test rows.
    status, reason : str
        ``ok``, or why it has no model: ``crash``, ``timeout``, ``memout``.
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
        """Return CPU seconds, with or without the evaluation on the training rows."""
        return self.fit_cpu + self.test_cpu + (self.train_cpu if train else 0.0)

    def wall(self, *, train: bool = True) -> float:
        """Return wall seconds, with or without the evaluation on the training rows."""
        return self.fit_wall + self.test_wall + (self.train_wall if train else 0.0)


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

    configurations: Sequence[events.Parameters]
    train_rows: int
    test_rows: int

    @abstractmethod
    def measure(self, configuration: int, rows: int, test_rows: int) -> Probe:
        """Train on the first `rows` training rows and test on the first `test_rows` test rows."""


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


class SamplesEnvironment(Environment):
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

    Attributes
    ----------
    configurations : tuple of dict
        By number.
    champion : int or None
        The answer.

    Notes
    -----
    A probe is tested on twice its training rows, as the paper's appendix has it, unless the
    algorithm asks for more, and on all test rows at most; at full size on all of them, so that
    the accuracy is measured. Its recorded cost is charged, whether it is run now or
    replayed.
    """

    kind: ClassVar[str] = "samples"
    to_be_spent: ClassVar[bool] = False

    def __init__(
        self,
        probes: Probes,
        budget: float | None = None,
        initial_rows: int = 1000,
        deciders: Deciders | None = None,
    ) -> None:
        self.train_rows, self.test_rows = probes.train_rows, probes.test_rows
        most = 5.0 * len(probes.configurations) * self.train_rows
        super().__init__("rows", float(most if budget is None else budget))
        self.configurations = tuple(dict(each) for each in probes.configurations)
        self.champion: int | None = None
        self.cost: Cost = Cost()  # recorded, of all that was tried
        self._n_paid = 0
        self._last_failure = "none was tried"
        self.initial_rows = min(initial_rows, self.train_rows)
        self._probes, self._deciders = probes, deciders

    def admit(self) -> Generator[events.Event, None, list[int]]:
        """Admit every configuration; return those that do not duplicate an earlier one.

        A ``name`` does not distinguish configurations.
        """
        contents = [
            {key: value for key, value in parameters.items() if key != "name"}
            for parameters in self.configurations
        ]
        distinct: list[int] = []
        for index, parameters in enumerate(self.configurations):
            origin = str(parameters.get("learner", ""))
            yield events.ConfigurationAdmitted(
                at=self.at, configuration=index, parameters=parameters, origin=origin
            )
        for index, content in enumerate(contents):
            first = contents.index(content)
            if first == index:
                distinct.append(index)
            else:
                reason = f"duplicate of configuration {first}"
                yield events.Eliminated(at=self.at, configuration=index, reason=reason)
        return distinct

    def crown(self, configuration: int) -> Steps:
        """Make a configuration the answer of the run, if it is not."""
        if configuration != self.champion:
            yield events.ChampionChanged(
                at=self.at, configuration=configuration, previous=self.champion
            )
            self.champion = configuration

    def fail(self, configuration: int, probe: Probe, heir: int | None) -> Steps:
        """Remove a configuration whose probe failed; `heir` follows if it was the champion."""
        if configuration == self.champion and heir is not None:
            yield from self.crown(heir)
        if configuration != self.champion:
            reason = f"{probe.status} at {probe.rows} rows: {probe.reason}"
            yield events.ConfigurationFailed(
                at=self.at, configuration=configuration, reason=reason
            )

    def probe(
        self,
        configuration: int,
        rows: int,
        *,
        train: bool = True,
        seconds: float = math.inf,
        tested: int = 2,
    ) -> Generator[events.Event, None, Probe | None]:
        """Lease, measure, charge and report a probe of a configuration on `rows` rows.

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
        train = train and not full
        if self.at + rows > self.budget:
            return None
        yield events.LeaseGranted(at=self.at, configuration=configuration, amount=rows)
        test_rows = self.test_rows if full else min(tested * rows, self.test_rows)
        probe = self._probes.measure(configuration, rows, test_rows)
        cpu, wall = probe.cpu(train=train), probe.wall(train=train)
        ended = cpu <= seconds
        if not ended:
            cpu, wall = seconds, wall * seconds / cpu
        self.cost = self.cost.plus(cpu, wall)
        self.at += rows
        if not ended:
            return None
        self._n_paid += 1
        if probe.status != "ok":
            self._last_failure = (
                f"configuration {configuration} at {probe.rows} rows: {probe.reason}"
            )
        yield events.ProbeFinished(
            at=self.at,
            configuration=configuration,
            rows=probe.rows,
            train_accuracy=probe.train_accuracy if train else math.nan,
            test_accuracy=probe.test_accuracy,
            test_rows=probe.test_rows,
            cpu_seconds=cpu,
            wall_seconds=wall,
            status=probe.status,
            reason=probe.reason,
        )
        return probe

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
        """Return the test accuracy of the champion trained in full, which is not charged.

        Raises LeaseboardError without a champion, or if it cannot be trained.
        """
        if self.champion is None:
            raise LeaseboardError(f"no configuration could be trained: {self._last_failure}")
        full = self._probes.measure(self.champion, self.train_rows, self.test_rows)
        if full.status != "ok":
            raise LeaseboardError(
                f"the chosen configuration {self.champion} cannot be trained on {full.rows} rows:"
                f" {full.status}, {full.reason}"
            )
        metrics = {
            "configurations": float(len(self.configurations)),
            "probes": float(self._n_paid),
            **self._notes,
            "training_cpu_seconds": full.cpu(train=False),
        }
        return Score(full.test_accuracy, "test_accuracy", "max", metrics)


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
