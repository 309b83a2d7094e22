"""The leaderboard, its tests, its scores by dataset."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

import numpy as np
import pandas as pd
from markupsafe import Markup

from leaseboard.tasks.jobs.diagnostic_codes import ALARM, Diagnostic
from leaseboard.tasks.report import pictures
from leaseboard.tasks.report.charts import sentences, wording
from leaseboard.tasks.report.material import Material
from leaseboard.tasks.report.page import (
    Cell,
    Section,
    Table,
    cell,
    data_cell,
    finite,
    number,
    spread,
)
from leaseboard.tasks.score import board as terminal
from leaseboard.tasks.score.frame import metric_title
from leaseboard.tasks.score.leaderboard import ONE_SET_RULE
from leaseboard.tasks.score.numbers import fixed, padded, short
from leaseboard.tasks.score.summary import score_name, several
from leaseboard.tasks.score.table import (
    MISSING_RULE,
    ORACLE_RULE,
    UNFINISHED,
    ScoreTable,
    nanmean,
    relative_losses,
    score_table,
)


def leaderboard(made: Material) -> Section:
    """Return every algorithm by its mean rank, with the rule for missing results."""
    board = made.found.board
    columns = terminal.columns(made.found, terminal=False)
    lost = ["bad" if row.n_failed or row.n_early else "" for row in board.rows]
    table = Table(
        "leaderboard-table",
        f"All algorithms by mean {'score' if board.one_set else 'rank'}",
        pd.DataFrame(
            {
                column.title: [
                    Cell(column.text(row), value if isinstance(value, str) else finite(value),
                         bad if name == "jobs" else "", column.hint(row))
                    for row, bad in zip(board.rows, lost, strict=True)
                    for value in [column.value(row)]
                ]
                for name, column in columns.items()
            }
        ),
        note=_note(made),
        **wording("leaderboard-table"),
        key=list(columns).index("algorithm"),
    )  # fmt: skip
    order = [ONE_SET_RULE if board.one_set else "Ordered by mean rank over datasets."]
    order += [sentences("leaderboard.test")] if made.found.tested else []
    if board.baselines:
        order.append(sentences("leaderboard.relative", loss=board.loss))
    else:
        order.append(f"The score is the {score_name(board)}.")
        order.append("" if board.one_set else board.meaning)
    words = wording("leaderboard", order=" ".join(order))
    return Section("leaderboard", **words, tables=[table])


def diagnostics(made: Material) -> Section | None:
    """Return the findings of the diagnostics; None without any."""
    return diagnosed(made.diagnostics)


def diagnosed(found: Sequence[Diagnostic]) -> Section | None:
    """Return a table of findings, alarms first; None without any."""
    if not found:
        return None
    rows = [
        {
            "Code": Cell(each.code, each.code, hint=each.meaning["title"]),
            "Severity": cell(each.severity, "bad" if each.severity == ALARM else ""),
            "Found": str(each),
            "What to do": each.meaning["advice"],
        }
        for each in found
    ]
    words = wording("diagnostics-table")
    table = Table("diagnostics-table", frame=pd.DataFrame(rows), tall=len(rows) > 20, **words)
    return Section("diagnostics", **wording("diagnostics"), tables=[table])


def _note(made: Material) -> Markup:
    board = made.found.board
    rules = [MISSING_RULE]
    if any(row.oracle_baseline for row in board.rows):
        rules.append(ORACLE_RULE)
    if board.unscaled:
        names = ", ".join(map(made.name, board.unscaled))
        sets = several(len(board.unscaled))
        rules.append(sentences("leaderboard.unscaled", sets=sets, names=names))
    if zero := board.without_relative:
        rules.append(f"{terminal.LEFT_OUT} {', '.join(map(made.name, zero))}.")
    return Markup("<strong>Missing results.</strong> ") + " ".join(rules)


def significance(made: Material) -> Section | None:
    """Return the tests over datasets; None for a single one, which ranks no one."""
    if made.found.board.one_set:
        return None
    found = made.found.tests
    rows = [(pair.first, pair.second, number(pair.p, 3), pair.different) for pair in found.pairs]
    frame = pd.DataFrame(rows, columns=["First", "Second", "Adjusted p", "Different"])
    pairs = Table("pairs-table", frame=frame, **wording("pairs-table", n=len(rows)))
    picture = pictures.critical_difference(found)
    return Section(
        "tests",
        **wording("tests"),
        callout=found.note,
        figures=[picture] if picture else [],
        tables=[pairs] if rows else [],
    )


def datasets(made: Material) -> Section:
    """Return the scores and other measures of each dataset."""
    makers = (scores, tested, relative, normalised, microseconds)
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
        return Cell(text, finite(means[i, p]), kind)

    return show


def scores(made: Material) -> Table:
    """Return mean and standard deviation of every algorithm on every dataset."""
    board = made.found.board
    words = wording("scores-table", metric=metric_title(board.metric))
    return Table("scores-table", frame=_by_data(made, _mean_cell(board.table)), **words)


def tested(made: Material) -> Table | None:
    """Return mean and spread of the test score, where the score is one of validation."""
    table = score_table(made.frame, "test")
    if not np.isfinite(table.scores).any():
        return None
    frame = _by_data(made, _mean_cell(table))
    return Table("tested-table", frame=frame, **wording("tested-table"))


def normalised(made: Material) -> Table | None:
    """Return the score on the leaderboard's scale for each dataset, None for a single one."""
    board = made.found.board
    usable = [p for p, data in enumerate(board.table.problems) if data not in board.unscaled]
    if len(usable) < 2:
        return None
    means = nanmean(board.values, axis=2)

    def show(i: int, p: int) -> Cell:
        sd = float(pd.Series(board.values[i, p]).std())
        text = spread(fixed(means[i, p]), sd if sd > 5e-4 else math.nan, 3)
        best = means[i, p] >= np.nanmax(means[:, p]) - 1e-9
        return Cell(text, finite(means[i, p]), "best" if best else "")

    name, _, meaning = map(str.strip, score_name(board).partition(":"))
    means_of = f"{meaning[:1].upper()}{meaning[1:]}. {board.meaning}"
    words = wording("normalised-table", scale=score_name(board), meaning=means_of)
    frame = _by_data(made, show, usable)
    return Table("normalised-table", frame=frame, title=name.capitalize(), **words)


