"""Diagnostics of a run: a pure function for each code, on results and event logs.

The page of a code in ``docs/diagnostics`` has its test and level, and the rate of false alarms
that was measured. Several algorithms or hyperparameters share a level.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leaseboard.algorithms.environments.pulls import OVERRUN
from leaseboard.algorithms.events import (
    ConfigurationAdmitted,
    ConfigurationFailed,
    Event,
    ExploitivenessViolated,
    MonotonicityViolated,
    ProbeFinished,
    TrialFinished,
    of,
)
from leaseboard.algorithms.measures import SKILL, loss_of
from leaseboard.tasks.fetch.data_facts import SORTED
from leaseboard.tasks.jobs.diagnostic_codes import ALARM, NOTE, Diagnostic
from leaseboard.tasks.jobs.job import FAILURES, Result, plain_value
from leaseboard.tasks.score.frame import finished, rows_cut
from leaseboard.tasks.score.inference import paired
from leaseboard.tasks.score.selection import REFERENCE, Selection, Truth, compare
from leaseboard.tasks.score.summary import Compared
from leaseboard.tasks.score.table import significant

LEVEL, RARE = 0.05, 0.01
"""Levels of what has to be shown, and of what is refuted."""
LEAK, LEAST_LEAK = 0.98, 0.9
"""Skill of one column that is a leak, and of classes its lower bound at the level `RARE`."""
DEPENDENT = 3.1
"""Standard deviations that are rare: .001."""
EDGE, FEWEST_TRIALS, FEWEST_VALUES = 0.1, 10, 5
"""Share of a range that is its edge, and what a range needs."""
NEAR = 0.05
"""Distance from 0 or 1 at which a share ends."""
FAILING = 0.1
"""Share of an arm's trials that may fail."""
KURTOSIS, TEST_SHARE = 10.0, 0.2
"""Of errors, at most; share of rows that test, where scores are not progressive."""
BUSY, FEWEST_SECONDS = 1.5, 0.5
"""Wall over CPU seconds of a busy machine, and the least CPU seconds of a job that count."""
LEAST_DROP = 0.002
"""Relative change of a mean score that is worth a finding, as the gate's tolerance."""
MOST_REASON = 400
FEEDBACK = "best_feedback"
"""Metric of recorded rewards, which have no hyperparameters."""


@dataclass(frozen=True)
class DiagnosedRun:
    """Results of a run, compared, with what their logs hold."""

    frame: pd.DataFrame
    found: Compared | None = None
    names: Mapping[str, str] = field(default_factory=dict)
    """Names of datasets, by reference."""
    logs: Mapping[str, Sequence[Event]] = field(default_factory=dict)
    """See `signals`, by the job's key."""
    earlier: Sequence[Result] = ()
    """Results of earlier code."""

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


def signals(row: Any, events: Sequence[Event]) -> Sequence[Event] | None:
    """Return the events of a job that codes need: of a stream, which may have many, failures."""
    del row
    trials, probes = of(events, TrialFinished), of(events, ProbeFinished)
    if trials or probes:
        return events
    return of(events, ConfigurationFailed) or None


