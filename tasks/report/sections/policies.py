"""Policies over arms: regret, how soon they matched a joint optimiser, and what each arm got."""

import math
from collections.abc import Sequence
from typing import Any

import pandas as pd

from leaseboard.algorithms import registry
from leaseboard.algorithms.events import (
    ConfigurationAdmitted,
    Eliminated,
    Event,
    TrialFinished,
    of,
)
from leaseboard.algorithms.policies.policy import RETIRED
from leaseboard.tasks.jobs.environments.kinds import choosing
from leaseboard.tasks.report.charts import wording
from leaseboard.tasks.report.material import Material
from leaseboard.tasks.report.page import (
    Cell,
    Section,
    Table,
    data_cell,
    finite,
    number,
    percent,
    rounded,
)
from leaseboard.tasks.score.inference import Interval
from leaseboard.tasks.score.regret import SHARES, Where, regrets
from leaseboard.tasks.score.speed_up import progress_of, reference_of, speed_ups
from leaseboard.tasks.score.table import Floats

PREFIX = "exploitation."
"""Prefix of the metrics with an arm's share of the pulls."""

JOINT = frozenset(entry.name for entry in registry.ENTRIES if ".policies.joint:" in entry.target)
"""Algorithms whose trials of an arm are not those of the arm's own optimiser."""

Retired = tuple[str, float, int, str]
"""An arm's name, when it was retired, after how many pulls, and why."""


def job_progress(row: Any, events: Sequence[Event]) -> Floats | None:
    """Return the progress of a finished job of trials."""
    return (
        progress_of(events) if row.status == "ok" and row.environment in choosing("arm") else None
    )


def speed_up(made: Material) -> Section | None:
    """Return the speed-ups; None where no reference ran or nothing is compared with it."""
    runs: dict[tuple[str, int], dict[str, Floats]] = {}
    for row, progress in made.by(job_progress):
        runs.setdefault((row.data, row.repetition), {})[row.name] = progress
    reference = reference_of(label for by_label in runs.values() for label in by_label)
    if reference is None or (found := speed_ups(runs, reference)).empty:
        return None
    never = Cell("never")
    unit = " or ".join(sorted({row.unit for row, _ in made.by(job_progress)}))
    rows = [
        {
            "Data": data_cell(one.data, made.names) if one.data else Cell("All datasets"),
            "Algorithm": one.name,
            "Runs": one.runs,
            "Reached": one.reached,
            unit.capitalize(): never if math.isinf(one.units) else number(one.units),
            "CPU s": never if math.isinf(one.units) else number(one.cpu_seconds),
            f"Times fewer {unit}": number(one.times_units, 3),
            "Times less CPU": number(one.times_cpu, 3),
        }
        for one in found.itertuples()
    ]
    words = wording("speed-up-table", reference=reference)
    table = Table("speed-up-table", frame=pd.DataFrame(rows), **words)
    over_all = "" if found["data"].iloc[0] else ", and first over all datasets and repetitions"
    words = wording("speed-up", reference=reference, over_all=over_all)
    return Section("speed-up", **words, tables=[table])


def regret(made: Material) -> Section | None:
    """Return the regret over time; None where no two algorithms have trials of one repetition."""
    runs: dict[Where, dict[str, Floats]] = {}
    for row, progress in made.by(job_progress):
        if row.unit == "trials":
            runs.setdefault((row.data, row.repetition), {})[row.name] = progress[2]
    if (found := regrets(runs)).empty:
        return None
    rows = [
        {
            "Algorithm": label,
            "Runs": one["runs"],
            "Mean regret": _with_ends(one["regret"].times(100), 3),
            "Times the first": rounded(one["times"], 2),
            "Mean rank": _with_ends(one["rank"], 2),
            "Ranks behind the first": _with_ends(one["behind"], 2),
            **{
                f"Regret after {100 * share:g} %": rounded(100 * one[f"after {share}"], 3)
                for share in SHARES
            },
        }
        for label, one in found.iterrows()
    ]
    table = Table("regret-table", frame=pd.DataFrame(rows), **wording("regret-table"))
    words = wording("regret", **recorded(made.frame))
    return Section("regret", **words, tables=[table])


def _with_ends(value: Interval, decimals: int) -> Cell:
    ends = f" [{value.lower:.{decimals}f}, {value.upper:.{decimals}f}]"
    text = f"{value.value:.{decimals}f}" + (ends if math.isfinite(value.lower) else "")
    return Cell(text, finite(value.value))


