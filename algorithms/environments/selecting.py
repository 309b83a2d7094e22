"""Base of environments on which one of given configurations is chosen."""

import math
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from leaseboard.algorithms import events
from leaseboard.algorithms.base import Cost, Environment, Score
from leaseboard.algorithms.errors import LeaseboardError

Steps = Generator[events.Event, None, Any]


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
    right : str
        Of a fold, if it was asked for: a sign for each row, in the same order for every
        configuration, ``1`` where the model is right, else ``0``.
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
    right: str = ""

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


class SelectionEnvironment(Environment):
    """Environment of given configurations, one of which is the answer of a run.

    Attributes
    ----------
    configurations : tuple of dict
        By number.
    champion : int or None
        The answer.
    """

    to_be_spent: ClassVar[bool] = False

    def __init__(
        self, configurations: Sequence[events.Parameters], unit: str, budget: float
    ) -> None:
        super().__init__(unit, float(budget))
        self.configurations = tuple(dict(each) for each in configurations)
        self.champion: int | None = None
        self._spent = Cost()
        self._paid: list[int] = []
        self._last_failure = "none was tried"

    @property
    def cost(self) -> Cost:
        """Recorded cost of all that was tried."""
        return self._spent

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
            fresh_copy = next((j for j in distinct if contents[j] == content), None)
            if fresh_copy is None:
                distinct.append(index)
            else:
                reason = f"duplicate of configuration {fresh_copy}"
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

    def _paid_for(
        self,
        configuration: int,
        amount: int,
        measure: Callable[[], Probe],
        train: bool = False,
        seconds: float = math.inf,
    ) -> Generator[events.Event, None, Probe | None]:
        """Lease, measure, charge and report a probe.

        None when the budget does not buy it, or `seconds` of CPU time ended before it did: then
        these are spent, and nothing is learned.

        Parameters
        ----------
        configuration : int
        amount : int
            Of the lease, and of the budget.
        measure : callable
        train : bool
            Whether the accuracy on the training rows is wanted, and paid for.
        seconds : float
        """
        if self.at + amount > self.budget:
            return None
        yield events.LeaseGranted(at=self.at, configuration=configuration, amount=amount)
        probe = measure()
        cpu, wall = probe.cpu(train=train), probe.wall(train=train)
        ended = cpu <= seconds
        if not ended:
            cpu, wall = seconds, wall * seconds / cpu
        self._spent = self._spent.plus(cpu, wall)
        self.at += amount
        if not ended:
            return None
        self._paid.append(amount)
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

    def _crowned(self) -> int:
        """Return the answer of the run; raise LeaseboardError if it has no answer."""
        if self.champion is None:
            raise LeaseboardError(f"no configuration could be trained: {self._last_failure}")
        return self.champion

    def _scored(self, metrics: dict[str, float], full: Probe | None, *others: Probe) -> Score:
        """Return the test accuracy of the answer trained in `full`, which is not charged.

        Without that, the accuracy on the rows of all `others`. Raises LeaseboardError if one of
        these trainings failed.
        """
        for probe in [*others, *([full] if full else [])]:
            if probe.status != "ok":
                raise LeaseboardError(
                    f"the chosen configuration {self.champion} cannot be trained on {probe.rows}"
                    f" rows: {probe.status}, {probe.reason}"
                )
        metrics = {
            "selection_cpu_seconds": self._spent.cpu_seconds,
            "selection_wall_seconds": self._spent.wall_seconds,
            "configurations": float(len(self.configurations)),
            **metrics,
            **self._notes,
        }
        if others:
            rows = sum(probe.test_rows for probe in others)
            metrics["cv_accuracy"] = sum(probe.test_correct for probe in others) / rows
        if full is None:
            return Score(metrics["cv_accuracy"], "cv_accuracy", "max", metrics)
        metrics["training_cpu_seconds"] = full.cpu(train=False)
        return Score(full.test_accuracy, "test_accuracy", "max", metrics)
