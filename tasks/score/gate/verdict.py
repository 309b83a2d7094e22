"""The gate's verdict: every accepted score and every promise against what a run came to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from leaseboard.tasks.score.gate.baseline import Baseline
from leaseboard.tasks.score.gate.promises import PromiseVerdict, check_promises
from leaseboard.tasks.score.gate.quantities import Quantity
from leaseboard.tasks.score.gate.scores import TOLERANCE, Check, check_scores

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
    slower: tuple[str, ...] = ()
    """Scenarios that became slower, where that fails the gate."""
    problems: tuple[str, ...] = ()
    """What went wrong in addition to the jobs, such as a tracking store that is gone."""
    names: Mapping[str, str] = field(default_factory=dict)
    """What the suite calls its datasets, by reference."""

    @property
    def n_compared(self) -> int:
        """Scenarios of which scores were compared and judged."""
        return sum(one.drop is not None and one.verdict != "not judged" for one in self.checks)

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
        if any(one.fails for one in (*self.checks, *self.promises)):
            return REGRESSION
        if self.problems:
            return RUN_FAILED
        return REGRESSION if self.slower else PASSED


def gate(
    frame: pd.DataFrame,
    baseline: Baseline | None,
    tolerance: float = TOLERANCE,
    quantities: Sequence[Quantity] = (),
    **more: Any,
) -> Verdict:
    """Check every accepted scenario and every promise, and report new ones.

    - `frame`: results, see `leaseboard.tasks.score.frame.as_frame`.
    - `baseline`: without one every scenario is new and nothing is compared; a broken promise
      fails.
    - `tolerance`: relative drop of the mean score that is still accepted.
    - `quantities`: the suite's promises, measured.
    - `more`: `slower`, `problems` and `names` of the verdict.
    """
    if baseline is None:
        new = check_scores(frame, (), tolerance)
        return Verdict("", "", {}, new, check_promises(quantities, ()), **more)
    return Verdict(
        baseline.suite,
        baseline.date,
        baseline.versions,
        check_scores(frame, baseline.scenarios, tolerance),
        check_promises(quantities, baseline.promises),
        **more,
    )
