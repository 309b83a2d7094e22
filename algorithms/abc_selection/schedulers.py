"""Which configuration to probe next, and on how many rows: Algorithm 3, and what samples may cost.

Algorithm 3, UCB and RoundRobin order the configurations that remain.

Notes
-----
Departs from the paper, or decides what it leaves open:

- An upper bound is clipped to 1 and ties go to the fewest probes. So configurations that were
  never probed come first, and every gradient below is of a configuration with a probe.
- The gradient of a single probe counts from probe 0, which took no time and bounds by [0, 1].
- A bound that did not improve has an infinite gradient: more time is not known to help it.
- A configuration that was probed in full has nothing left to probe; the next one in the order
  of upper bounds replaces it.

What sampling may cost is limited, so that a selection takes little longer than Full-run at the
worst.

Where intervals do not separate, samples of doubling sizes cost twice what they lead to. So there
is an allowance: `SHARE` of what Full-run would take, and what it would take for those that have
been dropped. Beyond it configurations are trained in full, which Full-run would do too. So the
whole takes at most 1 + `SHARE` times as long as Full-run, as far as projections are right. All of
it is decided by recorded seconds, so that a replay decides alike.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import fmean

from leaseboard.algorithms.environments.samples import Probe


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


SHARE = 0.09
"""Of the seconds of Full-run, and of its rows, that samples may cost when none is dropped."""

LARGEST = 4
"""All training rows are at least that many times the largest sample: beyond the usual D_te, which
is a quarter of D_tr, more rows of S_tr take little of the deviation between the two."""


def worthwhile(sizes: Sequence[int], full: int) -> list[int]:
    """Return the sizes that are worth a probe; the full one alone if no two of them are.

    Two probes are the least that says anything of a configuration.

    Examples
    --------
    >>> worthwhile([500, 1000, 2000, 4000, 8000, 16_000, 20_000], 20_000)
    [500, 1000, 2000, 4000, 20000]
    >>> worthwhile([500, 1000, 2000, 4000], 4000)
    [4000]
    """
    partial = [rows for rows in sizes if rows * LARGEST <= full]
    return [*partial, full] if 0 < sum(partial[:2]) <= SHARE * full and partial[1:] else [full]


ROWS_SHARE = 0.3
"""Of the seconds of a fit, at least, which grow with its rows; the rest may be overhead."""

QUARTER = 0.25
"""Of a full training, which samples may cost together that are expected to spare one."""


def fit_seconds(curve: Sequence[Probe], rows: int) -> float:
    """Return the CPU seconds of a fit on so many rows, on the line through the last two fits.

    Of one fit the share `ROWS_SHARE` grows with the rows.

    Examples
    --------
    >>> curve = [Probe(rows=500, test_rows=9, fit_cpu=2), Probe(rows=1000, test_rows=9, fit_cpu=3)]
    >>> fit_seconds(curve, 4000)
    9.0
    """
    last = curve[-1]
    if len(curve) < 2:
        slope = ROWS_SHARE * last.fit_cpu / last.rows
    else:
        slope = max(0.0, last.fit_cpu - curve[-2].fit_cpu) / (last.rows - curve[-2].rows)
    return last.fit_cpu + slope * max(0, rows - last.rows)


@dataclass(slots=True)
class Allowance:
    """Allowance of what samples may still cost.

    Attributes
    ----------
    prospects : list of Prospect
        Those that Full-run would train: the dropped ones too.
    full, tested : int
        |D_tr| and |D_te|.
    """

    prospects: list[Prospect]
    full: int
    tested: int

    def covers(self, chosen: Prospect, rows: int, omega: Sequence[Prospect]) -> bool:
        """Return whether the next probe of `chosen` may be of `rows` rows, with `omega` left."""
        known = [self._in_full(each) for each in self.prospects if each.curve]
        if not known:
            return True
        mean = sum(known) / len(known)  # used for those of whose learner none was probed

        def cost(of: Sequence[Prospect]) -> float:
            return sum(self._projected(each, mean) for each in of)

        left = {each.index for each in omega}
        gone = [c for c in self.prospects if c.index not in left and c.rows < self.full]
        asked = self._asked(chosen, rows) if chosen.curve else mean * rows / self.full
        curves = [each.curve for each in self.prospects]
        spent = sum(probe.cpu() for curve in curves for probe in curve if probe.rows < self.full)
        return spent + asked <= SHARE * cost(self.prospects) + cost(gone)

    def pays(self, chosen: Prospect, samples: Sequence[int]) -> bool:
        """Return whether all of these samples together cost a small part of the full training."""
        asked = sum(self._asked(chosen, rows) for rows in samples)
        return asked <= QUARTER * self._in_full(chosen)

    def most_useful(self, omega: Sequence[Prospect]) -> Prospect:
        """Return which to train in full: where a second buys most of the doubt about the leader.

        One of `omega` at least was not trained in full.
        """
        surely = max(each.lower for each in omega)

        def bought(candidate: Prospect) -> float:
            seconds = self._projected(candidate)
            return (candidate.upper - surely) / max(seconds, 1e-9)

        return max((each for each in omega if each.rows < self.full), key=bought)

    def _asked(self, chosen: Prospect, rows: int) -> float:
        """Return the expected CPU seconds of a probe of so many rows."""
        last = chosen.curve[-1]
        return self._fit(chosen, rows) + (last.train_cpu + last.test_cpu) * rows / last.rows

    def _projected(self, candidate: Prospect, unknown: float = math.inf) -> float:
        """Return the expected seconds of full training and test, by its learner if not probed."""
        learner = candidate.learner
        kin = [c for c in self.prospects if c.learner == learner and c.curve]
        kin = [candidate] if candidate.curve else kin
        return fmean(map(self._in_full, kin)) if kin else unknown

    def _in_full(self, candidate: Prospect) -> float:
        """Return the expected seconds of full training and test of one that was probed."""
        last = candidate.curve[-1]
        return self._fit(candidate, self.full) + last.test_cpu / last.test_rows * self.tested

    def _fit(self, candidate: Prospect, rows: int) -> float:
        """Return the seconds of a fit: on the line, or at least in part in proportion.

        Short fits are mostly overhead, so that their line may be far too low.
        """
        curve = candidate.curve
        return max(fit_seconds(curve, rows), fit_seconds(curve[-1:], rows))


def samples_needed(
    candidate: Prospect, omega: Sequence[Prospect], sizes: Sequence[int], epsilon: float
) -> list[int]:
    """Return the first of `sizes`, up to one that will separate the candidate from another.

    Bounds narrow with the square root of the rows, around the accuracy on the test rows. Where no
    sample that is cheap compared with the full training will separate a configuration from any
    other, as with ties that are closer than the largest sample can resolve, its next one is
    useless. This decides what is probed, never what is concluded: bounds hold for any probes.

    Parameters
    ----------
    candidate : Prospect
    omega : sequence of Prospect
        Those that remain.
    sizes : sequence of int
        The samples that it may still have, in ascending order.
    epsilon : float
        Two are parted where one cannot be better than the other by more.

    Examples
    --------
    >>> from leaseboard.algorithms.environments.samples import Probe
    >>> def probed(index, accuracy):
    ...     probe = Probe(rows=500, test_rows=1000, test_correct=1000 * accuracy)
    ...     return Prospect(index=index, above=0.1, below=0.1, curve=[probe])
    >>> good, bad = probed(0, 0.9), probed(1, 0.8)
    >>> samples_needed(bad, [good, bad], [1000, 2000, 4000], epsilon=0.01)
    [1000, 2000]
    >>> samples_needed(bad, [good, bad], [1000], epsilon=0.01)
    []
    """
    leader = max(omega, key=lambda each: each.lower)
    others = [each for each in omega if each is not candidate]
    for count, rows in enumerate(sizes, start=1):
        lower, upper = _projected(candidate, rows)
        dropped = candidate is not leader and upper - _projected(leader, rows)[0] <= epsilon
        if dropped or any(each.upper - lower <= epsilon for each in others):
            return list(sizes[:count])
    return []


def _projected(candidate: Prospect, rows: int) -> tuple[float, float]:
    """Return the bounds of a probe of so many rows, or of the last if it had more."""
    if not candidate.curve:
        return 0.0, 1.0
    last = candidate.curve[-1]
    narrower = math.sqrt(last.rows / max(rows, last.rows))
    around = last.test_accuracy
    return around - candidate.below * narrower, around + candidate.above * narrower