def recorded(frame: pd.DataFrame) -> dict[str, int]:
    """Return how many trials of an arm alone a run asked for, and how many it did not.

    Trial number n of an arm is the same one for every policy. So a further policy costs at most
    those that are `missing`, of all that the budget would allow of every arm.
    """
    frame = frame[frame["environment"].isin(choosing("arm")) & ~frame["algorithm"].isin(JOINT)]
    done = frame[frame["status"] == "ok"]
    asked, every = 0, 0
    for _, jobs in done.groupby(["data", "repetition"]):
        pulls = pd.DataFrame(
            {name: share * metrics["trials"] for name, share in metrics.items()
             if name.startswith(PREFIX)} for metrics in jobs["metrics"]
        ).round()  # fmt: skip
        asked += int(pulls.max().sum())
        every += int(pulls.shape[1] * pulls.sum(axis=1).max())
    repetitions = len(frame.groupby(["data", "repetition"]))
    finished = len(done.groupby(["data", "repetition"]))
    return {"recorded": asked, "missing": every - asked, "finished": finished,
            "repetitions": repetitions}  # fmt: skip


def exploitation(made: Material) -> Section | None:
    """Return the share of its pulls that a policy gave each arm; None where none were pulled."""
    table = shares_of(made.frame, made.labels)
    if table is None:
        return None
    return Section("exploitation", **wording("exploitation"), tables=[table])


def shares_of(frame: pd.DataFrame, labels: Sequence[str]) -> Table | None:
    """Return the shares of every algorithm, means over its finished runs; None without arms.

    `labels`: the algorithms in the order of the leaderboard.
    """
    done = frame[frame["environment"].isin(choosing("arm")) & (frame["status"] == "ok")]
    if not len(done):
        return None
    shares = pd.DataFrame(
        [{name.removeprefix(PREFIX): share for name, share in metrics.items()
          if name.startswith(PREFIX)} for metrics in done["metrics"]],
        index=done.index,
    )  # fmt: skip
    arms = shares.groupby(done["name"]).mean()
    arms = arms[sorted(arms, key=lambda arm: (-arms[arm].mean(), arm))]
    best = _on_the_best(done, shares).groupby(done["name"]).mean()
    runs = done["name"].value_counts()
    rows = [
        [label, runs[label], percent(best[label]), *map(percent, arms.loc[label])]
        for label in labels
        if label in arms.index
    ]
    columns = ["Algorithm", "Runs", "Best arm", *arms]
    frame = pd.DataFrame(rows, columns=columns, dtype=object)
    return Table("exploitation-table", frame=frame, **wording("exploitation-table"))


def _on_the_best(done: pd.DataFrame, shares: pd.DataFrame) -> pd.Series:
    """Return the share of each run on the arms with which any run of its repetition won.

    Runs of a single arm, as those of a framework, have no choice and name no winner.
    """
    chose = shares.notna().sum(axis=1) > 1
    found = pd.Series(math.nan, index=done.index)
    for _, runs in done[chose].groupby(["data", "repetition"]):
        top = runs["score"].max() if runs["direction"].iloc[0] == "max" else runs["score"].min()
        winners = {champion["arm"] for champion in runs.loc[runs["score"] == top, "champion"]}
        found[runs.index] = shares.loc[runs.index, sorted(winners)].sum(axis=1)
    return found


def job_retired(row: Any, events: Sequence[Event]) -> list[Retired] | None:
    """Return the arms that a job retired; None without any."""
    if row.environment not in choosing("arm"):
        return None
    gone = [event for event in of(events, Eliminated) if event.reason.startswith(RETIRED)]
    arms = {e.configuration: e.parameters["arm"] for e in of(events, ConfigurationAdmitted)}
    pulls = [trial.arm for trial in of(events, TrialFinished)]
    found = [(arms[e.configuration], e.at, pulls.count(e.configuration), e.reason) for e in gone]
    return found or None


def retired(made: Material) -> Section | None:
    """Return every arm that was retired, with its reason; None where no arm was."""
    rows = [
        {
            "Algorithm": row.name,
            "Data": data_cell(row.data, made.names),
            "Arm": arm,
            "Why": reason,
            "Repetition": row.repetition,
            "Retired at": number(at),
            "Trials": pulls,
        }
        for row, arms in made.by(job_retired)
        for arm, at, pulls, reason in arms
    ]
    if not rows:
        return None
    table = Table("retired-table", frame=pd.DataFrame(rows), **wording("retired-table"))
    return Section("retired", **wording("retired"), tables=[table])
