"""Two runs side by side: what changed, by how much, and whether chance explains it.

Scores are paired seed by seed, so two runs compare well only if they share a suite's seeds.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from leaseboard.tasks.jobs.environments.kinds import choosing
from leaseboard.tasks.machine.progress import counted
from leaseboard.tasks.machine.terminal import cell
from leaseboard.tasks.score.frame import finished
from leaseboard.tasks.score.inference import Interval, geometric_mean, mean_interval, paired
from leaseboard.tasks.score.numbers import short
from leaseboard.tasks.score.summary import METRIC

if TYPE_CHECKING:
    from rich.console import Group

ALPHA = 0.05
"""Significance level: probability that a difference by chance is called better or worse."""

VERDICTS = ("worse", "better", "unclear", "same", "not comparable", "failed", "only A", "only B")


@dataclass(frozen=True, slots=True)
class Difference:
    """One algorithm on one dataset in both runs."""

    algorithm: str
    data: str
    verdict: str
    """``better`` or ``worse`` (B than A), ``unclear`` (chance explains the difference, or fewer
    than six pairs, which cannot exclude it), ``same``, ``not comparable`` (other data, metric or
    seeds), ``failed`` (no pair of finished jobs), ``only A`` or ``only B``."""
    note: str = ""
    a: float = np.nan
    b: float = np.nan
    change: Interval | None = None
    """Paired mean improvement from A to B over the size of A's mean; positive is better."""
    cost: Interval | None = None
    """B's CPU seconds over A's, geometric mean over pairs; advisory, machines differ."""
    on_test: Interval | None = None
    """The same as `change` of the test score, where the score itself is one of validation."""
    n: int = 0
    """Pairs of finished jobs with the same seed."""


@dataclass(frozen=True, slots=True)
class Overall:
    """One algorithm over all its compared datasets; `change` has its interval over them."""

    algorithm: str
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
    ours, theirs = (dict(list(each.groupby(["name", "data"], sort=False)))
                    for each in (first, second))  # fmt: skip
    found = []
    for label, data in counted(dict.fromkeys([*ours, *theirs]), "comparing", "scenarios"):
        a, b = ours.get((label, data)), theirs.get((label, data))
        if a is None or b is None:
            found.append(Difference(label, data, "only B" if a is None else "only A"))
        else:
            found.append(_difference(label, data, a, b))
    overall = []
    for label in dict.fromkeys(each.algorithm for each in found):
        mine = [each for each in found if each.algorithm == label]
        if changes := [each.change.value for each in mine if each.change is not None]:
            counts = dict(Counter(each.verdict for each in mine))
            overall.append(Overall(label, mean_interval(np.array(changes)), counts, len(changes)))
    return Differences(tuple(found), tuple(overall))


def _difference(label: str, data: str, a: pd.DataFrame, b: pd.DataFrame) -> Difference:
    a, b = (rows[finished(rows)].set_index("seed") for rows in (a, b))
    if not len(a) or not len(b):
        note = f"no finished job in {'B' if len(a) else 'A'}"
        return Difference(label, data, "failed", note)
    for name in ("digest", "metric", "direction"):
        if set(a[name]) != set(b[name]):
            note = f"{name}: {a[name].iloc[0]} in A, {b[name].iloc[0]} in B"
            return Difference(label, data, "not comparable", note)
    seeds = [seed for seed in a.index if seed in b.index]
    if not seeds:
        return Difference(label, data, "not comparable", "no seed in common")
    a, b = a.loc[seeds], b.loc[seeds]
    direction = a["direction"].iloc[0]
    scores = paired(a["score"].to_numpy(float), b["score"].to_numpy(float), direction)
    cpu = pd.DataFrame({"a": a["cpu_seconds"], "b": b["cpu_seconds"]}, dtype=float)
    cpu = cpu[(cpu > 0).all(axis=1)]
    both = {"a": a, "b": b}
    found = {name: [row.get(METRIC) for row in of["metrics"]] for name, of in both.items()}
    tests = pd.DataFrame(found, dtype=float)
    on_arms = a["environment"].isin(choosing("arm")).all()
    tests = tests.dropna() if on_arms else tests[:0]
    return Difference(
        label,
        data,
        scores.verdict(ALPHA),
        a=scores.old,
        b=scores.new,
        change=scores.gain,
        cost=geometric_mean((cpu["b"] / cpu["a"]).to_numpy()) if len(cpu) else None,
        on_test=paired(tests["a"].to_numpy(), tests["b"].to_numpy(), direction).gain
        if len(tests)
        else None,
        n=scores.n,
    )


