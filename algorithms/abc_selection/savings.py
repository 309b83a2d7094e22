"""What sampling may cost, so that a selection takes little longer than Full-run at the worst.

Where intervals do not separate, samples of doubling sizes cost twice what they lead to. So there
is an allowance: `SHARE` of what Full-run would take, and what it would take for everyone who has
been dropped. Beyond it configurations are trained in full, which Full-run would do too. So the
whole takes at most 1 + `SHARE` times as long as Full-run, as far as projections are right, and but
for the first samples of learners whose time does not grow with the rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from algorithms.abc_selection.schedulers import Prospect
from algorithms.benches.samples import Probe

SHARE = 0.1
"""Of the seconds of Full-run, and of its rows, that samples may cost when nobody is dropped."""

LARGEST = 4
"""All training rows are at least that many times the largest sample: beyond the usual D_te, which
is a quarter of D_tr, more rows of S_tr take little of the deviation between the two."""


def worthwhile(sizes: Sequence[int], full: int) -> list[int]:
    """Of sizes that end with the full one those worth a probe; the full one alone if no two are.

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


def fit_seconds(curve: Sequence[Probe], rows: int) -> float:
    """CPU seconds of a fit on so many rows, on the line through the last two fits.

    Before its first fit a configuration had taken no time for no rows.

    Examples
    --------
    >>> curve = [Probe(rows=500, test_rows=9, fit_cpu=2), Probe(rows=1000, test_rows=9, fit_cpu=3)]
    >>> fit_seconds(curve, 4000)
    9.0
    """
    last = curve[-1]
    seconds, over = last.fit_cpu, last.rows
    if len(curve) > 1:
        seconds, over = max(0.0, seconds - curve[-2].fit_cpu), over - curve[-2].rows
    return last.fit_cpu + seconds / over * max(0, rows - last.rows)


@dataclass(slots=True)
class Allowance:
    """What samples may still cost.

    Attributes
    ----------
    everyone : list of Prospect
        Who Full-run would train: the dropped ones too.
    full, tested : int
        |D_tr| and |D_te|.
    spent : float
        CPU seconds of all probes of samples so far.
    """

    everyone: list[Prospect]
    full: int
    tested: int
    spent: float = 0.0

    def covers(self, chosen: Prospect, rows: int, omega: Sequence[Prospect]) -> bool:
        """Whether the next probe of `chosen` may be of `rows` rows, with `omega` left."""
        known = [self._in_full(each) for each in self.everyone if each.curve]
        if not known:
            return True
        mean = sum(known) / len(known)  # stands for those that were never probed

        def cost(of: Sequence[Prospect]) -> float:
            return sum(self._in_full(each) if each.curve else mean for each in of)

        left = {each.index for each in omega}
        gone = [c for c in self.everyone if c.index not in left and c.rows < self.full]
        asked = _on_sample(chosen.curve, rows) if chosen.curve else mean * rows / self.full
        return self.spent + asked <= SHARE * cost(self.everyone) + cost(gone)

    def pointless(self, chosen: Prospect, rows: int) -> bool:
        """Whether a sample costs half of the full training, which is the better buy then.

        So it is with learners whose time hardly grows with the rows. Only where the sample is not
        cheaper than half of the usual one: of the cheap two fits say too little.
        """
        if len(chosen.curve) < 2:
            return False
        asked = _on_sample(chosen.curve, rows)
        return 2 * asked > max(self._usual(), self._in_full(chosen))

    def forgive(self, chosen: Prospect) -> None:
        """The few samples that showed that samples are pointless are not charged to the others."""
        self.spent -= sum(probe.cpu() for probe in chosen.curve)

    def settle(self, omega: Sequence[Prospect]) -> Prospect:
        """Whom to train in full: the highest upper bound has to fall anyway; of equals the cheap.

        One of `omega` at least was not trained in full.
        """

        def hope(candidate: Prospect) -> tuple[float, float]:
            return candidate.upper, -self._in_full(candidate) if candidate.curve else -math.inf

        return max((each for each in omega if each.rows < self.full), key=hope)

    def _in_full(self, candidate: Prospect) -> float:
        """Full training and test: of a dear one on its line, of others half in proportion or more.

        Short fits are mostly overhead, so that their line would be far too low.
        """
        last = candidate.curve[-1]
        fit = fit_seconds(candidate.curve, self.full)
        if 2 * last.fit_cpu < self._usual():
            fit = max(fit, last.fit_cpu * self.full / last.rows / 2)
        return fit + last.test_cpu / last.test_rows * self.tested

    def _usual(self) -> float:
        """What a sample cost so far."""
        return self.spent / max(1, sum(len(each.curve) for each in self.everyone))


def _on_sample(curve: Sequence[Probe], rows: int) -> float:
    last = curve[-1]
    return fit_seconds(curve, rows) + (last.train_cpu + last.test_cpu) * rows / last.rows