def unbeaten_baseline(run: DiagnosedRun) -> Iterator[Diagnostic]:
    """LB001: yield the datasets on which a naive baseline is better than all algorithms.

    And, as a note, those on which chance may explain that it is better, or that it is not: the
    best algorithm against the best baseline, see `error_of_lead`. Without a baseline's job the
    skill of the algorithm decides, or the share of the commonest class.
    """
    for data, every, known in run.datasets():
        rows = every[finished(every) & ~every["oracle_baseline"].astype(bool)]
        naive = rows["baseline"].astype(bool)
        if naive.all():
            continue
        sign = 1.0 if rows["direction"].iloc[0] == "max" else -1.0
        means = sign * rows.groupby("name")["score"].mean()
        rivals = rows[~naive]["name"].unique()
        best = means[rivals].idxmax()
        mine = rows[rows["name"] == best]
        row, score = next(mine.itertuples()), float(sign * means[best])
        metric, naives = str(row.metric), rows[naive]["name"].unique()
        facts: dict[str, Any] = {"data": data, "algorithm": best}
        if naive.any():
            baseline = means[naives].idxmax()
            other = float(sign * means[baseline])
        elif SKILL in row.metrics:
            skill, loss = row.metrics[SKILL], loss_of(row.metrics)
            if not skill <= 0 or loss is None:
                continue
            metric, sign = "progressive_" + ("mse" if "rmse" in row.metrics else "error"), -1.0
            baseline, score, other = "", loss, loss / (1 - skill)
            facts["skill"] = skill
        elif metric.endswith("accuracy") and "majority" in known:
            baseline, other = "commonest class", known["majority"]
            tested = zip(mine["metrics"], mine["score"], strict=True)
            score = float(np.mean([metrics.get("test", own) for metrics, own in tested]))
        else:
            continue
        lead, error = (
            sign * (score - other),
            error_of_lead(metric, score, other, row.rows or math.nan),
        )
        z = lead / error if error > 0 else None
        if z is not None:
            facts["z"] = z
        if lead > 0 and (z is None or z > _z(len(rivals))):
            continue
        worse = z is not None and z <= -_z(max(1, len(naives)))
        sentence = "skill" if "skill" in facts else "baseline" if worse else "close"
        facts |= {"baseline": baseline, "score": score, "other": other}
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
        yield from leaks_of(data, known)


