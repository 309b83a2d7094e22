"""Diagnostics of a run: a pure function for each code, on results and event logs.

The page ``docs/guides/gate.md`` has their tests and levels, and how often they are wrong. Several
algorithms share a level.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Any

import pandas as pd

from leaseboard.algorithms.environments.pulls import OVERRUN
from leaseboard.algorithms.events import (
    ConfigurationAdmitted,
    ConfigurationFailed,
    Event,
    TrialFinished,
    of,
)
from leaseboard.tasks.fetch.data_facts import SORTED
from leaseboard.tasks.jobs.checks import ALARM, NOTE, Diagnostic
from leaseboard.tasks.jobs.job import FAILURES
from leaseboard.tasks.score.frame import finished

LEVEL, RARE = 0.05, 0.01
"""Levels of what has to be shown, and of what is refuted."""
LEAK, LEAST_LEAK = 0.98, 0.9
"""Skill of one column that is a leak, and of classes its lower bound at the level `RARE`."""
FAILING = 0.1
"""Share of an arm's trials that may fail."""
KURTOSIS, TEST_SHARE = 10.0, 0.2
"""Of errors, at most; share of rows that test, where scores are not progressive."""
MOST_REASON = 400


@dataclass(frozen=True)
class DiagnosedRun:
    """Results of a run, compared, with what their logs hold."""

    frame: pd.DataFrame
    names: Mapping[str, str] = field(default_factory=dict)
    """Names of datasets, by reference."""
    logs: Mapping[str, Sequence[Event]] = field(default_factory=dict)
    """See `signals`, by the job's key."""

    def place(self, row: Any) -> dict[str, Any]:
        """Return where a finding is."""
        data = self.names.get(row.data, row.data)
        return {"data": data, "algorithm": row.name, "job": row.key}

    def jobs(self) -> Iterator[tuple[Any, Sequence[Event]]]:
        """Yield each result whose log holds anything, and its events."""
        for row in self.frame[self.frame["key"].isin(self.logs)].itertuples():
            yield row, self.logs[str(row.key)]

    def datasets(self) -> Iterator[tuple[str, pd.DataFrame, Mapping[str, Any]]]:
        """Yield each dataset's name, results and facts."""
        for data, rows in self.frame.groupby("data", sort=False):
            known: Mapping[str, Any] = next(filter(None, rows["data_facts"]), {})
            yield self.names.get(str(data), str(data)), rows, known

    def findings(self, ignore: Iterable[str] = ()) -> list[Diagnostic]:
        """Return what the functions of the codes find: alarms first, then by code."""
        found = [each for finder in FINDERS for each in finder(self) if each.code not in ignore]
        return sorted(found, key=lambda each: (each.severity != ALARM, each.code))


def signals(events: Sequence[Event]) -> Sequence[Event]:
    """Return the events of a job that codes need: of a stream, which may have many, failures."""
    return events if of(events, TrialFinished) else of(events, ConfigurationFailed)


def unbeaten_baseline(run: DiagnosedRun) -> Iterator[Diagnostic]:
    """LB001: yield the datasets on which a naive baseline is better than all algorithms.

    And, as a note, those on which chance may explain that it is better, or that it is not: the
    best algorithm against the best baseline, see `error_of_lead`.
    """
    for data, every, _ in run.datasets():
        rows = every[finished(every)]
        naive = rows["baseline"].astype(bool)
        if naive.all() or not naive.any():
            continue
        sign = 1.0 if rows["direction"].iloc[0] == "max" else -1.0
        means = sign * rows.groupby("name")["score"].mean()
        rivals = rows[~naive]["name"].unique()
        best = means[rivals].idxmax()
        mine = rows[rows["name"] == best]
        row, score = next(mine.itertuples()), float(sign * means[best])
        metric, naives = str(row.metric), rows[naive]["name"].unique()
        baseline = means[naives].idxmax()
        other = float(sign * means[baseline])
        lead = sign * (score - other)
        error = error_of_lead(metric, score, other, row.rows or math.nan)
        z = lead / error if error > 0 else None
        if lead > 0 and (z is None or z > _z(len(rivals))):
            continue
        worse = z is not None and z <= -_z(len(naives))
        sentence = "baseline" if worse else "close"
        facts = {"data": data, "algorithm": best, "baseline": baseline, "score": score,
                 "other": other} | ({} if z is None else {"z": z})  # fmt: skip
        yield Diagnostic("LB001", ALARM if worse else NOTE, sentence, facts)


def _z(tests: int) -> float:
    """Return the standard deviations that are rare at the `LEVEL` that so many tests share."""
    return NormalDist().inv_cdf(1 - LEVEL / tests)


