"""The verdict on each promise: kept, broken, or not measured, and whether it was accepted so."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from leaseboard.tasks.jobs.suites.promise import Promise
from leaseboard.tasks.score.gate.quantities import Quantity

FAILING = ("broken", "missing", "changed", "failed")


@dataclass(frozen=True, slots=True)
class PromiseVerdict:
    """The verdict on one promise."""

    promise: Promise
    verdict: str
    """``kept``, ``new`` (kept, and not accepted yet), ``broken``, ``missing`` (not measured),
    ``changed`` (the accepted bound is another one) or ``failed`` (a job did not end ok)."""
    explanation: str
    measured: float = math.nan
    """The value that is nearest to the bound or farthest beyond it; NaN if there is none."""
    n: int = 0
    n_broken: int = 0
    n_allowed: int = 0
    """Repetitions, those that break it, and how many of them chance explains."""

    @property
    def fails(self) -> bool:
        """Whether the verdict alone fails the gate."""
        return self.verdict in FAILING


def check_promises(
    quantities: Sequence[Quantity], accepted: Iterable[Promise]
) -> tuple[PromiseVerdict, ...]:
    """Judge what was measured, and find what was accepted and is not measured any more."""
    rules = {promise.identity: promise for promise in accepted}
    found = [_judged(one, rules.pop(one.promise.identity, None)) for one in quantities]
    gone = "accepted, and no promise of the suite any more: take it back, or accept anew"
    found += [PromiseVerdict(promise, "missing", gone) for promise in rules.values()]
    return tuple(found)


def _judged(quantity: Quantity, accepted: Promise | None) -> PromiseVerdict:
    promise = quantity.promise
    if not quantity.values:
        verdict = "failed" if quantity.failed else "missing"
        return PromiseVerdict(promise, verdict, quantity.problem or "not measured")
    excesses = [promise.excess(value) for value in quantity.values]
    n, n_broken = len(excesses), sum(excess > 0 for excess in excesses)
    n_allowed = promise.allowed(n)
    worst = quantity.values[max(range(n), key=lambda i: excesses[i])]
    if n_broken > n_allowed:
        verdict = "broken"
        allowed = f", chance explains {n_allowed}" if promise.chance else ""
        text = f"broken in {n_broken} of {n} repetitions{allowed}"
    elif accepted is not None and accepted.rule != promise.rule:
        verdict, text = "changed", f"accepted was {accepted.bound}: accept anew"
    elif accepted is None:
        verdict, text = "new", "not accepted yet: accept it to watch it"
    else:
        verdict, text = "kept", "kept in every repetition"
        if n_broken:
            text = f"kept but in {n_broken} of {n} repetitions, as chance explains"
    return PromiseVerdict(promise, verdict, text, worst, n, n_broken, n_allowed)
