"""Trials under a budget in CPU seconds: stopped at its end, with models and predictions kept."""

from __future__ import annotations

import math
import resource
import tempfile
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leaseboard.algorithms.environments.pulls import UNAFFORDABLE, Trial
from leaseboard.algorithms.seeds import derive_seed
from leaseboard.tasks.evaluate.trials import evaluate, optimisers, recipes
from leaseboard.tasks.evaluate.trials.evaluate import Arrays, Order, TrialOutcome, fitted_in
from leaseboard.tasks.evaluate.trials.optimisers import OptimisedTrials, Optimiser, Suggestion
from leaseboard.tasks.evaluate.trials.replay import order_of
from leaseboard.tasks.evaluate.trials.spaces import Space
from leaseboard.tasks.processes.child import Limits

BETWEEN_RUNGS = 4
"""Factor by which the next fit of a trial has more rows."""
OF_TREES = 0.5
"""Boosting begins if this share of its usual seconds is left; it then has fewer trees."""
RECENT = 3
"""Trials of an arm whose median cost says what its next one will take."""


@dataclass(slots=True)
class Tried:
    """Trial that was begun: what is known of it, and what it took."""

    suggestion: Suggestion
    order: Order
    """Which fits the same model again, and names the file of its models."""
    status: str = ""
    """Empty while it has not ended."""
    cpu_seconds: float = 0.0
    """The last time that it was run."""
    score: float = math.nan
    predictions: Any = None
    """For all validation rows; None of a fit on few rows."""


@dataclass(slots=True)
class _Search:
    """Trials of one optimiser, in their order."""

    optimiser: Optimiser
    tried: list[Tried] = field(default_factory=list)
    ended: list[Trial] = field(default_factory=list)
    """The results of those that have ended: of all but the last of `tried`, or of all."""


