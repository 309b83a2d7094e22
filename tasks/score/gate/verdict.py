"""The gate's verdict: every accepted score and every promise against what a run came to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from tasks.score.gate.baseline import Baseline
from tasks.score.gate.promises import PromiseVerdict, check_promises
from tasks.score.gate.quantities import Quantity
from tasks.score.gate.scores import TOLERANCE, Check, check_scores

PASSED, REGRESSION, RUN_FAILED, NOTHING_COMPARED = range(4)
"""Exit codes; never a count."""


@dataclass(frozen=True)
class Verdict:
    """All checks of one gate."""

    suite: str
    accepted_on: str
    accepted_versions: Mapping[str, str]
    checks: tuple[Check, ...]
    promises: tuple[PromiseVerdict, ...] = ()

    @property
    def n_compared(self) -> int:
        """Scenarios of which scores were compared."""
        return sum(check.drop is not None for check in self.checks)

    @property
    def n_kept(self) -> int:
        """Accepted promises that were measured and hold."""
        return sum(kept.verdict == "kept" for kept in self.promises)

    @property
    def exit_code(self) -> int:
        """0 passed, 1 regression or broken promise, 2 a run failed, 3 nothing was compared."""
        verdicts = {one.verdict for one in (*self.checks, *self.promises)}
        if "failed" in verdicts:
            return RUN_FAILED
        if verdicts & {"broken", "changed"}:
            return REGRESSION
        if not self.n_compared and not self.n_kept:
            return NOTHING_COMPARED
        fails = any(one.fails for one in (*self.checks, *self.promises))
        return REGRESSION if fails else PASSED


def gate(
    frame: pd.DataFrame,
    baseline: Baseline | None,
    tolerance: float = TOLERANCE,
    quantities: Sequence[Quantity] = (),
) -> Verdict:
    """Check every accepted scenario and every promise, and report new ones.

    - `frame`: results, see `tasks.score.frame.as_frame`.
    - `baseline`: without one every scenario is new and nothing is compared; a broken promise
      fails.
    - `tolerance`: relative drop of the mean score that is still accepted.
    - `quantities`: the suite's promises, measured.
    """
    if baseline is None:
        new = check_scores(frame, (), tolerance)
        return Verdict("", "", {}, new, check_promises(quantities, ()))
    return Verdict(
        baseline.suite,
        baseline.date,
        baseline.versions,
        check_scores(frame, baseline.scenarios, tolerance),
        check_promises(quantities, baseline.promises),
    )
