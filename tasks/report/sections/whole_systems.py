"""Systems in processes of their own, and how far whole systems are from LightGBM's defaults."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pandas as pd

from leaseboard.algorithms import registry
from leaseboard.algorithms.benches.systems import SystemsAlgorithm
from leaseboard.algorithms.errors import short
from leaseboard.algorithms.reference.frameworks import StreamFramework
from leaseboard.tasks.jobs.benches.kinds import choosing
from leaseboard.tasks.jobs.job import FAILURES
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
from leaseboard.tasks.score.table import Floats, nanmean

MEMORY = "peak_memory_mb"
REFERENCE, RIVAL = "lightgbm-default", "flaml-default"
"""What every system is measured against, and the system that it is to be level with."""
TOLERATED = 0.005
"""Of accuracy or R² below the reference."""
WORD = 120
"""Signs of a last word that are shown; the whole is its hint."""

TEXTS: dict[type, str] = {
    StreamFramework: (
        "Learners of other libraries, each job in a process of its library's own environment: it"
        " is sent a row, forecasts it, and is sent the label. CPU and wall seconds are means over"
        " finished jobs, of forecasting and learning alone; the memory is that of the whole"
        " process, library included. A forecast that is no finite number, or an overflow, is"
        " diverged; an absurd but finite forecast counts in the score."
    ),
    SystemsAlgorithm: (
        "Whole systems on tables, each fit in a process of its own, that of another library in"
        " its library's environment. CPU and wall seconds are means over finished fits with all"
        " their processes; neither loading libraries before nor the forecast counts. The memory is"
        " that of the largest process, libraries included. Who fails has no score, and the last"
        " word of its last failure stands here."
    ),
}
"""What is said of algorithms whose jobs run in processes of their own, by their class."""


def systems(made: Material) -> Section | None:
    """Return the margins of whole systems; None where none ran beside the reference."""
    table = made.found.board.table
    if not (REFERENCE in table.labels and made.frame["bench"].isin(choosing("system")).any()):
        return None
    over = table.less(REFERENCE)
    # A table counts where both it and the other finished a repetition of it.
    rival = table.less(RIVAL).means if RIVAL in table.labels else np.full(over.means.shape, np.nan)
    text = (
        f"Differences of the test score, accuracy or R², from {REFERENCE}: means over the"
        " repetitions that both finished, ± their standard deviation. CPU seconds are of the fit"
        " alone with all its processes, measured from outside; the overrun is what was taken"
        " beyond the budget. The defaults of single learners know no budget."
    )
    order = [table.labels.index(label) for label in made.labels]
    cpu = {row.label: row.cpu_seconds for row in made.found.board.rows}
    rows = [_totals(made, table.labels[i], over.means[i], rival[i], cpu) for i in order]
    totals = Table("systems-table", f"Against {REFERENCE} and {RIVAL}", pd.DataFrame(rows))
    others = [i for i in order if table.labels[i] != REFERENCE]
    margins = [
        [data_cell(problem, made.names), *(_signed(over.means[i, p], over.sds[i, p])
                                           for i in others)]
        for p, problem in enumerate(table.problems)
    ]  # fmt: skip
    columns = ["Data", *(table.labels[i] for i in others)]
    by_table = Table(
        "margins-table",
        f"Test score less that of {REFERENCE}",
        pd.DataFrame(margins, columns=columns, dtype=object),
        title="Table by table",
        filters="tables",
        few=12,
    )
    return Section(
        "systems", "Whole systems", nav="Whole systems", text=[text], tables=[totals, by_table]
    )


def _totals(
    made: Material, label: str, margins: Floats, rival: Floats, cpu: Mapping[str, float]
) -> dict[str, object]:
    n, rivals = int(np.isfinite(margins).sum()), int(np.isfinite(rival).sum())
    least = Cell("–")
    if n:
        worst = int(np.nanargmin(margins))
        where = made.name(made.found.board.table.problems[worst])
        least = _signed(margins[worst])
        bad = margins[worst] < -TOLERATED
        least = Cell(f"{least.text} on {where}", least.value, "bad" if bad else "")
    tolerable = int((margins >= -TOLERATED - 1e-12).sum())
    level = int((rival >= -1e-12).sum())
    done = made.frame[(made.frame["label"] == label) & finished(made.frame)]
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
    """Return what systems took of seconds and memory; None where none had its own process."""
    rows, classes = [], set[type]()
    for label in made.labels:
        jobs = made.frame[made.frame["label"] == label]
        registered = set(jobs["algorithm"]).intersection(registry.names())
        kinds = [registry.algorithm_class(name) for name in registered]
        found = {base for base in TEXTS for kind in kinds if issubclass(kind, base)}
        classes |= found
        rows += [_taken(label, jobs)] * bool(found)
    if not rows:
        return None
    table = Table("own-processes-table", "What they took, and how they failed", pd.DataFrame(rows))
    return Section(
        "own-processes",
        "In processes of their own",
        nav="Own processes",
        text=[text for base, text in TEXTS.items() if base in classes],
        tables=[table],
    )


def _taken(label: str, jobs: pd.DataFrame) -> dict[str, object]:
    done = jobs[finished(jobs)]
    memory = pd.Series(
        [(each or {}).get(MEMORY, math.nan) for each in done["metrics"]], dtype=float
    )
    status = jobs["status"]
    word = _last_word(jobs)
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
        "Last word": Cell(
            short(word, WORD) if word else "–", word, hint=word if len(word) > WORD else ""
        ),
    }


def _last_word(jobs: pd.DataFrame) -> str:
    """Return that of the last job that failed; why the last was skipped, where all were."""
    failed = jobs[scoreless(jobs)]
    failed = jobs if failed.empty and (jobs["status"] == "skipped").all() else failed
    return "" if failed.empty else str(failed["reason"].iloc[-1])
