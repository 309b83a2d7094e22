"""Configuration selection compared with Full-run, as in the paper's Figures 3 to 8."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import pandas as pd

from leaseboard.algorithms.events import Event
from leaseboard.tasks.jobs.environments.kinds import choosing
from leaseboard.tasks.report.charts import (
    LOG,
    Figure,
    axis,
    chart,
    colour,
    scatter,
    wording,
)
from leaseboard.tasks.report.material import Material
from leaseboard.tasks.report.page import (
    Cell,
    Names,
    Section,
    Table,
    cell,
    count,
    data_cell,
    number,
    rounded,
)
from leaseboard.tasks.score.selection import (
    REFERENCE,
    RULE,
    TOLERATED,
    Selection,
    Truth,
    compare,
    standings,
)


def selection_log(row: Any, events: Sequence[Event]) -> Sequence[Event] | None:
    """Return the log of a finished job of selection."""
    return events if row.status == "ok" and row.environment in choosing("configuration") else None


def truths(made: Material) -> dict[tuple[str, int], Truth]:
    """Return the results of Full-run on each dataset and repetition."""
    found: dict[tuple[str, int], Truth] = {}
    for row, events in made.by(selection_log):
        if row.algorithm == REFERENCE:
            found.setdefault((row.data, row.repetition), Truth()).add(events)
    return found


def compared(made: Material) -> list[Selection]:
    """Return every run that can be compared with a Full-run, Full-run itself left out."""
    real = truths(made)
    found = [
        compare(
            events, real[row.data, row.repetition], key=str(row.key), name=row.name,
            data=row.data, algorithm=row.algorithm,
        )
        for row, events in made.by(selection_log)
        if row.algorithm != REFERENCE and (row.data, row.repetition) in real
    ]  # fmt: skip
    return [selection for selection in found if selection is not None]


def ranks(made: Material) -> Section | None:
    """Return ranks by loss and seconds; None where none of one size ran with Full-run."""
    found = standings(made.frame)
    if found.empty:
        return None
    shares = {f"{100 * epsilon:g} %": epsilon for epsilon in TOLERATED}
    shown: dict[str, list[Cell]] = {"Algorithm": [cell(str(label)) for label in found.index]}
    for name, column in (
        *((f"Mean rank, {share} may be lost", f"rank at {e}") for share, e in shares.items()),
        ("Mean rank by loss", "rank by loss"),
        ("Mean rank by seconds", "rank by seconds"),
    ):
        shown[name] = [rounded(rank, 2) for rank in found[column]]
    for name in ("loss", "worst"):
        kinds = ["bad" if loss > TOLERATED[0] else "" for loss in found[name]]
        shown[f"{'Mean' if name == 'loss' else 'Worst'} loss"] = [
            number(loss, 3, kind) for loss, kind in zip(found[name], kinds, strict=True)
        ]
    for share, epsilon in shares.items():
        above = zip(found[f"above {epsilon}"], found["finished"], strict=True)
        shown[f"Lost more than {share}"] = [
            Cell(f"{n} of {finished}", n, "bad" if n else "") for n, finished in above
        ]
    for name, column in (("CPU s", "cpu_seconds"), ("Wall s", "wall_seconds")):
        shown[name] = [number(seconds, 3) for seconds in found[column]]
    shown["Speed-up"] = [Cell("∞") if math.isinf(x) else number(x, 3) for x in found["speedup"]]
    shown |= {"Finished": [cell(n) for n in found["finished"]],
              "Failed": [count(n) for n in found["failed"]],
              "Skipped": [cell(n) for n in found["skipped"]]}  # fmt: skip
    words = wording("selection-ranks-table")
    table = Table("selection-ranks-table", frame=pd.DataFrame(shown), **words)
    return Section("selection-ranks", **wording("selection-ranks", rule=RULE), tables=[table])


def selections(made: Material) -> Section | None:
    """Return the selections; None where none ran with Full-run."""
    found = compared(made)
    if not found:
        return None
    guaranteed = [selection.kept for selection in found if selection.kept is not None]
    bounded = [selection.calibration for selection in found if selection.epsilon is not None]
    intervals, above, below = (sum(getattr(each, name) for each in bounded)
                               for name in ("intervals", "above", "below"))  # fmt: skip
    words = wording(
        "selection", kept=sum(guaranteed), guaranteed=len(guaranteed), intervals=intervals,
        above=above, below=below,
    )  # fmt: skip
    groups: dict[tuple[str, str], list[Selection]] = {}
    for selection in found:
        groups.setdefault((selection.data, selection.name), []).append(selection)
    rows = [_group(made, *place, runs) for place, runs in groups.items()]
    table = Table("selection-table", frame=pd.DataFrame(rows), **wording("selection-table"))
    drawn = figures(found, made.names)
    return Section("selection", **words, figures=drawn, tables=[table])


def _group(made: Material, data: str, label: str, runs: Sequence[Selection]) -> dict[str, object]:
    frame = as_runs(runs)
    intervals, above, below = (int(frame[name].sum()) for name in ("intervals", "above", "below"))
    # Only an interval that is guaranteed can break an assumption; DAUB's are projections.
    guarantees = intervals > 0 and any(run.epsilon is not None for run in runs)
    kind = "bad" if any(run.kept is False for run in runs) else ""
    return {
        "Data": data_cell(data, made.names),
        "Algorithm": label,
        "Runs": len(runs),
        "Configurations": runs[0].configurations,
        "Speed-up (i)": number(frame["speedup"].median(), 3),
        "Speed-up (ii)": number(frame["speedup_trained"].median(), 3),
        "Loss, worst": number(frame["loss"].max(), 3, kind),
        "Probes": frame["probes"].median(),
        "Largest sample": frame["largest_rows"].max(),
        "Intervals": cell(intervals) if intervals else Cell("–", 0),
        "Held": 1 - (above + below) / intervals if intervals else None,
        "Exploitiveness broken": count(above) if guarantees else Cell("–", above),
        "Fitness broken": count(below) if guarantees else Cell("–", below),
    }


def as_runs(found: Sequence[Selection]) -> pd.DataFrame:
    """Return a row for each selection, its calibration as columns."""
    names = [each.name for each in fields(Selection)]
    frame = pd.DataFrame([[getattr(run, name) for name in names] for run in found], columns=names)
    numbers = ["speedup", "speedup_trained", "loss", "relative_loss"]
    frame[numbers] = frame[numbers].astype(float)
    for name in ("intervals", "above", "below"):
        frame[name] = [getattr(run.calibration, name) for run in found]
    return frame


def figures(found: Sequence[Selection], names: Names) -> list[Figure]:
    """Return speed-up against relative loss, a point a run."""
    runs = as_runs(found).dropna(subset=["speedup", "loss"])
    if runs.empty:
        return []
    data = [
        scatter(
            label, of["relative_loss"], of["speedup"], colour(index), mode="markers",
            hints=(f"{names.get(run.data, run.data)}, {run.configurations} configurations"
                   for run in of.itertuples()),
            hovertemplate="%{hovertext}<br>loss %{x}, %{y} times faster",
            marker={"size": 9, "opacity": 0.8},
        )
        for index, (label, of) in enumerate(runs.groupby("name", sort=False))
    ]  # fmt: skip
    across = axis("relative loss of accuracy", tickformat="~g")
    up = axis("times faster than Full-run", **LOG)
    return [chart("Speed-up against loss", "A point is one run.", data, across, up, 420)]
