"""Forecasters of other libraries on streams: seconds, memory and failures of their processes."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from tasks.jobs.job import FAILURES
from tasks.report.cells import Cell, number
from tasks.report.material import Material
from tasks.report.section import Section, Table
from tasks.score.frame import finished

MEMORY = "peak_memory_mb"


def section(made: Material) -> Section | None:
    """What they took; None where no job ran in a process of another library."""
    rows = [
        _row(label, jobs)
        for label in made.labels
        if len(jobs := made.frame[made.frame["label"] == label])
        and np.isfinite(_memory(jobs)).any()
    ]
    if not rows:
        return None
    text = (
        "Learners of other libraries, each job in a process of its library's own environment: it"
        " is sent a row, forecasts it, and is sent the label. CPU and wall seconds are means over"
        " finished jobs, of forecasting and learning alone; the memory is that of the whole"
        " process, library included. A forecast that is no finite number, or an overflow, is"
        " diverged; an absurd but finite forecast counts in the score."
    )
    table = Table(
        "own-processes-table",
        "In processes of their own",
        ["Algorithm", "Finished", "CPU s a job", "Wall s a job", "Median peak MB",
         "Largest peak MB", "Diverged", "Other failures"],
        rows,
    )  # fmt: skip
    return Section(
        "own-processes", "Other libraries", nav="Other libraries", text=[text], tables=[table]
    )


def _row(label: str, jobs: pd.DataFrame) -> list[Cell]:
    done = jobs[finished(jobs)]
    memory = _memory(done)
    diverged = int((jobs["status"] == "diverged").sum())
    failed = int(jobs["status"].isin(FAILURES - {"diverged"}).sum())
    return [
        Cell(label, label),
        Cell(str(len(done)), len(done)),
        number(float(done["cpu_seconds"].mean()), 3),
        number(float(done["wall_seconds"].mean()), 3),
        number(float(np.nanmedian(memory)) if len(memory) else math.nan, 4),
        number(float(np.nanmax(memory)) if len(memory) else math.nan, 4),
        Cell(str(diverged), diverged, "bad" if diverged else ""),
        Cell(str(failed), failed, "bad" if failed else ""),
    ]


def _memory(jobs: pd.DataFrame) -> np.ndarray:
    """Of each job; NaN where it was not measured."""
    return np.array([(each or {}).get(MEMORY, np.nan) for each in jobs["metrics"]], float)