def leaks_of(data: str, known: Mapping[str, Any]) -> Iterator[Diagnostic]:
    """LB002: yield the column of one dataset; `known` are its facts."""
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

    An alarm if labels depend on a time that is for sure that of the rows.
    """
    for data, rows, known in run.datasets():
        share, sds = known.get("time_discordant", 0.0), known.get("time_dependence", 0.0)
        if share > SORTED and rows["metric"].astype(str).str.startswith("progressive").any():
            kind = (NOTE, "harmless") if sds <= DEPENDENT else (NOTE, "uncertain")
            kind = (ALARM, "order") if sds > DEPENDENT and known["time_certain"] else kind
            yield Diagnostic("LB003", *kind, {"data": data, "column": known["time_column"],
                             "share": share, "sds": sds})  # fmt: skip


def edges(run: DiagnosedRun) -> Iterator[Diagnostic]:
    """LB004: yield hyperparameters of which the best trials of the best arm are all at one end.

    The range is that of the trials; a natural end, see `natural_ends`, cannot be wider. Of a
    hyperparameter without effect a trial is at one end with probability `EDGE`: as many of the
    best are looked at as make it `RARE` that all are.
    """
    for row, events in run.jobs():
        trials = [each for each in of(events, TrialFinished) if each.status == "ok"]
        trials.sort(key=lambda each: -each.reward)
        trials = [each for each in trials if each.arm == trials[0].arm]
        if len(trials) < FEWEST_TRIALS or row.metric == FEEDBACK:
            continue
        known = {e.configuration: e.parameters for e in of(events, ConfigurationAdmitted)}
        table = pd.DataFrame([dict(known[each.configuration]) for each in trials])
        table = table.select_dtypes("number")
        table = table.loc[:, table.nunique() >= FEWEST_VALUES]
        best = math.ceil(math.log(2 * max(1, table.shape[1]) / RARE) / -math.log(EDGE))
        for name in table:
            values = table[name].dropna().to_numpy(np.float64)
            low, high = values.min(), values.max()
            skewed = np.median(values) < low + EDGE * (high - low)  # as on a logarithmic scale
            scaled = np.log(values) if low > 0 and skewed else values
            places = ((scaled - scaled.min()) / np.ptp(scaled))[:best]
            lowest, highest = places.max() <= EDGE, places.min() >= 1 - EDGE
            natural = natural_ends(values, logarithmic=low > 0 and skewed)
            if len(values) >= FEWEST_TRIALS and (
                (lowest and not natural[0]) or (highest and not natural[1])
            ):
                end = "lowest" if lowest else "highest"
                arm = known.get(trials[0].arm, {}).get("arm", trials[0].arm)
                yield Diagnostic("LB004", NOTE, "edge", run.place(row) | {
                    "arm": arm, "hyperparameter": name, "best": best, "trials": len(values),
                    "end": end, "value": values[0], "low": low, "high": high})  # fmt: skip


def natural_ends(values: NDArray[np.float64], *, logarithmic: bool) -> tuple[bool, bool]:
    """Return whether a range ends naturally: counts at 0 or 1, shares and probabilities likewise.

    Draws hardly reach the ends of 0 to 1: what comes within `NEAR` of both, or is above 0 and
    comes near 1, is a share. Near 0 a logarithmic range can always be wider.

    Examples
    --------
    >>> natural_ends(np.array([1.0, 5.0, 9.0]), logarithmic=False)
    (True, False)
    >>> natural_ends(np.array([0.02, 0.5, 0.99]), logarithmic=False)
    (True, True)
    >>> natural_ends(np.array([0.001, 0.01, 0.99]), logarithmic=True)
    (False, True)
    """
    low, high = values.min(), values.max()
    counts = bool((values == np.rint(values)).all())
    share = low >= 0 and 1 - NEAR <= high <= 1
    fills = share and low <= NEAR and not logarithmic
    return bool(low == 0 or (counts and low == 1) or fills), bool(share)


def close_leaders(run: DiagnosedRun) -> Iterator[Diagnostic]:
    """LB005: yield a note unless the first of the leaderboard is ahead of the second for sure."""
    board = run.found.board if run.found else None
    if board is not None and len(board.rows) > 1 and board.rows[1].n_ok and board.lead_p > LEVEL:
        first, second = (row.name for row in board.rows[:2])
        found = {"algorithm": first, "second": second, "p": board.lead_p}
        yield Diagnostic("LB005", NOTE, "lead", found)


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


def _selections(run: DiagnosedRun) -> Iterator[tuple[Any, list[Selection]]]:
    """Yield the runs with a guarantee of each selection on a dataset, with a result of them.

    Runs that made equal probes do not depend on the seed: they are one observation.
    """
    truths: dict[tuple[str, int], Truth] = {}
    for row, events in run.jobs():
        if row.algorithm == REFERENCE:
            truths.setdefault((row.data, row.repetition), Truth()).add(events)
    groups: dict[tuple[str, str], tuple[Any, dict[Any, Selection]]] = {}
    for row, events in run.jobs():
        one = compare(events, truths.get((row.data, row.repetition), Truth()))
        if one is not None and one.epsilon is not None and "delta" in one.settings:
            probes = of(events, ProbeFinished)
            made = tuple((each.configuration, each.rows, each.test_accuracy) for each in probes)
            groups.setdefault((row.data, row.name), (row, {}))[1].setdefault(made, one)
    for row, found in groups.values():
        yield row, list(found.values())


def spent(
    run: DiagnosedRun, code: str, row: Any, found: Sequence[Selection], count: int
) -> Iterator[Diagnostic]:
    """Yield an alarm if delta does not explain so many runs, a note if they are all it allows."""
    delta, runs = float(found[0].settings["delta"]), len(found)
    if count and count >= delta * runs:
        kind = ALARM if is_refuted(count, runs, delta) else NOTE
        counts = {"count": count, "runs": runs, "delta": delta, "allowed": delta * runs}
        yield Diagnostic(code, kind, "runs", run.place(row) | counts)


def missed_intervals(run: DiagnosedRun) -> Iterator[Diagnostic]:
    """LB007: yield selections of which more runs miss an interval than their delta explains."""
    for row, found in _selections(run):
        missed = [each.calibration.above + each.calibration.below > 0 for each in found]
        yield from spent(run, "LB007", row, found, sum(missed))


def spent_guarantees(run: DiagnosedRun) -> Iterator[Diagnostic]:
    """LB009: yield selections that lose more than epsilon more often than their delta explains.

    And those that saw an assumption of their guarantee broken.
    """
    for row, found in _selections(run):
        guaranteed = [each for each in found if each.kept is not None]
        if guaranteed:
            lost = sum(not each.kept for each in guaranteed)
            yield from spent(run, "LB009", row, guaranteed, lost)
    for row, events in run.jobs():
        broken = [*of(events, ExploitivenessViolated), *of(events, MonotonicityViolated)]
        if broken:
            facts = run.place(row) | {"count": len(broken)}
            yield Diagnostic("LB009", NOTE, "assumption", facts)


def incomparable_seconds(run: DiagnosedRun) -> Iterator[Diagnostic]:
    """LB010: yield several machines, an alarm if a budget is of seconds; and a busy machine."""
    done = run.frame[finished(run.frame)]
    hosts = sorted({*done["host"].dropna()} - {""})
    if len(hosts) > 1:
        kind = ALARM if done["unit"].astype(str).str.endswith("seconds").any() else NOTE
        facts = {"machines": len(hosts), "hosts": ", ".join(hosts[:3])}
        yield Diagnostic("LB010", kind, "machines", facts)
    long = done[done["cpu_seconds"] >= FEWEST_SECONDS]
    ratios = long["wall_seconds"] / long["cpu_seconds"]
    busy = int((ratios > BUSY).sum())
    if 2 * busy > len(long):
        facts = {"jobs": busy, "all": len(long), "least": FEWEST_SECONDS,
                 "ratio": float(ratios.median())}  # fmt: skip
        yield Diagnostic("LB010", NOTE, "busy", facts)


def cut_datasets(run: DiagnosedRun) -> Iterator[Diagnostic]:
    """LB011: yield datasets of which not all rows were used."""
    for data, rows, _ in run.datasets():
        if text := rows_cut(rows, run.names):
            yield Diagnostic("LB011", NOTE, "rows", {"data": data, "text": text.rstrip(".")})


def _work(row: Any) -> tuple[str, ...]:
    """Return what a job does, without its settings and the version of its code."""
    budget = None if pd.isna(row.budget) else row.budget
    options = plain_value(dict(row.environment_options))
    places = row.algorithm, row.name, row.data, row.digest, row.metric, row.environment
    return *places, repr((row.seed, row.environment_seed, budget, sorted(options.items())))


def worse_version(run: DiagnosedRun) -> Iterator[Diagnostic]:
    """LB012: yield algorithms that are worse than their earlier code on the same jobs.

    The signed-rank test of relative changes, which `leaseboard.tasks.score.inference` proves.
    Equal scores that changed equally do not depend on the seed: they are one observation. A
    setting that only one of both has does not count: code may gain and lose settings.
    """
    before: dict[tuple[str, ...], list[Result]] = {}
    for each in sorted(run.earlier, key=lambda each: each.started):
        if each.status == "ok" and each.complete and each.score:
            before.setdefault(_work(each), []).append(each)
    found: dict[str, dict[tuple[Any, ...], tuple[float, str]]] = {}
    for row in run.frame[finished(run.frame)].itertuples():
        mine = plain_value(dict(row.settings))
        for old in reversed(before.get(_work(row), [])):
            theirs = plain_value(dict(old.settings))
            alike = all(mine[name] == theirs[name] for name in mine.keys() & theirs.keys())
            if alike and old.score and old.version != row.version:
                gain = (row.score - old.score) / abs(old.score)
                gain *= 1 if row.direction == "max" else -1
                same = row.data, *significant(np.array([old.score, row.score]))
                found.setdefault(row.name, {})[same] = gain, old.version
                break
    for name, changes in found.items():
        gains = np.array([gain for gain, _ in changes.values()])
        test = paired(np.ones(len(gains)), 1 + gains, "max")
        p = len(found) * test.p_value_of_drop
        if test.gain.value < -LEAST_DROP and p <= LEVEL:
            facts = {"algorithm": name, "version": next(iter(changes.values()))[1],
                     "drop": -test.gain.value, "pairs": len(gains), "p": p}  # fmt: skip
            yield Diagnostic("LB012", ALARM if p <= RARE else NOTE, "code", facts)


FINDERS: Sequence[Callable[[DiagnosedRun], Iterable[Diagnostic]]] = (
    unbeaten_baseline, leaks, unordered, edges, close_leaders, failures, missed_intervals,
    spent_guarantees, incomparable_seconds, cut_datasets, worse_version,
)  # fmt: skip
"""One a code; LB008 is of live models alone."""
