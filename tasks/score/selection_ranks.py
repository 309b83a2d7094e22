"""Who chooses well among given configurations, and at what cost: ranks over data sets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from leaseboard.tasks.jobs.benches.kinds import choosing
from leaseboard.tasks.score.frame import finished
from leaseboard.tasks.score.selection import REFERENCE

TOLERATED = 0.01, 0.05
"""Accuracies that may be lost: at each of them everybody is ranked."""

RULE = (
    "On a data set those come first who lost at most epsilon in every repetition, whoever took the"
    " fewest CPU seconds before the others; then those who lost more, by their mean loss; then"
    " those who failed in a repetition. Who was skipped on a data set has no rank there."
)


@dataclass(frozen=True, slots=True)
class Standing:
    """One algorithm over all data sets; NaN where it has no rank or no finished run.

    Attributes
    ----------
    ranks : tuple of float
        The mean rank by `RULE`, for each of `TOLERATED`.
    by_loss, by_seconds : float
        The mean ranks by mean loss alone and by mean CPU seconds alone.
    loss, worst : float
        The accuracy of Full-run's choice less that of its own, both trained in full: the mean and
        the largest.
    above : tuple of int
        How many runs lost more, for each of `TOLERATED`.
    cpu_seconds, wall_seconds : float
        Of the selection alone, the mean.
    speedup : float
        Full-run's CPU seconds over its own, the geometric mean; infinite if it takes none.
    """

    label: str
    ranks: tuple[float, ...]
    by_loss: float
    by_seconds: float
    loss: float
    worst: float
    above: tuple[int, ...]
    cpu_seconds: float
    wall_seconds: float
    speedup: float
    finished: int
    failed: int
    skipped: int


def standings(frame: pd.DataFrame) -> list[Standing]:
    """Every algorithm of a run of selections, best first by the first of `TOLERATED`.

    There are none unless all chose among equally many configurations, and Full-run is there to
    tell what was lost.

    - `frame`: as `leaseboard.tasks.score.frame.as_frame` gives it.
    """
    runs = _runs(frame)
    if runs is None or runs["label"].nunique() < 2:
        return []
    ranks = _ranks(runs)
    found = []
    for label, mine in runs.groupby("label", sort=False):
        ok = mine[mine["fine"]]
        at = ranks.loc[label] if label in ranks.index else pd.Series(np.nan, ranks.columns)
        found.append(
            Standing(
                label=str(label),
                ranks=tuple(float(at[each]) for each in TOLERATED),
                by_loss=float(at["loss"]),
                by_seconds=float(at["seconds"]),
                loss=float(ok["loss"].mean()),
                worst=float(ok["loss"].max()),
                above=tuple(int((ok["loss"] > each).sum()) for each in TOLERATED),
                cpu_seconds=float(ok["seconds"].mean()),
                wall_seconds=float(ok["wall"].mean()),
                speedup=_speedup(ok),
                finished=len(ok),
                failed=int(mine["failed"].sum()),
                skipped=int((mine["status"] == "skipped").sum()),
            )
        )
    return sorted(found, key=lambda each: tuple(np.nan_to_num(each.ranks, nan=np.inf)))


def _runs(frame: pd.DataFrame) -> pd.DataFrame | None:
    """The jobs beside Full-run's; None where they are no selections of one size beside it."""
    fine = finished(frame)
    done = frame[fine]
    if not len(done) or not done["bench"].isin(choosing("configuration")).all():
        return None
    if len({metrics.get("configurations") for metrics in done["metrics"]}) > 1:
        return None
    measured = [each or {} for each in frame["metrics"]]
    runs = frame[["label", "data", "repetition", "status", "score"]].assign(
        fine=fine,
        failed=~fine & (frame["status"] != "skipped"),
        seconds=[each.get("selection_cpu_seconds", np.nan) for each in measured],
        wall=[each.get("selection_wall_seconds", np.nan) for each in measured],
    )
    full = runs[fine & (frame["algorithm"] == REFERENCE)].drop_duplicates(["data", "repetition"])
    if not len(full):
        return None
    runs = runs.merge(
        full[["data", "repetition", "score", "seconds"]],
        on=["data", "repetition"],
        suffixes=("", "_of_full_run"),
    )
    loss = runs["score_of_full_run"].astype(float) - runs["score"].astype(float)
    return runs.assign(loss=loss.round(12))


def _ranks(runs: pd.DataFrame) -> pd.DataFrame:
    """The mean ranks of each label, a column for each of `TOLERATED`, ``loss`` and ``seconds``."""
    cells = (
        runs.groupby(["label", "data"], sort=False)
        .agg(
            skipped=("status", lambda each: (each == "skipped").any()),
            failed=("failed", "any"),
            loss=("loss", "mean"),
            worst=("loss", "max"),
            seconds=("seconds", "mean"),
        )
        .reset_index()
    )
    cells = cells[~cells["skipped"]]
    failed = cells["failed"].astype(int)
    ranks = {
        "loss": _rank(cells, failed, cells["loss"]),
        "seconds": _rank(cells, failed, cells["seconds"]),
    }
    for epsilon in TOLERATED:
        over = (cells["worst"] > epsilon) | cells["failed"]
        value = cells["seconds"].where(~over, cells["loss"])
        ranks[epsilon] = _rank(cells, over.astype(int) + failed, value)
    return pd.DataFrame(ranks).groupby(cells["label"]).mean()


def _rank(cells: pd.DataFrame, first: pd.Series, then: pd.Series) -> pd.Series:
    """On each data set by `first`, equals by `then`, of which none is the last; ties shared."""
    order = pd.DataFrame({"first": first, "then": then.astype(float).fillna(np.inf)})
    places = order.groupby(["first", "then"]).ngroup()
    return places.groupby(cells["data"]).rank()


def _speedup(ok: pd.DataFrame) -> float:
    with np.errstate(divide="ignore"):
        times = ok["seconds_of_full_run"].to_numpy(float) / ok["seconds"].to_numpy(float)
        return float(np.exp(np.log(times).mean())) if len(times) else np.nan
