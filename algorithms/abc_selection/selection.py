"""ABC: progressive sampling and pruning by confidence intervals (Algorithms 1 and 2)."""

import math
from collections.abc import Sequence
from operator import attrgetter
from typing import Annotated, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from leaseboard.algorithms import events
from leaseboard.algorithms.abc_selection import bounds, schedulers
from leaseboard.algorithms.abc_selection.bounds import Kind
from leaseboard.algorithms.abc_selection.schedulers import Allowance, Prospect
from leaseboard.algorithms.base import Run
from leaseboard.algorithms.environments import samples
from leaseboard.algorithms.environments.samples import Probe, SamplesEnvironment


@dataclass(frozen=True, kw_only=True)
class ABC(samples.SamplesAlgorithm):
    """Selection of the approximate best configuration, on samples, within epsilon of the best.

    Algorithm 1: probe a configuration on a sample (line 5); bound what full training would
    give (line 6, Algorithm 2); the highest lower bound leads (line 7); those that cannot beat
    it by more than epsilon are pruned (lines 8 and 9); pruning is a snapshot at which intervals
    are cached (lines 11 and 12); the scheduler chooses the next probe (line 13), until one
    configuration is left.

    With probability 1 - delta its real test accuracy is within epsilon of the best, if the
    learners are fit (none does better on their sample when trained on other data) or every rise
    is seen in time (`leaseboard.algorithms.abc_selection.bounds`). With ``paper`` bounds or a
    time limit it also takes that they are exploitive (more training data never hurts), and that
    those that led and pruned can be trained in full; otherwise the full training of the answer
    checks it.

    Parameters
    ----------
    epsilon : float
        Accuracy that may be lost.
    delta : float
        Probability with which more may be lost: .5 in the paper's experiments.
    scheduler : {"gradient-ci", "ucb", "round-robin"}
        Algorithm 3, or what the paper compares it with.
    bounds : {"paper", "best"}
        The kind of interval, see `leaseboard.algorithms.abc_selection.bounds`. With ``paper`` the
        whole selection is the paper's, but for what the notes name. The name ``abc-tight`` has
        ``best`` and a `delta` of .1.
    time_limit : float, optional
        CPU seconds after which the best guess is returned.

    Notes
    -----
    Departs from the paper:

    - The scheduler runs in every round, because the text says so; only the listing's
      indentation says otherwise.
    - The leader is never pruned, because line 9 would remove it when its own interval is
      narrower than epsilon.
    - A configuration takes the lead when its own new lower bound is above the leader's. So where
      the leader's bound falls, after crossed bounds or with ``paper`` between two snapshots, it
      leads until another one is probed, though line 7 has the highest lower bound lead at once.
    - At full size both bounds are the measured accuracy, because nothing is left to estimate
      and equal configurations would never separate.
    - But for ``paper`` bounds the intervals of a configuration are intersected at every probe, not
      only at snapshots, because what matters of them holds at once.
    - But for ``paper`` bounds the first sample is half of `initial_rows`, none is dropped after
      fewer than three, fitness is checked, larger samples are tested on more rows
      (`leaseboard.algorithms.abc_selection.bounds`), and full
      training takes the place of samples that would not pay or would not separate any
      (`leaseboard.algorithms.abc_selection.schedulers`); not under a time limit.
    - But for ``paper`` bounds and under a time limit none is pruned by the bound of one with
      fewer than three samples, and for good only when the full training of the answer has reached
      the bound that they were pruned by. As the score's it is charged to no one, unless it refutes
      the bound: then the answer gets its accuracy, the others are considered again, and the search
      goes on.
    - Crossed bounds prove that an assumption is broken: the newest interval alone is kept.
    - A configuration that fails at some size leaves with its reason.

    References
    ----------
    Huang, Wang, Ding, Chaudhuri. ABC: efficient selection of machine learning configuration on
    large dataset. AAAI 2019, as "Efficient identification of approximate best configuration of
    training in large datasets".

    Examples
    --------
    >>> from leaseboard.algorithms.checks import tiny_environment
    >>> env = tiny_environment("samples")
    >>> events = list(ABC(bounds="best", delta=0.1).run(env, seed=0))
    >>> env.champion
    3
    """

    epsilon: Annotated[float, Field(ge=0, lt=1)] = 0.01
    delta: Annotated[float, Field(gt=0, lt=1)] = 0.5
    scheduler: Literal["gradient-ci", "ucb", "round-robin"] = "gradient-ci"
    bounds: Kind = "paper"
    time_limit: Annotated[float, Field(gt=0)] | None = None

    def run(self, env: SamplesEnvironment, seed: int) -> Run:
        """Run algorithm 1."""
        omega = [
            Prospect(index=index, learner=str(env.configurations[index]["learner"]))
            for index in (yield from env.admit())
        ]
        sizes = self._sizes(env)
        n, m, full, t = len(omega), len(sizes) - 1, env.train_rows, env.test_rows
        idle = bounds.PROBES - 1
        estimator = bounds.Estimator(self.bounds, n, m, full, t, self.delta, idle)
        allowance = Allowance(list(omega), full, t)
        leader = omega[0]
        dropped: list[Prospect] = []
        yield from env.crown(leader.index)
        while following := self._next(env, allowance, leader, omega, bool(dropped), sizes):
            chosen, rows = following
            left = (self.time_limit or math.inf) - env.cost.cpu_seconds
            # The first samples are tested on few rows, for they drop none.
            tested = 2 if self._published or rows in sizes[: bounds.PROBES] else bounds.TESTED
            probe = yield from env.probe(chosen.index, rows, seconds=left, tested=tested)
            if probe is None:
                break
            if probe.status != "ok":
                omega.remove(chosen)
                allowance.prospects.remove(chosen)
                omega, dropped = omega + dropped, []  # dropped by its bound, some of them
                leader = max(omega, key=attrgetter("lower")) if chosen is leader else leader
                yield from env.fail(chosen.index, probe, leader.index)
                continue
            before = chosen.lower
            bounds.estimate(chosen, probe, estimator)
            if not self._published:
                yield from self._check_fitness(env, chosen, probe)
                yield from self._check_falls(env, chosen, probe, before)
            yield events.BoundsUpdated(
                at=env.at,
                configuration=chosen.index,
                value=probe.test_accuracy,
                lower=chosen.lower,
                upper=chosen.upper,
                units=rows,
            )
            if chosen.lower > leader.lower or (chosen is leader and not self._published):
                leader = max(omega, key=attrgetter("lower"))
                yield from env.crown(leader.index)
            pruned = self._beaten(leader, omega, dropped, full)
            everyone = sorted(omega + dropped, key=attrgetter("index"))
            omega, dropped = [c for c in everyone if c not in pruned], pruned
            if not self._thrifty:
                yield from self._eliminated(env, dropped, leader)
                dropped = []
            if pruned:
                for c in omega:
                    c.lower_old, c.upper_old = c.lower, c.upper
            if chosen is leader:
                yield events.Measured(at=env.at, value=probe.test_accuracy)
        leader = schedulers.best_guess(leader, omega)
        yield from env.crown(leader.index)
        yield from self._eliminated(env, dropped, leader)

    def _next(
        self, env: SamplesEnvironment, allowance: Allowance, leader: Prospect,
        omega: list[Prospect], unproven: bool, sizes: list[int],
    ) -> tuple[Prospect, int] | None:  # fmt: skip
        """Return the next probe, of the last one in full, unless that confirms its bound."""
        full = env.train_rows
        order = schedulers.SCHEDULERS[self.scheduler](omega) if omega[1:] else []
        chosen = next((c for c in order if c.rows < full), None)
        if chosen and self._thrifty:
            return self._afford(allowance, chosen, omega, sizes)
        if chosen:
            return chosen, _next_size(chosen, sizes)
        known = not unproven or leader.rows == full or env.confirm(leader.index, leader.lower)
        return None if known else (leader, full)

    def _beaten(
        self, leader: Prospect, omega: list[Prospect], dropped: list[Prospect], full: int
    ) -> list[Prospect]:
        """Return those that the leader beats, or the best of those with a bound of enough probes.

        Those dropped before are judged again, as bounds may have fallen since.
        """
        proven = [c for c in omega if len(c.curve) >= bounds.PROBES or c.rows == full]
        if self._thrifty and not proven:
            return dropped
        judge = max(proven, key=attrgetter("lower")) if self._thrifty else leader
        others = [c for c in (*dropped, *omega) if c not in (judge, leader)]
        return [c for c in others if c.upper - judge.lower <= self.epsilon]

    def _eliminated(
        self, env: SamplesEnvironment, dropped: Sequence[Prospect], leader: Prospect
    ) -> Run:
        for c in dropped:
            reason = (
                f"upper bound {c.upper:.4f} is not {self.epsilon:g} above the lower"
                f" bound {leader.lower:.4f} of configuration {leader.index}"
            )
            yield events.Eliminated(at=env.at, configuration=c.index, reason=reason)

    @property
    def _published(self) -> bool:
        """True if the selection is the paper's."""
        return self.bounds == "paper"

    @property
    def _thrifty(self) -> bool:
        """True if samples may give way to full training; under a time limit it might not end."""
        return not self._published and self.time_limit is None

    def _sizes(self, env: SamplesEnvironment) -> list[int]:
        if self._published:
            return samples.geometric_sizes(env.initial_rows, env.train_rows)
        first = max(1, env.initial_rows // 2)
        sizes = samples.geometric_sizes(first, env.train_rows)
        return schedulers.worthwhile(sizes, env.train_rows)

    def _afford(
        self, allowance: Allowance, chosen: Prospect, omega: list[Prospect], sizes: list[int]
    ) -> tuple[Prospect, int]:
        """Return the next sample of the chosen one or another; else a full training."""
        full = sizes[-1]
        for each in (chosen, *schedulers.by_upper_bound(omega)):
            if each.rows == full:
                continue
            rows = _next_size(each, sizes)
            if rows == full or not allowance.covers(each, rows, omega):
                continue
            if not each.curve:
                return each, rows
            larger = [size for size in sizes[:-1] if size >= rows]
            needed = schedulers.samples_needed(each, omega, larger, self.epsilon)
            if needed and allowance.pays(each, needed):
                return each, rows
        return allowance.most_useful(omega), full

    def _check_fitness(self, env: SamplesEnvironment, chosen: Prospect, probe: Probe) -> Run:
        """Report if a rise of the training accuracy is beyond chance and worth epsilon."""
        if probe.train_correct is None or len(chosen.curve) < 2:
            return
        before = chosen.curve[-2]
        risen = bounds.rise(before, probe)
        worth = risen * math.log2((env.train_rows + env.test_rows) / probe.rows)
        if worth > self.epsilon and bounds.beyond_chance(before, probe):
            yield events.MonotonicityViolated(
                at=env.at, configuration=chosen.index, rows=probe.rows, rise=risen, worth=worth
            )

    def _check_falls(
        self, env: SamplesEnvironment, chosen: Prospect, probe: Probe, bound: float
    ) -> Run:
        """Report a loss that is worth epsilon, or a full training below the lower bound before."""
        if probe.rows == env.train_rows:
            fallen, worth = bound - probe.test_accuracy, math.inf
        else:
            fallen = bounds.fall(*chosen.curve[-2:]) if chosen.curve[1:] else 0.0
            worth = fallen * math.log2(env.train_rows / probe.rows)
        if fallen > 0 and worth > self.epsilon:
            yield events.ExploitivenessViolated(
                at=env.at, configuration=chosen.index, rows=probe.rows, fall=fallen
            )


def _next_size(chosen: Prospect, sizes: Sequence[int]) -> int:
    """Return twice the last size, on the grid of sizes (algorithm 3, line 6)."""
    return next(rows for rows in sizes if rows > chosen.rows)
