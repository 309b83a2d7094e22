"""The leaderboard, what the tests say of it, its scores by dataset, and how they went by day."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import numpy as np
import pandas as pd
from markupsafe import Markup

from leaseboard.tasks.report import pictures
from leaseboard.tasks.report.charts import axis, chart, colour, scatter
from leaseboard.tasks.report.material import Material
from leaseboard.tasks.report.page import (
    Cell,
    Section,
    Table,
    cell,
    data_cell,
    finite,
    number,
    rounded,
    spread,
)
from leaseboard.tasks.score import board as terminal
from leaseboard.tasks.score.compared import scale_of
from leaseboard.tasks.score.leaderboard import ONE_SET_RULE, Row
from leaseboard.tasks.score.summary import bracket, fixed, short
from leaseboard.tasks.score.table import (
    HINDSIGHT_RULE,
    MISSING_RULE,
    UNFINISHED,
    Floats,
    nanmean,
    relative_losses,
    score_table,
)
from leaseboard.tasks.score.trend import MOST_DAYS, trend

RANKED = ("Place", "Mean rank", "Mean rank by test", "Wins / ties / losses", "Data sets ranked")
"""What a board of one dataset does not claim."""

LOWEST = -1.0
"""A normalised score below is not drawn at first: it would flatten all others."""


def leaderboard(made: Material) -> Section:
    """Return every algorithm by its mean rank, with the rule for missing results."""
    board, tested = made.found.board, made.found.tested
    rows = pd.DataFrame([_row(made, row) for row in board.rows], dtype=object)
    table = Table(
        "leaderboard-table",
        f"All algorithms by mean {'score' if board.one_set else 'rank'}",
        rows,
        note=_note(made),
        filters="algorithms",
        few=0,
        key=list(rows).index("Algorithm") if len(rows) else 0,
    )
    order = ONE_SET_RULE if board.one_set else "Ordered by mean rank over data sets."
    if tested:
        order += (
            " The score is one of validation; the test score, which no algorithm saw, stands"
            " beside it on the same scale."
        )
    if board.baselines:
        order += (
            f" Relative loss: {board.metric} over that of the best baseline, below 1 is better."
        )
    means = "" if board.one_set else f" {board.meaning}"
    text = (
        f"{order} Score: {terminal.score_name(board)}.{means} Intervals are"
        " two-level bootstrap intervals over data sets and repetitions, paired between"
        " algorithms. CPU seconds are the algorithm’s work alone; data loaded, kernels compiled."
    )
    return Section("leaderboard", "Leaderboard", nav="Leaderboard", text=[text], tables=[table])


def _row(made: Material, row: Row) -> dict[str, Cell]:
    """Return the cells of a row by their columns; a board of one dataset ranks nobody."""
    board, tested, one_set = made.found.board, made.found.tested, made.found.board.one_set
    shown = row.raw if one_set else row.score
    score = number if one_set else rounded
    missing = row.n_jobs - row.n_ok
    cells = {"Place": cell(row.place), "Algorithm": Cell(terminal.name_of(row), row.label)}
    if board.baselines:
        cells["Relative loss"] = rounded(row.relative.value, hint=bracket(row.relative))
    cells["Mean rank"] = rounded(row.rank.value, 2, bracket(row.rank))
    if tested:
        cells["Mean rank by test"] = rounded(tested.ranks.get(row.label, math.nan), 2)
    named = board.metric if one_set else "Score"
    named = named[:1].upper() + named[1:]
    ends = Cell(bracket(shown, 4 if one_set else None) or "–", finite(shown.lower))
    of_score = {named: score(shown.value), "95 % interval": ends}
    later = board.baselines and not one_set  # a detail below the relative loss
    cells |= {} if later else of_score
    if tested:
        cells["Test score"] = score(tested.scores.get(row.label, math.nan))
    cells |= {
        "Wins / ties / losses": Cell(f"{row.wins} / {row.ties} / {row.losses}", row.wins),
        "CPU s a job": number(row.cpu_seconds, 3),
        "Times the cheapest": number(row.relative_cost, 3),
        "Jobs": Cell(
            terminal.jobs_text(row), missing, "bad" if row.n_failed or row.n_early else ""
        ),
        "Data sets ranked": Cell(f"{row.n_ranked} of {len(board.table.problems)}", row.n_ranked),
    }
    cells |= of_score
    return {name: each for name, each in cells.items() if not (one_set and name in RANKED)}


def _note(made: Material) -> Markup:
    board = made.found.board
    rule = f" {MISSING_RULE}"
    if any(row.hindsight for row in board.rows):
        rule += f" {HINDSIGHT_RULE}"
    if board.unscaled:
        plural = "" if len(board.unscaled) == 1 else "s"
        rule += (
            f" The score leaves out {len(board.unscaled)} data set{plural} on which it has no"
            f" meaning or that the suite excludes: {', '.join(map(made.name, board.unscaled))}."
        )
    if zero := board.without_relative:
        rule += f" {terminal.LEFT_OUT} {', '.join(map(made.name, zero))}."
    return Markup("<strong>Missing results.</strong>") + rule


def significance(made: Material) -> Section | None:
    """Return the tests over datasets; None for a single one, which ranks nobody."""
    if made.found.board.one_set:
        return None
    found = made.found.tests
    rows = [
        {
            "First": pair.first,
            "Second": pair.second,
            "Adjusted p": number(pair.p, 3),
            "Different": Cell("yes" if pair.different else "no", int(pair.different)),
        }
        for pair in found.pairs
    ]
    pairs = Table(
        "pairs-table",
        "Wilcoxon signed-rank tests over data sets, Holm-adjusted",
        pd.DataFrame(rows),
        filters="pairs",
        few=12,
        folded=f"All {len(rows)} pairwise tests",
    )
    picture = pictures.critical_difference(found)
    return Section(
        "tests",
        "Significance",
        nav="Significance",
        callout=found.note,
        figures=[picture] if picture else [],
        tables=[pairs] if rows else [],
    )


def data_sets(made: Material) -> Section:
    """Return the scores, and what else there is to say of each dataset."""
    makers = (scores, tested, relative, normalised, microseconds)
    tables = [table for make in makers if (table := make(made)) is not None]
    return Section("data", "Data sets", nav="Data sets", tables=tables)


def _by_data(
    made: Material, show: Callable[[int, int], Cell], problems: Iterable[int] | None = None
) -> pd.DataFrame:
    """Return a row for each dataset, all if none are given, the algorithms as on the board."""
    table = made.found.board.table
    order = [table.labels.index(label) for label in made.labels]
    rows = [
        [data_cell(table.problems[p], made.names), *(show(i, p) for i in order)]
        for p in (range(len(table.problems)) if problems is None else problems)
    ]
    return pd.DataFrame(rows, columns=["Data", *made.labels], dtype=object)


def scores(made: Material) -> Table:
    """Return mean and standard deviation of every algorithm on every dataset."""
    board = made.found.board
    means, sds, ranks = board.table.means, board.table.sds, board.table.ranks()

    def lost(states: np.ndarray) -> str:
        counts = [(int((states == state).sum()), word) for state, word in UNFINISHED.items()]
        everything = sum(n for n, _ in counts) == len(states)
        return ", ".join(word if everything else f"{n} {word}" for n, word in counts if n)

    def show(i: int, p: int) -> Cell:
        missing = lost(board.table.states[i, p])
        text = short(means[i, p]) if math.isfinite(means[i, p]) else missing or "–"
        if math.isfinite(sds[i, p]):
            text += f" ± {short(sds[i, p], 2)}"
        if missing and math.isfinite(means[i, p]):
            text += f" ({missing})"
        best = math.isfinite(ranks[i, p]) and ranks[i, p] == np.nanmin(ranks[:, p])
        kind = "best" if best else "bad" if "failed" in missing else ""
        return Cell(text, finite(means[i, p]), kind)

    return Table(
        "scores-table",
        f"Mean {board.metric} ± standard deviation over repetitions; the best of a row is bold",
        _by_data(made, show),
        filters="data sets",
    )


def tested(made: Material) -> Table | None:
    """Return mean and spread of the test score, where the score is one of validation."""
    table = score_table(made.frame, "test")
    if not np.isfinite(table.scores).any():
        return None
    means, sds, gains = table.means, table.sds, table.means * table.signs

    def show(i: int, p: int) -> Cell:
        text = short(means[i, p])
        text += f" ± {short(sds[i, p], 2)}" if math.isfinite(sds[i, p]) else ""
        best = gains[i, p] == np.fmax.reduce(gains[:, p])
        return Cell(text, finite(means[i, p]), "best" if best else "")

    return Table(
        "tested-table",
        "Mean test score ± standard deviation over repetitions",
        _by_data(made, show),
        title="Test score",
        text="Of the configuration that each algorithm chose by its validation score;"
        " no algorithm saw it.",
    )


def normalised(made: Material) -> Table | None:
    """Return the score on the board's scale for each dataset, None for a single one."""
    board = made.found.board
    usable = [p for p, data in enumerate(board.table.problems) if data not in board.unscaled]
    if len(usable) < 2:
        return None
    means = nanmean(board.values, axis=2)

    def show(i: int, p: int) -> Cell:
        values = board.values[i, p][np.isfinite(board.values[i, p])]
        sd = float(values.std(ddof=1)) if values.size > 1 else math.nan
        text = spread(fixed(means[i, p]), sd if sd > 5e-4 else math.nan, 3)
        best = means[i, p] >= np.nanmax(means[:, p]) - 1e-9
        return Cell(text, finite(means[i, p]), "best" if best else "")

    scale = terminal.score_name(board)
    name, _, meaning = map(str.strip, scale.partition(":"))
    return Table(
        "normalised-table",
        scale,
        _by_data(made, show, usable),
        title=name.capitalize(),
        text=f"{meaning[:1].upper()}{meaning[1:]}. {board.meaning}"
        " Data sets on which this has no meaning are left out.",
    )