def percent(found: Interval | None) -> str:
    """Return a relative change with its interval, if it has one."""
    if found is None:
        return ""
    text = f"{100 * found.value:+.2f} %"
    if not math.isnan(found.lower):
        text += f" [{100 * found.lower:+.2f}, {100 * found.upper:+.2f}]"
    return text.replace("-", "−")


NOTE = (
    "Change is the paired mean improvement over A's mean, with its 95 % interval from eight pairs"
    " on; positive is better. Better and worse are by the exact signed-rank test over pairs of"
    " seeds, at 5 %: fewer than six pairs are unclear. CPU seconds are advisory."
)
OF_POLICIES = (
    " Policies are compared by their validation score; the change on test is of what they chose by"
    " it."
)


def renderable(found: Differences, names: tuple[str, str]) -> Group:
    """Return the comparison as something that `rich` prints; what is unchanged is only counted."""
    from rich.console import Group
    from rich.table import Table

    totals = Table("algorithm", "B against A, mean over datasets", "datasets", box=None,
                   pad_edge=False, title=cell(f"A: {names[0]}\nB: {names[1]}"),
                   title_justify="left")  # fmt: skip
    for total in found.overall:
        counts = ", ".join(f"{n} {v}" for v in VERDICTS if (n := total.counts.get(v)))
        totals.add_row(*map(cell, (total.algorithm, percent(total.change), counts)))
    moved = [each for each in found.differences
             if each.verdict != "same" or (each.on_test and each.on_test.value)]  # fmt: skip
    rows = pd.DataFrame(
        {
            "verdict": each.verdict,
            "algorithm": each.algorithm,
            "data": each.data,
            "A": short(each.a),
            "B": short(each.b),
            "change": percent(each.change) or each.note,
            "CPU B/A": f"{each.cost.value:.2f}" if each.cost else "",
            "n": str(each.n),
            "change on test": percent(each.on_test),
        }
        for each in sorted(moved, key=lambda each: VERDICTS.index(each.verdict))
    )
    tested = any(each.on_test for each in moved)
    rows = rows if tested or rows.empty else rows.drop(columns="change on test")
    details = Table(box=None, pad_edge=False)
    for column in rows:
        details.add_column(column, overflow="fold")
    for row in rows.itertuples(index=False):
        details.add_row(*map(cell, row))
    parts: list[Any] = [totals, cell("")] + ([details, cell("")] if len(rows) else [])
    return Group(*parts, cell(NOTE + (OF_POLICIES if tested else ""), "dim"))


def as_json(found: Differences) -> str:
    """Return the whole comparison as JSON; numbers that do not exist are null."""
    payload = {
        "compared": found.n_compared,
        "overall": [asdict(each) for each in found.overall],
        "differences": [asdict(each) for each in found.differences],
    }
    return json.dumps(finite_only(payload), indent=1, allow_nan=False) + "\n"


def finite_only(value: Any) -> Any:
    """Return plain data with None for each number that is not finite, which JSON does not have.

    Examples
    --------
    >>> finite_only({"a": [1.0, float("nan")]})
    {'a': [1.0, None]}
    """
    match value:
        case float():
            return value if math.isfinite(value) else None
        case dict():
            return {key: finite_only(each) for key, each in value.items()}
        case list() | tuple():
            return [finite_only(each) for each in value]
    return value
