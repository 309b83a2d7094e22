"""Which samples it takes until a configuration is dropped or drops another, as far as is foreseen.

Bounds narrow with the square root of the rows, around the accuracy on the test rows. Where no
sample that is cheap beside the full training will part a configuration from any other, as with
ties that are closer than the largest sample can tell, there is no use in its next one. This
decides what is probed, never what is concluded: bounds hold whatever is probed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from leaseboard.algorithms.abc_selection.schedulers import Prospect


def samples_needed(
    candidate: Prospect, omega: Sequence[Prospect], sizes: Sequence[int], epsilon: float
) -> list[int]:
    """The first of `sizes`, up to the one that will part the candidate from another; else none.

    Parameters
    ----------
    candidate : Prospect
    omega : sequence of Prospect
        Who remains.
    sizes : sequence of int
        The samples that it may still have, in ascending order.
    epsilon : float
        Two are parted where one cannot be better than the other by more.

    Examples
    --------
    >>> from leaseboard.algorithms.benches.selecting import Probe
    >>> def probed(index, accuracy):
    ...     probe = Probe(rows=500, test_rows=1000, test_correct=1000 * accuracy)
    ...     return Prospect(index=index, rows=500, above=0.1, below=0.1, curve=[probe])
    >>> good, bad = probed(0, 0.9), probed(1, 0.8)
    >>> samples_needed(bad, [good, bad], [1000, 2000, 4000], epsilon=0.01)
    [1000, 2000]
    >>> samples_needed(bad, [good, bad], [1000], epsilon=0.01)
    []
    """
    leader = max(omega, key=lambda each: each.lower)
    others = [each for each in omega if each is not candidate]
    for count, rows in enumerate(sizes, start=1):
        lower, upper = _foreseen(candidate, rows)
        dropped = candidate is not leader and upper - _foreseen(leader, rows)[0] <= epsilon
        if dropped or any(each.upper - lower <= epsilon for each in others):
            return list(sizes[:count])
    return []


def _foreseen(candidate: Prospect, rows: int) -> tuple[float, float]:
    """The bounds of a probe of so many rows, or of the last if it had more."""
    if not candidate.curve:
        return 0.0, 1.0
    last = candidate.curve[-1]
    narrower = math.sqrt(last.rows / max(rows, last.rows))
    around = last.test_accuracy
    return around - candidate.below * narrower, around + candidate.above * narrower
