"""The leaderboard, the diagnostics, and the scores by dataset."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import numpy as np
import pandas as pd

from leaseboard.tasks.jobs.diagnostic_codes import ALARM
from leaseboard.tasks.report.charts import wording
from leaseboard.tasks.report.material import Material
from leaseboard.tasks.report.page import (
    Cell,
    Section,
    Table,
    cell,
    data_cell,
)
from leaseboard.tasks.score import board as terminal
from leaseboard.tasks.score.frame import metric_title
from leaseboard.tasks.score.numbers import padded
from leaseboard.tasks.score.summary import distinct
from leaseboard.tasks.score.table import (
    UNFINISHED,
    ScoreTable,
    nanmean,
    relative_losses,
    score_table,
)


def leaderboard(made: Material) -> Section:
    """Return every algorithm by its mean rank, with the rules for missing results."""
    columns, rows = terminal.columns(made.found, wide=True), made.found.board.rows
    frame = pd.DataFrame({name: [text(row) for row in rows] for name, text in columns.items()})
    table = Table(
        "leaderboard-table", made.found.title, frame, key=list(columns).index("algorithm"),
        note=" ".join(terminal.notes(made.found)),
    )  # fmt: skip
    return Section("leaderboard", **wording("leaderboard"), tables=[table])


def diagnostics(made: Material) -> Section | None:
    """Return the findings of the diagnostics, alarms first; None without any."""
    if not made.diagnostics:
        return None
    rows = [
        {
            "Code": Cell(each.code, each.code, hint=each.meaning["title"]),
            "Severity": cell(each.severity, "bad" if each.severity == ALARM else ""),
            "Found": str(each),
            "What to do": each.meaning["advice"],
        }
        for each in made.diagnostics
    ]
    words = wording("diagnostics-table")
    table = Table("diagnostics-table", frame=pd.DataFrame(rows), **words)
    return Section("diagnostics", **wording("diagnostics"), tables=[table])


def datasets(made: Material) -> Section:
    """Return the scores and other measures of each dataset."""
    makers = (scores, tested, relative)
    tables = [table for make in makers if (table := make(made)) is not None]
    return Section("data", **wording("data"), tables=tables)


def _by_data(
    made: Material, show: Callable[[int, int], Cell], problems: Iterable[int] | None = None
) -> pd.DataFrame:
    """Return a row for each dataset, by default for all, the algorithms as on the leaderboard."""
    table = made.found.board.table
    order = [table.labels.index(label) for label in made.labels]
    rows = [
        [data_cell(table.problems[p], made.names), *(show(i, p) for i in order)]
        for p in (range(len(table.problems)) if problems is None else problems)
    ]
    return pd.DataFrame(rows, columns=["Data", *made.labels], dtype=object)


def _mean_cell(table: ScoreTable) -> Callable[[int, int], Cell]:
    """Return a function for the mean and spread of a place in `table`; the best is bold."""
    means, sds, gains = table.means, table.sds, table.means * table.signs
    ranks = table.ranks()

    def lost(states: np.ndarray) -> str:
        counts = [(int((states == state).sum()), word) for state, word in UNFINISHED.items()]
        everything = sum(n for n, _ in counts) == len(states)
        return ", ".join(word if everything else f"{n} {word}" for n, word in counts if n)

    def show(i: int, p: int) -> Cell:
        missing = lost(table.states[i, p])
        text = padded(means[i, p], 4) if math.isfinite(means[i, p]) else missing or "–"
        if sds[i, p] > 0:
            text += f" ± {padded(sds[i, p], 2)}"
        if missing and math.isfinite(means[i, p]):
            text += f" ({missing})"
        best = math.isfinite(gains[i, p]) and ranks[i, p] == np.nanmin(ranks[:, p])
        kind = "best" if best else "bad" if "failed" in missing else ""
        return Cell(text, means[i, p], kind)

    return show


def scores(made: Material) -> Table:
    """Return mean and standard deviation of every algorithm on every dataset."""
    board = made.found.board
    words = wording("scores-table", metric=metric_title(board.metric))
    return Table("scores-table", frame=_by_data(made, _mean_cell(board.table)), **words)


def tested(made: Material) -> Table | None:
    """Return mean and spread of the test score, where the score is one of validation."""
    table = score_table(distinct(made.frame), "test")
    if not np.isfinite(table.scores).any():
        return None
    frame = _by_data(made, _mean_cell(table))
    return Table("tested-table", frame=frame, **wording("tested-table"))


def relative(made: Material) -> Table | None:
    """Return losses over the best baseline's, else over those of the suite's zero."""
    scale, board = made.suite and made.suite.normalise, made.found.board
    table, zero = board.table, [scale.zero] if scale else made.labels[:1]
    against = "the best baseline" if board.baselines else "".join(zero)
    ratios = nanmean(relative_losses(table, board.baselines or zero), axis=2)
    usable = [p for p in range(len(table.problems)) if np.isfinite(ratios[:, p]).any()]
    if not usable:
        return None

    def show(ratio: float) -> Cell:
        kind = "good" if ratio < 0.995 else "bad" if ratio > 1.005 else ""
        return Cell(padded(ratio), ratio, kind)

    return Table(
        "relative-table",
        frame=_by_data(made, lambda i, p: show(ratios[i, p]), usable),
        **wording("relative-table", against=against),
    )
