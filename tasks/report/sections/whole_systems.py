"""Systems in processes of their own, and the margins of whole systems over LightGBM."""

import math
from collections.abc import Mapping

import numpy as np
import pandas as pd

from leaseboard.algorithms import registry
from leaseboard.algorithms.environments.systems import SystemsAlgorithm
from leaseboard.algorithms.errors import short
from leaseboard.algorithms.reference.frameworks import StreamFramework
from leaseboard.tasks.jobs.environments.kinds import choosing
from leaseboard.tasks.jobs.job import FAILURES
from leaseboard.tasks.report.charts import sentences, wording
from leaseboard.tasks.report.material import Material
from leaseboard.tasks.report.page import (
    Cell,
    Section,
    Table,
    cell,
    count,
    data_cell,
    number,
    percent,
    spread,
)
from leaseboard.tasks.score.frame import finished, scoreless
from leaseboard.tasks.score.table import ROUNDING, Floats, nanmean

MEMORY = "peak_memory_mb"
REFERENCE, RIVAL = "lightgbm-default", "flaml-default"
"""The reference of all differences, and the system to be level with."""
TOLERATED = 0.005
"""Tolerated loss of accuracy or R² against the reference."""
SHOWN = 120
"""Characters of a reason that are shown; the whole is its hint."""

TEXTS: dict[type, str] = {
    StreamFramework: "own-processes.streams",
    SystemsAlgorithm: "own-processes.systems",
}
"""Descriptions of algorithms whose jobs run in processes of their own, by their class."""


def systems(made: Material) -> Section | None:
    """Return the margins of whole systems; None where none ran with the reference."""
    table = made.found.board.table
    if not (
        REFERENCE in table.labels and made.frame["environment"].isin(choosing("system")).any()
    ):
        return None
    over = table.differences_from(REFERENCE)
    # A table counts where both it and the other finished a repetition of it.
    rival = (
        table.differences_from(RIVAL).means
        if RIVAL in table.labels
        else np.full(over.means.shape, np.nan)
    )
    order = [table.labels.index(label) for label in made.labels]
    cpu = {row.name: row.cpu_seconds for row in made.found.board.rows}
    rows = [_totals(made, table.labels[i], over.means[i], rival[i], cpu) for i in order]
    totals = Table(
        "systems-table",
        frame=pd.DataFrame(rows),
        **wording("systems-table", reference=REFERENCE, rival=RIVAL),
    )
    others = [i for i in order if table.labels[i] != REFERENCE]
    margins = [
        [data_cell(problem, made.names), *(_signed(over.means[i, p], over.sds[i, p])
                                           for i in others)]
        for p, problem in enumerate(table.problems)
    ]  # fmt: skip
    columns = ["Data", *(table.labels[i] for i in others)]
    by_table = Table(
        "margins-table",
        frame=pd.DataFrame(margins, columns=columns, dtype=object),
        **wording("margins-table", reference=REFERENCE),
    )
    words = wording("systems", reference=REFERENCE)
    return Section("systems", **words, tables=[totals, by_table])


def _totals(
    made: Material, label: str, margins: Floats, rival: Floats, cpu: Mapping[str, float]
) -> dict[str, object]:
    n, rivals = int(np.isfinite(margins).sum()), int(np.isfinite(rival).sum())
    least = Cell("–")
    if n:
        worst = int(np.nanargmin(margins))
        where = made.name(made.found.board.table.problems[worst])
        kind = "bad" if margins[worst] < -TOLERATED else ""
        least = Cell(f"{_signed(margins[worst]).text} on {where}", margins[worst], kind)
    tolerable = int((margins >= -TOLERATED - ROUNDING).sum())
    level = int((rival >= -ROUNDING).sum())
    done = made.frame[(made.frame["name"] == label) & finished(made.frame)]
    overruns = pd.Series([each.get("overrun") for each in done["metrics"]], dtype=float)
    return {
        "Algorithm": label,
        "Tables": n,
        "Mean difference": _signed(float(nanmean(margins, 0))),
        "Worst difference": least,
        f"At most {TOLERATED} below": Cell(f"{tolerable} of {n}", tolerable),
        f"At least level with {RIVAL}": Cell(f"{level} of {rivals}" if rivals else "–", level),
        "CPU s a fit": number(cpu[label], 3),
        "Mean overrun": percent(overruns.mean()),
        "Largest overrun": percent(overruns.max()),
    }


def _signed(value: float, sd: float = math.nan) -> Cell:
    """Return a difference with its sign; much below is bad, above is good."""
    if not math.isfinite(value):
        return Cell("–")
    text = spread(f"{value:+.4f}".replace("-", "−"), sd, 4)
    return Cell(text, value, "bad" if value < -TOLERATED else "good" if value > TOLERATED else "")


def own_processes(made: Material) -> Section | None:
    """Return seconds and memory of systems; None where none had its own process."""
    rows, classes = [], set[type]()
    for label in made.labels:
        jobs = made.frame[made.frame["name"] == label]
        registered = set(jobs["algorithm"]).intersection(registry.names())
        kinds = [registry.algorithm_class(name) for name in registered]
        found = {base for base in TEXTS for kind in kinds if issubclass(kind, base)}
        classes |= found
        rows += [_taken(label, jobs)] * bool(found)
    if not rows:
        return None
    table = Table(
        "own-processes-table", frame=pd.DataFrame(rows), **wording("own-processes-table")
    )
    text = [sentences(text) for base, text in TEXTS.items() if base in classes]
    return Section("own-processes", **wording("own-processes"), text=text, tables=[table])


def _taken(label: str, jobs: pd.DataFrame) -> dict[str, object]:
    done, status = jobs[finished(jobs)], jobs["status"]
    memory = pd.Series([each.get(MEMORY) for each in done["metrics"]], dtype=float)
    # The last job that failed; where all were skipped, the last of them.
    failed = jobs if (status == "skipped").all() else jobs[scoreless(jobs)]
    why = "" if failed.empty else str(failed["reason"].iloc[-1])
    return {
        "Algorithm": label,
        "Finished": len(done),
        "CPU s a job": number(done["cpu_seconds"].mean(), 3),
        "Wall s a job": number(done["wall_seconds"].mean(), 3),
        "Median peak MB": memory.median(),
        "Largest peak MB": memory.max(),
        "Diverged": count((status == "diverged").sum()),
        "Other failures": count(status.isin(FAILURES - {"diverged"}).sum()),
        "Skipped": cell(int((status == "skipped").sum())),
        "Last failure": Cell(short(why, SHOWN) or "–", why, hint=why if len(why) > SHOWN else ""),
    }
