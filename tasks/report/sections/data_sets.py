"""The data sets: tables with a row for each of them and a column for each algorithm."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from leaseboard.tasks.report.section import (
    Cell,
    Material,
    Section,
    Table,
    data_cell,
    finite,
    number,
    spread,
)
from leaseboard.tasks.score import board as terminal
from leaseboard.tasks.score.leaderboard import Board
from leaseboard.tasks.score.normalise import relative_losses
from leaseboard.tasks.score.summary import short
from leaseboard.tasks.score.table import (
    EARLY,
    FAILED,
    NOT_RUN,
    SKIPPED,
    Floats,
    nanmean,
    score_table,
)


def section(made: Material) -> Section:
    """The scores, and what else there is to say of each data set."""
    made_tables = (make(made) for make in (scores, tested, relative, normalised, microseconds))
    tables = [table for table in made_tables if table is not None]
    return Section("data", "Data sets", nav="Data sets", tables=tables)


def scores(made: Material) -> Table:
    """Mean and standard deviation of every algorithm on every data set."""
    board = made.found.board
    means, sds, ranks = board.table.means, board.table.sds, board.table.ranks()

    def cell(i: int, p: int) -> Cell:
        lost = _lost(board, i, p)
        text = short(means[i, p]) if math.isfinite(means[i, p]) else lost or "–"
        if math.isfinite(sds[i, p]):
            text += f" ± {short(sds[i, p], 2)}"
        if lost and math.isfinite(means[i, p]):
            text += f" ({lost})"
        best = math.isfinite(ranks[i, p]) and ranks[i, p] == np.nanmin(ranks[:, p])
        return Cell(
            text, finite(means[i, p]), "best" if best else "bad" if "failed" in lost else ""
        )

    return Table(
        "scores-table",
        f"Mean {board.metric} ± standard deviation over repetitions; the best of a row is bold",
        _columns(made),
        _rows(made, cell),
        filters="data sets",
    )


def tested(made: Material) -> Table | None:
    """Mean and spread of the test score, where the score itself is one of validation."""
    table = score_table(made.frame, "test")
    if not np.isfinite(table.scores).any():
        return None
    means, sds = table.means, table.sds
    signs = [1 if direction == "max" else -1 for direction in table.directions]

    def cell(i: int, p: int) -> Cell:
        text = short(means[i, p])
        text += f" ± {short(sds[i, p], 2)}" if math.isfinite(sds[i, p]) else ""
        best = signs[p] * means[i, p] == np.fmax.reduce(signs[p] * means[:, p])
        return Cell(text, finite(means[i, p]), "best" if best else "")

    return Table(
        "tested-table",
        "Mean test score ± standard deviation over repetitions",
        _columns(made),
        _rows(made, cell),
        title="Test score",
        text="Of the configuration that each algorithm chose by its validation score;"
        " no algorithm saw it.",
    )


def normalised(made: Material) -> Table | None:
    """The score on the board's scale for each data set, None for a single one."""
    board = made.found.board
    problems = board.table.problems
    usable = [p for p, data in enumerate(problems) if data not in board.unscaled]
    if len(usable) < 2:
        return None
    means = nanmean(board.values, axis=2)

    def cell(i: int, p: int) -> Cell:
        values = board.values[i, p][np.isfinite(board.values[i, p])]
        sd = float(values.std(ddof=1)) if values.size > 1 else math.nan
        text = spread(means[i, p], sd if sd > 5e-4 else math.nan, 3)
        best = means[i, p] >= np.nanmax(means[:, p]) - 1e-9
        return Cell(text, finite(means[i, p]), "best" if best else "")

    scale = terminal.score_name(board)
    name, _, meaning = scale.partition(":")
    return Table(
        "normalised-table",
        scale,
        _columns(made),
        _rows(made, cell, usable),
        title=name.capitalize(),
        text=f"{meaning.strip()[:1].upper()}{meaning.strip()[1:]}. {board.meaning}"
        " Data sets on which this has no meaning are left out.",
    )