def relative(made: Material) -> Table | None:
    """Return losses over the best baseline's, else over those of the suite's zero."""
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
        _by_data(made, lambda i, p: _shaded(ratios[i, p]), usable),
        title="Relative loss",
        text=f"Mean loss over that of {against}: below 1 is better. Unlike a normalised score it"
        " stays meaningful where the reference is already as good as can be.",
        foot=[_shaded(mean) for mean in means],
        foot_name="Geometric mean",
    )


def _shaded(ratio: float) -> Cell:
    return number(ratio, 3, "good" if ratio < 0.995 else "bad" if ratio > 1.005 else "")


def _geometric(ratios: Floats) -> float:
    there = ratios[np.isfinite(ratios)]
    with np.errstate(divide="ignore"):  # where one is 0 the mean is
        return float(np.exp(np.log(there).mean())) if there.size else math.nan


def microseconds(made: Material) -> Table | None:
    """Return, of a suite on speed, the CPU microseconds of a unit, and over the cheapest."""
    done = made.frame[(made.frame["status"] == "ok") & (made.frame["units"] > 0)]
    if made.suite is None or made.suite.kind != "speed" or done.empty:
        return None
    table = made.found.board.table
    each = (
        (1e6 * done["cpu_seconds"] / done["units"]).groupby([done["label"], done["data"]]).mean()
    )
    costs = each.unstack().reindex(index=table.labels, columns=table.problems).to_numpy()

    def show(i: int, p: int) -> Cell:
        cost, least = costs[i, p], np.fmin.reduce(costs[:, p])
        if not math.isfinite(cost):
            return Cell("–")
        text = f"{short(cost, 3)} (× {short(cost / least, 3)})"
        return Cell(text, cost, "best" if cost == least else "")

    unit = str(done["unit"].iloc[0])
    return Table(
        "microseconds-table",
        f"CPU microseconds over {unit}",
        _by_data(made, show),
        title="CPU time of a unit",
        text=f"Microseconds of CPU over the {unit} that the job consumed, and how many times the"
        " cheapest of the row that is. Data loaded and kernels compiled before; one job at a"
        " time.",
    )