def relative(made: Material) -> Table | None:
    """Return losses over the best baseline's, else over those of the suite's zero."""
    scale, board = made.suite and made.suite.normalise, made.found.board
    table, zero = board.table, [scale.zero] if scale else made.labels[:1]
    against = "the best baseline" if board.baselines else "".join(zero)
    ratios = nanmean(relative_losses(table, board.baselines or zero), axis=2)
    usable = [p for p in range(len(table.problems)) if np.isfinite(ratios[:, p]).any()]
    if not usable:
        return None
    with np.errstate(divide="ignore"):  # where one is 0 the mean is
        means = np.exp(pd.DataFrame(np.log(ratios[:, usable]), table.labels).mean(axis=1))

    def show(ratio: float) -> Cell:
        kind = "good" if ratio < 0.995 else "bad" if ratio > 1.005 else ""
        return Cell(padded(ratio), finite(ratio), kind)

    return Table(
        "relative-table",
        frame=_by_data(made, lambda i, p: show(ratios[i, p]), usable),
        foot=[show(means[label]) for label in made.labels],
        **wording("relative-table", against=against),
    )


def microseconds(made: Material) -> Table | None:
    """Return, of a suite on speed, the CPU microseconds of a unit, and over the cheapest."""
    done = made.frame[(made.frame["status"] == "ok") & (made.frame["units"] > 0)]
    if made.suite is None or made.suite.kind != "speed" or done.empty:
        return None
    table = made.found.board.table
    each = 1e6 * done["cpu_seconds"] / done["units"]
    costs = each.groupby([done["name"], done["data"]]).mean().unstack()
    costs = costs.reindex(index=table.labels, columns=table.problems).to_numpy()

    def show(i: int, p: int) -> Cell:
        cost, least = costs[i, p], np.fmin.reduce(costs[:, p])
        if not math.isfinite(cost):
            return Cell("–")
        text = f"{short(cost, 3)} (× {short(cost / least, 3)})"
        return Cell(text, cost, "best" if cost == least else "")

    words = wording("microseconds-table", unit=done["unit"].iloc[0])
    return Table("microseconds-table", frame=_by_data(made, show), **words)