def relative(made: Material) -> Table | None:
    """Losses over the best baseline's, else over those of the suite's zero; None without any."""
    scale, board = made.suite and made.suite.normalise, made.found.board
    table, zero = board.table, [scale.zero] if scale else made.labels[:1]
    against = "the best baseline" if board.baselines else "".join(zero)
    ratios = nanmean(relative_losses(table, board.baselines or zero), axis=2)
    usable = [p for p in range(len(table.problems)) if np.isfinite(ratios[:, p]).any()]
    if not usable:
        return None
    means = [_geometric(ratios[table.labels.index(label), usable]) for label in made.labels]
    return Table(
        "relative-table",
        f"Loss relative to {against}",
        _columns(made),
        _rows(made, lambda i, p: _shaded(ratios[i, p]), usable),
        title="Relative loss",
        text=f"Mean loss over that of {against}: below 1 is better. Unlike a normalised score it"
        " stays meaningful where the reference is already as good as can be.",
        foot=[_shaded(mean) for mean in means],
        foot_name="Geometric mean",
    )


def microseconds(made: Material) -> Table | None:
    """Of a suite on speed: CPU microseconds of a unit, and how many times the cheapest that is."""
    done = made.frame[(made.frame["status"] == "ok") & (made.frame["units"] > 0)]
    if made.suite is None or made.suite.kind != "speed" or done.empty:
        return None
    table = made.found.board.table
    each = (
        (1e6 * done["cpu_seconds"] / done["units"]).groupby([done["label"], done["data"]]).mean()
    )
    costs = each.unstack().reindex(index=table.labels, columns=table.problems).to_numpy()

    def cell(i: int, p: int) -> Cell:
        cost, least = costs[i, p], np.fmin.reduce(costs[:, p])
        if not math.isfinite(cost):
            return Cell("–")
        text = f"{short(cost, 3)} (× {short(cost / least, 3)})"
        return Cell(text, cost, "best" if cost == least else "")

    unit = str(done["unit"].iloc[0])
    return Table(
        "microseconds-table",
        f"CPU microseconds over {unit}",
        _columns(made),
        _rows(made, cell),
        title="CPU time of a unit",
        text=f"Microseconds of CPU over the {unit} that the job consumed, and how many times the"
        " cheapest of the row that is. Data loaded and kernels compiled before; one job at a"
        " time.",
    )


def _columns(made: Material) -> Sequence[str]:
    return ["Data", *made.labels]


def _rows(
    made: Material, cell: Callable[[int, int], Cell], problems: Iterable[int] | None = None
) -> list[list[Cell]]:
    """A row for each of the data sets, all if none are given, the algorithms as on the board."""
    table = made.found.board.table
    order = [table.labels.index(label) for label in made.labels]
    return [
        [data_cell(table.problems[p], made.names), *(cell(i, p) for i in order)]
        for p in (range(len(table.problems)) if problems is None else problems)
    ]


def _lost(found: Board, i: int, p: int) -> str:
    """What is missing of a cell, in words."""
    states = found.table.states[i, p]
    kinds = (
        (FAILED, "failed"),
        (EARLY, "ended early"),
        (SKIPPED, "skipped"),
        (NOT_RUN, "not run"),
    )
    counts = [(int((states == state).sum()), word) for state, word in kinds]
    if sum(n for n, _ in counts) == len(states):
        return ", ".join(word for n, word in counts if n)
    return ", ".join(f"{n} {word}" for n, word in counts if n)


def _shaded(ratio: float) -> Cell:
    return number(ratio, 3, "good" if ratio < 0.995 else "bad" if ratio > 1.005 else "")


def _geometric(ratios: Floats) -> float:
    finite = ratios[np.isfinite(ratios)]
    with np.errstate(divide="ignore"):  # where one is 0 the mean is
        return float(np.exp(np.log(finite).mean())) if finite.size else math.nan
