"""Arms whose trials fail again and again in the same way."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from algorithms.benches.pulls import Feedback

Texts = NDArray[np.object_]

_NUMBERS = re.compile(r"(?:[-+]?(?:0x[0-9a-f]+|\d[\d.]*(?:e[-+]?\d+)?)[,\s]*)+", re.IGNORECASE)


def failure_of(trial: Feedback) -> str:
    """Why a trial failed, in one line; empty if it was completed.

    Examples
    --------
    >>> from algorithms.tiny import Tiny, tiny_bench
    >>> bench = tiny_bench("pulls", Tiny(broken=True))
    >>> failure_of(bench.pull(0)), failure_of(bench.pull(0))
    ('', 'diverged: NaN in the loss')
    """
    return "" if trial.status == "ok" else f"{trial.status}: {trial.reason}"


def alike(one: str, other: str) -> bool:
    """Whether two trials failed in the same way, whatever numbers their reasons tell.

    Examples
    --------
    >>> alike("crash: labels [0 1 2], not [0 2]", "crash: labels [0 1], not [1]")
    True
    >>> alike("crash: a label is missing", "timeout: over 5 CPU seconds")
    False
    """
    return _NUMBERS.sub("#", one) == _NUMBERS.sub("#", other)


class Failures:
    """The failures of each arm's latest trials, in independent runs side by side.

    Parameters
    ----------
    shape : tuple of int
        (repeats, n_arms).

    Attributes
    ----------
    last : ndarray of str, shape (repeats, n_arms)
        Why the latest trial of each arm failed; empty if it was completed.
    in_a_row : ndarray of int, shape (repeats, n_arms)
        How many of its latest trials failed alike.
    """

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.last: Texts = np.full(shape, "", dtype=object)
        self.in_a_row: NDArray[np.intp] = np.zeros(shape, dtype=np.intp)

    def take(self, arm: NDArray[np.intp], failure: Texts | None) -> NDArray[np.bool_]:
        """Which of the latest trials failed: that of `arm` in each run, `failure` says why."""
        runs = np.arange(len(arm))
        before = self.last[runs, arm]
        if failure is None:
            self.last[runs, arm], self.in_a_row[runs, arm] = "", 0
            return np.zeros(len(arm), dtype=np.bool_)
        failed = np.asarray(failure != "", dtype=np.bool_)
        again = np.array([alike(*pair) for pair in zip(before, failure, strict=True)])
        self.in_a_row[runs, arm] = failed * (1 + again * self.in_a_row[runs, arm])
        self.last[runs, arm] = failure
        return failed