@dataclass(eq=False, kw_only=True)
class BudgetedTrials(OptimisedTrials[_Search]):
    """Trials that a budget in CPU seconds can stop, and that are charged with all they cost.

    A trial is charged with all time of this process and its forks since the one before, so that
    what was spent is charged, with several forks at once, too. One that would take longer than
    what is left, by those of its arm before it, is not begun; one that does is stopped if trials
    have limits. It can be asked for again.

    - `limits`: CPU seconds and memory of each trial; without them trials run in this process.
    - `folder`: gets the fitted models.
    - `n_jobs`: how many trials of different arms may run at once, if it is known that they are
      wanted.
    """

    arrays: Arrays
    limits: Limits | None
    folder: Path
    n_jobs: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        self.n_folds = len(self.arrays.folds)
        self.stoppable = tuple(
            self.n_folds == 1 and recipes.stoppable(arm.estimator)
            for arm in self.space.arms.values()
        )
        self.tried: dict[int, Tried] = {}
        """By the seed of the learner."""
        self._lock = threading.Lock()
        self._began = self._charged = _spent()

    def warm(self) -> None:
        """Import what the arms need, for no trial to be charged with it."""
        evaluate.warm()
        for arm in self.space.arms.values():
            with suppress(Exception):  # a trial will meet it again and say so
                recipes.build(arm.estimator, {**arm.constants, **arm.defaults()}, 1, 0)
        self._began = self._charged = _spent()

    def prefetch(self, wanted: Sequence[tuple[int, int]], seconds: float = math.inf) -> None:
        """Run the missing ones of these trials (arm, n) at once, each within `seconds`."""
        searches = [(self.of_arm(arm), n) for arm, n in wanted]
        missing = [(search, n) for search, n in searches if len(search.ended) <= n]
        at_once = min(self.n_jobs, len(missing))
        if at_once < 2 or self.limits is None:
            return
        import threadpoolctl

        # Each fork sets and resets it for the whole process, so it is set here once.
        with threadpoolctl.threadpool_limits(1), ThreadPoolExecutor(at_once) as pool:
            for trial in pool.map(lambda each: self._get(*each, seconds), missing):
                if not trial.ended:  # the next one is charged with what it took
                    self._charged -= trial.cpu_seconds, trial.wall_seconds

    def leaders(self) -> list[tuple[float, float]]:
        """Return score and seconds of a fit on all rows of each arm's best trial, best first."""
        found: dict[str, tuple[float, float]] = {}
        for each in self.tried.values():
            if each.predictions is not None:
                arm, share = each.suggestion.arm, each.suggestion.fidelity
                own = each.score, each.cpu_seconds / share
                found[arm] = max(found.get(arm, own), own)
        return sorted(found.values(), reverse=True)

    def refit(self, tried: Tried, seconds: float) -> tuple[list[Any] | None, float]:
        """Return the model of a trial, fitted with its seed on the rows of `Arrays.refit`.

        With it what the fit took. None if that fails, does not end within `seconds`, or falls
        short of the trial's score on rows of which it has learned: luck made the one or unmade
        the other.
        """
        with tempfile.NamedTemporaryFile() as file:
            order = replace(tried.order, keep=file.name, seconds=seconds, refit=True, fidelity=1.0)
            outcome = evaluate.carry_out(order, self.arrays, self.limits)
            self.spent_cpu_seconds = float((_spent() - self._began)[0])
            worse = outcome.score is None or outcome.score < tried.score
            return (None if worse else fitted_in(file.name)), outcome.cpu_seconds

    def _open(self, optimiser: str, space: Space, seed: int) -> _Search:
        n_rows = min(len(fold.train_y) for fold in self.arrays.folds)
        shares = rungs(n_rows, max(arm.rows_at_first for arm in space.arms.values()))
        return _Search(optimisers.make(optimiser, space, seed, shares))

    def _get(self, stream: _Search, n: int, seconds: float) -> Trial:
        while len(stream.ended) <= n:
            trial = self._go_on(stream, seconds)
            if not trial.ended:
                return trial
            stream.ended.append(trial)
        return stream.ended[n]

    def _go_on(self, search: _Search, seconds: float) -> Trial:
        """Run the next trial of a search if `seconds` can be enough."""
        n = len(search.ended)
        if len(search.tried) == n:
            search.tried.append(self._begun(search.optimiser, n))
        tried = search.tried[n]
        if not self._expected(search, tried) < seconds:
            unaffordable = TrialOutcome(status="timeout", reason=UNAFFORDABLE)
            return self._trial(tried, unaffordable, np.zeros(2), ended=False)
        with self._lock:
            left = max(0.0, seconds - (_spent() - self._charged)[0])
        order = replace(tried.order, seconds=left)
        outcome = evaluate.carry_out(order, self.arrays, self.limits)
        with self._lock:
            now = _spent()
            charge, self._charged = now - self._charged, now
            self.spent_cpu_seconds = float((now - self._began)[0])
        tried.cpu_seconds = outcome.cpu_seconds
        if outcome.status == "stopped":
            return self._trial(tried, outcome, charge, ended=False)
        tried.status = outcome.status
        search.optimiser.tell(n, tried.suggestion, outcome.reward)
        if outcome.predictions is not None:
            tried.score, tried.predictions = outcome.score or 0.0, outcome.predictions
        if outcome.trees:  # a further fit has just as many
            values = {**tried.order.values, "n_estimators": outcome.trees}
            tried.order = replace(tried.order, values=values)
        return self._trial(tried, outcome, charge, ended=True)

    def _begun(self, optimiser: Optimiser, n: int) -> Tried:
        seed = derive_seed(optimiser.seed, "learner", n)
        suggestion = optimiser.suggest(n)
        # Sorted, as events of stored trials have them.
        parameters = dict(sorted(suggestion.parameters.items()))
        suggestion = replace(suggestion, parameters=parameters)
        order = order_of(self.space, suggestion, seed)
        made = Tried(suggestion, replace(order, keep=str(self.folder / f"{seed}.pickle")))
        return self.tried.setdefault(seed, made)

    def _trial(
        self, tried: Tried, outcome: TrialOutcome, charge: NDArray[np.float64], *, ended: bool
    ) -> Trial:
        suggestion = tried.suggestion
        return Trial(
            self.arms.index(suggestion.arm), suggestion.parameters, outcome.reward, None,
            *charge.tolist(), outcome.status, outcome.reason, suggestion.fidelity,
            tried.order.seed, ended,
        )  # fmt: skip

    def _expected(self, search: _Search, tried: Tried) -> float:
        """Return the seconds that a trial takes if it costs as the arm's last ones, by row.

        At least the seconds that it has taken without an end; 0 if nothing is known.
        """

        def fits(fidelity: float) -> float:
            return fidelity * (self.n_folds if fidelity == 1 else 1)

        arm, before = tried.suggestion.arm, search.tried[: len(search.ended)]
        costs = [
            each.cpu_seconds / fits(each.suggestion.fidelity)
            for each in before
            if each.suggestion.arm == arm and each.status == "ok"
        ]
        usual = float(np.median(costs[-RECENT:])) if costs else 0.0
        usual *= fits(tried.suggestion.fidelity)
        if self.stoppable[self.arms.index(arm)]:
            usual *= OF_TREES
        return max(usual, tried.cpu_seconds)


def rungs(n_rows: int, rows_at_first: int) -> list[float]:
    """Return the shares of the rows on which a configuration is fitted, one after the other.

    Examples
    --------
    >>> rungs(100_000, 4_000)
    [0.0625, 0.25, 1.0]
    """
    shares = [1.0]
    while rows_at_first / n_rows * BETWEEN_RUNGS <= shares[0]:
        shares.insert(0, max(rows_at_first / n_rows, shares[0] / BETWEEN_RUNGS))
    return shares


def _spent() -> NDArray[np.float64]:
    """Return the CPU seconds of this process and its forks, and the wall time."""
    kinds = resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN
    return np.array([sum(sum(resource.getrusage(kind)[:2]) for kind in kinds), perf_counter()])
