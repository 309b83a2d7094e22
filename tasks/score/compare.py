"""Two runs side by side: what changed, by how much, and whether chance could explain it.

Scores are paired seed by seed, so two runs compare well only if they share a suite's seeds.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from leaseboard.tasks.jobs.benches.kinds import choosing
from leaseboard.tasks.machine.terminal import cell
from leaseboard.tasks.score.compared import METRIC
from leaseboard.tasks.score.frame import finished
from leaseboard.tasks.score.inference import Interval, paired, paired_mean, paired_ratio
from leaseboard.tasks.score.summary import short
from leaseboard.tasks.score.table import Floats

if TYPE_CHECKING:
    from rich.console import Group

LEVEL = 0.05
"""Of two runs that differ in chance only, a difference is called better or worse so often."""

VERDICTS = ("worse", "better", "unclear", "same", "not comparable", "failed", "only A", "only B")


@dataclass(frozen=True, slots=True)
class Difference:
    """One algorithm on one data set in both runs."""

    label: str
    data: str
    verdict: str
    """``better`` or ``worse`` (B than A), ``unclear`` (chance explains the difference, or fewer
    than six pairs, which cannot exclude it), ``same``, ``not comparable`` (other data, metric or
    seeds), ``failed`` (no pair of finished jobs), ``only A`` or ``only B``."""
    note: str = ""
    first: float = np.nan
    second: float = np.nan
    change: Interval | None = None
    """Paired mean improvement from A to B over the size of A's mean; positive is better."""
    cost: Interval | None = None
    """B's CPU seconds over A's, geometric mean over pairs; advisory, machines differ."""
    n: int = 0
    """Pairs of finished jobs with the same seed."""
    on_test: Interval | None = None
    """The same as `change` of the test score, where the score itself is one of validation."""


@dataclass(frozen=True, slots=True)
class Overall:
    """One algorithm over all its compared datasets; `change` has Student's interval over them."""

    label: str
    change: Interval
    counts: dict[str, int]
    n: int


@dataclass(frozen=True)
class Differences:
    """All differences of two runs, and their sum for each algorithm."""

    differences: tuple[Difference, ...]
    overall: tuple[Overall, ...]

    @property
    def n_compared(self) -> int:
        """Scenarios of which scores were compared."""
        return sum(difference.change is not None for difference in self.differences)


def compare(first: pd.DataFrame, second: pd.DataFrame) -> Differences:
    """Compare two frames of results (see `leaseboard.tasks.score.frame.as_frame`), A and B."""
    ours = dict(list(first.groupby(["label", "data"], sort=False)))
    theirs = dict(list(second.groupby(["label", "data"], sort=False)))
    differences = []
    for label, data in dict.fromkeys([*ours, *theirs]):
        a, b = ours.get((label, data)), theirs.get((label, data))
        if a is None or b is None:
            differences.append(Difference(label, data, "only B" if a is None else "only A"))
        else:
            differences.append(_difference(label, data, a, b))
    labels = dict.fromkeys(difference.label for difference in differences)
    sums = [_overall(label, [d for d in differences if d.label == label]) for label in labels]
    return Differences(tuple(differences), tuple(total for total in sums if total is not None))


def _difference(label: str, data: str, a: pd.DataFrame, b: pd.DataFrame) -> Difference:
    a, b = (rows[finished(rows)].set_index("seed") for rows in (a, b))
    if not len(a) or not len(b):
        return Difference(
            label, data, "failed", f"no finished job in {'A' if not len(a) else 'B'}"
        )
    for name in ("digest", "metric", "direction"):
        if set(a[name]) != set(b[name]):
            note = f"{name}: {a[name].iloc[0]} in A, {b[name].iloc[0]} in B"
            return Difference(label, data, "not comparable", note)
    seeds = [seed for seed in a.index if seed in b.index]
    if not seeds:
        return Difference(label, data, "not comparable", "no seed in common")
    a, b = a.loc[seeds], b.loc[seeds]
    scores = paired(a["score"].to_numpy(float), b["score"].to_numpy(float), a["direction"].iloc[0])
    return Difference(
        label=label,
        data=data,
        verdict=scores.verdict(LEVEL),
        first=scores.old,
        second=scores.new,
        change=scores.gain,
        cost=_cost(a["cpu_seconds"].to_numpy(float), b["cpu_seconds"].to_numpy(float)),
        n=scores.n,
        on_test=_on_test(a, b),
    )


