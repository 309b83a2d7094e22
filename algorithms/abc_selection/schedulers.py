"""Which configuration to probe next, and on how many rows: Algorithm 3, UCB and RoundRobin.

Notes
-----
Departs from the paper, or decides what it leaves open:

- An upper bound is clipped to 1 and ties go to the fewest probes. So configurations that were
  never probed come first, and every gradient below is of a configuration with a probe.
- The gradient of a single probe counts from probe 0, which took no time and bounds by [0, 1].
- A bound that did not improve has an infinite gradient: more time is not known to help it.
- A configuration that was probed in full has nothing left to probe; the next one in the order
  of upper bounds replaces it.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from leaseboard.algorithms.environments.selecting import Probe


@dataclass(slots=True, kw_only=True)
class Prospect:
    """C_i in the remaining set Omega: its interval, its sample size and its last two probes.

    Attributes
    ----------
    index : int
    rows : int
        C.s, the rows of the last probe, 0 before the first.
    lower, upper : float
        C.l and C.u.
    lower_old, upper_old : float
        C.l_old and C.u_old, cached at the last snapshot.
    probes : int
    seconds, rows_before, seconds_before : float
        T of the last probe; rows and T of the one before it.
    lower_before, upper_before : float
        The interval before the last probe.
    curve : list of Probe
        All of its probes.
    learner : str
        What it is a configuration of.
    above, below : float
        By how much the last probe's own bounds, which trust in fitness, are above its accuracy
        on its training rows and below that on its test rows.
    """

    index: int
    rows: int = 0
    lower: float = 0.0
    upper: float = 1.0
    lower_old: float = 0.0
    upper_old: float = 1.0
    probes: int = 0
    seconds: float = 0.0
    rows_before: int = 0
    seconds_before: float = 0.0
    lower_before: float = 0.0
    upper_before: float = 1.0
    curve: list[Probe] = field(default_factory=list)
    learner: str = ""
    above: float = 0.0
    below: float = 0.0


def lower_gradient(candidate: Prospect) -> float:
    """Return dT/dl: seconds for each unit that the lower bound rose in the last probe."""
    rise = candidate.lower - candidate.lower_before
    return (candidate.seconds - candidate.seconds_before) / rise if rise > 0 else math.inf


def upper_gradient(candidate: Prospect) -> float:
    """Return dT/du: seconds for each unit that the upper bound changed; negative when it fell."""
    change = candidate.upper - candidate.upper_before
    return (candidate.seconds - candidate.seconds_before) / change if change < 0 else -math.inf


def by_upper_bound(omega: Sequence[Prospect]) -> list[Prospect]:
    """Return Omega in descending order of the upper bound, then of the fewest probes."""
    return sorted(omega, key=lambda c: (-c.upper, c.probes, c.index))


def gradient_ci(omega: Sequence[Prospect], full: int) -> Prospect | None:
    """Return the guessed best or its runner-up by the cost of moving their bounds (algorithm 3).

    Parameters
    ----------
    omega : sequence of Prospect
        The remaining configurations, at least one.
    full : int
        |D_tr|: a candidate of so many rows is exhausted.

    Returns
    -------
    Prospect or None
        None when all are exhausted.
    """
    order = by_upper_bound(omega)
    best, *others = order
    if best.probes and others:
        falls = abs(sum(upper_gradient(other) for other in others))
        if not lower_gradient(best) <= falls:
            order = [*others, best]
    return next((c for c in order if c.rows < full), None)


def ucb(omega: Sequence[Prospect], full: int) -> Prospect | None:
    """Return the configuration with the highest upper bound."""
    return next((c for c in by_upper_bound(omega) if c.rows < full), None)


def round_robin(omega: Sequence[Prospect], full: int) -> Prospect | None:
    """Return the configuration with the fewest probes."""
    order = sorted(omega, key=lambda c: (c.probes, c.index))
    return next((c for c in order if c.rows < full), None)


SCHEDULERS: dict[str, Callable[[Sequence[Prospect], int], Prospect | None]] = {
    "gradient-ci": gradient_ci,
    "ucb": ucb,
    "round-robin": round_robin,
}


def best_guess(leader: Prospect, omega: Sequence[Prospect]) -> Prospect:
    """Return the candidate of the highest lower or upper bound that can lose least.

    A candidate's gap is the highest upper bound among the others minus its own lower bound.
    """

    def gap(guess: Prospect) -> float:
        return max((c.upper for c in omega if c is not guess), default=0.0) - guess.lower

    hopeful = max(omega, key=lambda c: c.upper)
    return hopeful if gap(hopeful) < gap(leader) else leader
