"""Systems in processes of their own: what they took of seconds and memory, how they failed."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from leaseboard.algorithms import registry
from leaseboard.algorithms.benches.systems import SystemsAlgorithm
from leaseboard.algorithms.errors import short
from leaseboard.algorithms.reference.outside_forecaster import OutsideForecaster
from leaseboard.tasks.jobs.job import FAILURES
from leaseboard.tasks.report.section import Cell, Material, Section, Table, number
from leaseboard.tasks.score.frame import finished, scoreless

MEMORY = "peak_memory_mb"
WORD = 120
"""Signs of a last word that are shown; the whole is its hint."""


TEXTS: dict[type, str] = {
    OutsideForecaster: (
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


def section(made: Material) -> Section | None:
    """What they took and how they ended; None where none ran in a process of its own."""
    rows, said = [], set()
    for label in made.labels:
        jobs = made.frame[made.frame["label"] == label]
        registered = [name for name in jobs["algorithm"].unique() if name in registry.names()]
        classes = [registry.algorithm_class(name) for name in registered]
        found = {base for base in TEXTS for cls in classes if issubclass(cls, base)}
        if found:
            rows.append(_row(label, jobs))
            said |= found
    if not rows:
        return None
    table = Table(
        "own-processes-table",
        "What they took, and how they failed",
        ["Algorithm", "Finished", "CPU s a job", "Wall s a job", "Median peak MB",
         "Largest peak MB", "Diverged", "Other failures", "Skipped", "Last word"],
        rows,
    )  # fmt: skip
    texts = [text for base, text in TEXTS.items() if base in said]
    return Section(
        "own-processes",
        "In processes of their own",
        nav="Own processes",
        text=texts,
        tables=[table],
    )


def _row(label: str, jobs: pd.DataFrame) -> list[Cell]:
    done = jobs[finished(jobs)]
    memory = _memory(done)
    known = memory[np.isfinite(memory)]
    diverged = int((jobs["status"] == "diverged").sum())
    failed = int(jobs["status"].isin(FAILURES - {"diverged"}).sum())
    skipped = int((jobs["status"] == "skipped").sum())
    word = _last_word(jobs)
    return [
        Cell(label, label),
        Cell(str(len(done)), len(done)),
        number(float(done["cpu_seconds"].mean()), 3),
        number(float(done["wall_seconds"].mean()), 3),
        number(float(np.median(known)) if len(known) else math.nan, 4),
        number(float(known.max()) if len(known) else math.nan, 4),
        Cell(str(diverged), diverged, "bad" if diverged else ""),
        Cell(str(failed), failed, "bad" if failed else ""),
        Cell(str(skipped), skipped),
        Cell(short(word, WORD) if word else "–", word, hint=word if len(word) > WORD else ""),
    ]


def _last_word(jobs: pd.DataFrame) -> str:
    """Of the last job that failed; why the last was skipped, where all were."""
    told = jobs[scoreless(jobs)]
    told = jobs if told.empty and (jobs["status"] == "skipped").all() else told
    return "" if told.empty else str(told["reason"].iloc[-1])


def _memory(jobs: pd.DataFrame) -> np.ndarray:
    """Of each job; NaN where it was not measured."""
    return np.array([(each or {}).get(MEMORY, np.nan) for each in jobs["metrics"]], float)