def _on_test(a: pd.DataFrame, b: pd.DataFrame) -> Interval | None:
    """Return the change of the test score of what was chosen by validation; rows are paired."""
    if not a["bench"].isin(choosing("arm")).all():
        return None
    tests = [np.array([row.get(METRIC, np.nan) for row in of["metrics"]], float) for of in (a, b)]
    there = np.isfinite(tests).all(axis=0)
    if not there.any():
        return None
    return paired(tests[0][there], tests[1][there], a["direction"].iloc[0]).gain


def _cost(old: Floats, new: Floats) -> Interval | None:
    usable = (old > 0) & (new > 0)
    return paired_ratio(old[usable], new[usable]) if usable.any() else None


def _overall(label: str, mine: Sequence[Difference]) -> Overall | None:
    changes = [d.change.value for d in mine if d.change is not None]
    if not changes:
        return None
    counts = dict(Counter(difference.verdict for difference in mine))
    return Overall(label, paired_mean(np.array(changes)), counts, len(changes))


def percent(found: Interval) -> str:
    """Return a relative change with its interval, if it has one."""
    if math.isnan(found.lower):
        return f"{100 * found.value:+.2f} %".replace("-", "−")
    low, high = (f"{100 * end:+.2f}" for end in (found.lower, found.upper))
    return f"{100 * found.value:+.2f} % [{low}, {high}]".replace("-", "−")


def renderable(found: Differences, names: tuple[str, str]) -> Group:
    """Return the comparison as something that `rich` prints; what is unchanged is only counted."""
    from rich.console import Group, RenderableType
    from rich.table import Table

    totals = Table(box=None, pad_edge=False, title=cell(f"A: {names[0]}\nB: {names[1]}"),
                   title_justify="left")  # fmt: skip
    for column in ("algorithm", "B against A, mean over data sets", "data sets"):
        totals.add_column(column)
    for total in found.overall:
        listed = ", ".join(f"{n} {v}" for v in VERDICTS if (n := total.counts.get(v)))
        totals.add_row(*map(cell, (total.label, percent(total.change), listed)))
    moved = [d for d in found.differences if d.verdict != "same" or _moved(d)]
    tested = any(difference.on_test for difference in moved)
    details = Table(box=None, pad_edge=False)
    for difference in sorted(moved, key=lambda d: VERDICTS.index(d.verdict)):
        cells = _cells(difference, tested=tested)
        if not details.columns:
            for column in cells:
                details.add_column(column, overflow="fold")
        details.add_row(*map(cell, cells.values()))
    parts: list[RenderableType] = [totals, cell("")]
    if details.row_count:
        parts += [details, cell("")]
    note = (
        "Change is the paired mean improvement over A's mean with Student's 95 % interval;"
        " positive is better. Better and worse are by the exact signed-rank test over pairs of"
        " seeds, at 5 %: fewer than six pairs are unclear. CPU seconds are advisory."
    )
    if tested:
        note += (
            " Policies are compared by their validation score; the change on test is of what they"
            " chose by it."
        )
    return Group(*parts, cell(note, "dim"))


def as_json(found: Differences) -> str:
    """Return the whole comparison as JSON; numbers that do not exist are null."""
    payload = {
        "compared": found.n_compared,
        "overall": [
            {"algorithm": t.label, "change": _plain(t.change), "counts": t.counts, "n": t.n}
            for t in found.overall
        ],
        "differences": [
            {
                "algorithm": d.label,
                "data": d.data,
                "verdict": d.verdict,
                "note": d.note,
                "a": d.first if math.isfinite(d.first) else None,
                "b": d.second if math.isfinite(d.second) else None,
                "change": d.change and _plain(d.change),
                "cost": d.cost and _plain(d.cost),
                "on_test": d.on_test and _plain(d.on_test),
                "n": d.n,
            }
            for d in found.differences
        ],
    }
    return json.dumps(payload, indent=1, allow_nan=False) + "\n"


def _plain(found: Interval) -> dict[str, float | None]:
    return {key: end if math.isfinite(end) else None for key, end in asdict(found).items()}


def _moved(found: Difference) -> bool:
    """Return whether its test score changed."""
    return found.on_test is not None and found.on_test.value != 0


def _cells(found: Difference, *, tested: bool) -> dict[str, str]:
    return {
        "verdict": found.verdict,
        "algorithm": found.label,
        "data": found.data,
        "A": short(found.first),
        "B": short(found.second),
        "change": percent(found.change) if found.change else found.note,
        "CPU B/A": f"{found.cost.value:.2f}" if found.cost else "",
        "n": str(found.n),
    } | ({"change on test": percent(found.on_test) if found.on_test else ""} if tested else {})