def error_of_lead(metric: str, score: float, other: float, rows: float) -> float:
    """Return a bound of the standard error of the difference of two scores on the same rows.

    The losses l and l' of a row are not negatively correlated, as both predict the same label. So
    the variance of l - l' is at most that of l and of l' together: of 0 or 1, at most the sum of
    the means; of squared errors with a kurtosis up to `KURTOSIS`, that less 1 times the sum of the
    squared means. Of scores that are neither it is not known: 0.

    Examples
    --------
    >>> error_of_lead("progressive_error", 0.01, 0.03, 400), error_of_lead("x", 1.0, 2.0, 400)
    (0.01, 0.0)
    """
    rows = rows if metric.startswith("progressive") else TEST_SHARE * rows
    variance = 0.0
    if metric.endswith("mse"):
        variance = (KURTOSIS - 1) * (score**2 + other**2)
    elif metric.endswith(("error", "accuracy")):
        variance = score + other if metric.endswith("error") else 2 - score - other
    return math.sqrt(variance / rows)


def leaks(run: DiagnosedRun) -> Iterator[Diagnostic]:
    """LB002: yield datasets of which one column alone predicts the target nearly without error."""
    for data, _, known in run.datasets():
        skill = least = known.get("leak_skill", 0.0)
        if skill >= LEAK and "majority" in known:  # the errors are counts
            from scipy.special import betaincinv  # .2 s, which most tables need not wait

            n, errors = known["leak_rows"], known["leak_errors"]
            least = 1 - betaincinv(errors + 1, n - errors, 1 - RARE) / (1 - known["majority"])
        if skill >= LEAK and least >= LEAST_LEAK:
            yield Diagnostic("LB002", ALARM, "leak", {"data": data, "column": known["leak_column"],
                             "skill": skill, "rows": known["leak_rows"]})  # fmt: skip


def unordered(run: DiagnosedRun) -> Iterator[Diagnostic]:
    """LB003: yield streams whose rows are not in the order of their time.

    An alarm if the time is for sure that of the rows.
    """
    for data, rows, known in run.datasets():
        share = known.get("time_discordant", 0.0)
        if share > SORTED and rows["metric"].astype(str).str.startswith("progressive").any():
            kind = (ALARM, "order") if known["time_certain"] else (NOTE, "uncertain")
            facts = {"data": data, "column": known["time_column"], "share": share}
            yield Diagnostic("LB003", *kind, facts)


def failures(run: DiagnosedRun) -> Iterator[Diagnostic]:
    """LB006: yield algorithms with failed jobs, and arms of which too many trials fail."""
    failed = run.frame[run.frame["status"].isin(FAILURES)]
    for name, rows in failed.groupby("name", sort=False):
        row = next(rows.itertuples())
        counts = {"failed": len(rows), "jobs": int((run.frame["name"] == name).sum())}
        said = {"status": row.status, "reason": row.reason[:MOST_REASON]}
        yield Diagnostic("LB006", ALARM, "jobs", run.place(row) | counts | said)
    for row, events in run.jobs():
        trials = of(events, TrialFinished)
        known = {e.configuration: e.parameters for e in of(events, ConfigurationAdmitted)}
        for arm in dict.fromkeys(each.arm for each in trials):
            mine = [each for each in trials if each.arm == arm]
            bad = [each for each in mine if each.status != "ok" and each.reason != OVERRUN]
            if bad:
                alarm = is_refuted(len(bad), len(mine), FAILING)
                facts = {"failed": len(bad), "trials": len(mine), "status": bad[0].status,
                         "reason": bad[0].reason[:MOST_REASON],
                         "arm": known.get(arm, {}).get("arm", arm)}  # fmt: skip
                kind = ALARM if alarm else NOTE
                yield Diagnostic("LB006", kind, "arm", run.place(row) | facts)
        lost = [] if trials else of(events, ConfigurationFailed)
        if lost:
            facts = {"failed": len(lost), "reason": lost[0].reason[:MOST_REASON]}
            yield Diagnostic("LB006", NOTE, "configurations", run.place(row) | facts)


def is_refuted(count: int, n: int, probability: float) -> bool:
    """Return whether so many of `n` are rare if each has at most that probability (binomial).

    Examples
    --------
    >>> is_refuted(3, 3, 0.1), is_refuted(1, 3, 0.1)
    (True, False)
    """
    from scipy.special import bdtrc

    return bool(bdtrc(count - 1, n, probability) <= RARE)


FINDERS: Sequence[Callable[[DiagnosedRun], Iterable[Diagnostic]]] = (
    unbeaten_baseline, leaks, unordered, failures,
)  # fmt: skip
"""One a code."""
