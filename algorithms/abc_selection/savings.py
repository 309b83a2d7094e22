"""What sampling may cost, so that a selection takes little longer than Full-run at the worst.

Where intervals do not separate, samples of doubling sizes cost twice what they lead to. So there
is an allowance: `SHARE` of what Full-run would take, and what it would take for everyone who has
been dropped. Who would be probed beyond it is trained in full, which Full-run would do too. So the
whole takes at most 1 + `SHARE` times as long as Full-run, as far as the projection below is right.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from algorithms.abc_selection.schedulers import Prospect

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


def projected(candidate: Prospect, rows: int) -> float:
    """CPU seconds of a probe of so many rows, on the line through the last two; NaN with none.

    Before its first probe a configuration had taken no time for no rows.

    Examples
    --------
    >>> projected(Prospect(index=0, probes=2, rows=1000, seconds=3.0, rows_before=500,
    ...                    seconds_before=2.0), 4000)
    9.0
    """
    if not candidate.probes:
        return math.nan
    added = max(0.0, candidate.seconds - candidate.seconds_before)
    slope = added / (candidate.rows - candidate.rows_before)
    return candidate.seconds + slope * max(0, rows - candidate.rows)


@dataclass(slots=True)
class Allowance:
    """What samples may still cost.

    Attributes
    ----------
    everyone : list of Prospect
        Who Full-run would train: the dropped ones too.
    full : int
        |D_tr|.
    spent : float
        CPU seconds of all probes of samples so far.
    """

    everyone: list[Prospect]
    full: int
    spent: float = 0.0

    def covers(self, chosen: Prospect, rows: int, omega: Sequence[Prospect]) -> bool:
        """Whether the next probe of `chosen` may be of `rows` rows, with `omega` left."""
        known = [projected(each, self.full) for each in self.everyone if each.probes]
        if not known:
            return True
        mean = sum(known) / len(known)  # stands for those that were never probed

        def cost(of: Sequence[Prospect]) -> float:
            return sum(projected(each, self.full) if each.probes else mean for each in of)

        saved = cost([c for c in self.everyone if c not in omega and c.rows < self.full])
        asked = projected(chosen, rows) if chosen.probes else mean * rows / self.full
        return self.spent + asked <= SHARE * cost(self.everyone) + saved
