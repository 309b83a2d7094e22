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
    """C_i in the remaining set Omega: its interval and its probes.

    Attributes
    ----------
    index : int
    lower, upper : float
        C.l and C.u.
    lower_old, upper_old : float
        C.l_old and C.u_old, cached at the last snapshot.
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
    lower: float = 0.0
    upper: float = 1.0
    lower_old: float = 0.0
    upper_old: float = 1.0
    lower_before: float = 0.0
    upper_before: float = 1.0
    curve: list[Probe] = field(default_factory=list)
    learner: str = ""
    above: float = 0.0
    below: float = 0.0

    @property
    def rows(self) -> int:
        """C.s, the rows of the last probe, 0 before the first."""
        return self.curve[-1].rows if self.curve else 0

    @property
    def seconds_more(self) -> float:
        """T of the last probe minus that of the one before."""
        return self.curve[-1].cpu() - sum(probe.cpu() for probe in self.curve[-2:-1])


def lower_gradient(candidate: Prospect) -> float:
    """Return dT/dl: seconds for each unit that the lower bound rose in the last probe."""
    rise = candidate.lower - candidate.lower_before
    return candidate.seconds_more / rise if rise > 0 else math.inf


def upper_gradient(candidate: Prospect) -> float:
    """Return dT/du: seconds for each unit that the upper bound changed; negative when it fell."""
    change = candidate.upper - candidate.upper_before
    return candidate.seconds_more / change if change < 0 else -math.inf


def by_upper_bound(omega: Sequence[Prospect]) -> list[Prospect]:
    """Return Omega in descending order of the upper bound, then of the fewest probes: UCB."""
    return sorted(omega, key=lambda c: (-c.upper, len(c.curve), c.index))


def by_probes(omega: Sequence[Prospect]) -> list[Prospect]:
    """Return Omega in the order of the fewest probes: RoundRobin."""
    return sorted(omega, key=lambda c: (len(c.curve), c.index))


def gradient_ci(omega: Sequence[Prospect]) -> list[Prospect]:
    """Return Omega by the upper bound, its best last where others come first (algorithm 3).

    They do if raising the lower bound of the best costs more than lowering their upper bounds.
    """
    best, *others = order = by_upper_bound(omega)
    if best.curve and others:
        falls = abs(sum(upper_gradient(other) for other in others))
        if not lower_gradient(best) <= falls:
            return [*others, best]
    return order


SCHEDULERS: dict[str, Callable[[Sequence[Prospect]], list[Prospect]]] = {
    "gradient-ci": gradient_ci,
    "ucb": by_upper_bound,
    "round-robin": by_probes,
}
"""In which order those that remain are to be probed."""


def best_guess(leader: Prospect, omega: Sequence[Prospect]) -> Prospect:
    """Return the candidate of the highest lower or upper bound that can lose least.

    A candidate's gap is the highest upper bound among the others minus its own lower bound.
    """

    def gap(guess: Prospect) -> float:
        return max((c.upper for c in omega if c is not guess), default=0.0) - guess.lower

    hopeful = max(omega, key=lambda c: c.upper)
    return hopeful if gap(hopeful) < gap(leader) else leader