def nights(made: Material) -> Section | None:
    """Return the score of each algorithm over the days on which jobs ran anew; None of one day."""
    found = trend(made.frame, made.earlier, **scale_of(made.suite))
    if found is None:
        return None
    said = (
        "The results as they stood at the end of each day on which jobs ran anew, which they do"
        " when their code or data changed, so a scheduled suite that nobody touched adds no day."
        f" Score: {found.scale}. At most the last {MOST_DAYS} days are shown."
    )
    note = "A point is a day on which at least one job of the suite ran anew."
    up = axis("score")
    most, least = float(np.nanmax(found.scores)), float(np.nanmin(found.scores))
    if found.only is None:
        said += f" {found.meaning} Each day is on its own scale."
        if least < LOWEST < most:
            up["range"] = [LOWEST, most + 0.05 * (most - LOWEST)]
            note += " What is below −1 is cut off; double-click shows it."
    curves = {label: found.scores[found.labels.index(label)] for label in made.labels}
    lines = [
        scatter(label, found.days, curve, colour(i), mode="lines+markers",
                line={"dash": "dash" if i >= 10 else "solid"})
        for i, (label, curve) in enumerate(curves.items())
    ]  # fmt: skip
    show = rounded if found.only is None else number
    rows = [
        [day, cell(found.ran[at]), *(show(curve[at]) for curve in curves.values())]
        for at, day in reversed(list(enumerate(found.days)))
    ]
    table = Table(
        "trend-table",
        "Score of each algorithm by day, and how many jobs ran anew",
        pd.DataFrame(rows, columns=["Day", "Jobs", *curves], dtype=object),
        folded="The numbers",
        tall=True,
    )
    figure = chart("Score of each algorithm by day", note, lines, axis("", type="date"), up)
    return Section(
        "trend", "Score over nights", nav="Nights", text=[said], figures=[figure], tables=[table]
    )
