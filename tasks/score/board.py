"""The leaderboard as text: on a terminal, and as csv, LaTeX and markdown for other programs."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

from leaseboard.tasks.machine import terminal as screen
from leaseboard.tasks.machine.terminal import cell
from leaseboard.tasks.score.frame import metric_title
from leaseboard.tasks.score.inference import Interval
from leaseboard.tasks.score.leaderboard import Board, Row
from leaseboard.tasks.score.numbers import fixed, short
from leaseboard.tasks.score.summary import Compared, bracket, score_name
from leaseboard.tasks.score.table import MISSING_RULE, ORACLE_RULE

if TYPE_CHECKING:
    from rich.console import Group


LEGEND = "CPU s: mean over jobs. × cost: times the cheapest. Jobs: finished of all."
RANKED = "Rank: mean over datasets. w/t/l: wins, ties, losses."
RELATIVE = "Relative loss: the loss over the best naive baseline's, less is better."
LEFT_OUT = "Relative losses leave out datasets whose best baseline has loss 0:"
FEWER = "Rank (n/N): over n of N datasets only, so compare it with care."
TESTED = "Test: the same for the test score, which no algorithm saw."


@dataclass(frozen=True, slots=True)
class BoardColumn:
    """Column of the leaderboard."""

    title: str
    """Its head on the page, which has more room than a terminal."""
    text: Callable[[Row], str]
    value: Callable[[Row], float | str]
    """Sort key of a row."""
    hint: Callable[[Row], str] = lambda _: ""
    """Text that the page shows when the mouse is over a cell."""
    terminal: bool = True


def columns(found: Compared, *, terminal: bool = True) -> dict[str, BoardColumn]:
    """Return the leaderboard's columns, of the terminal or of the page, by name.

    On a leaderboard of one dataset the score is the mean score itself, so a row without any has
    none; and nothing is ranked. Where the leaderboard ranks by validation, the test is next to it.
    """
    board, tested, one_set = found.board, found.tested, found.board.one_set
    number = short if one_set else fixed

    def shown(row: Row) -> Interval:
        return row.raw if one_set else row.score

    def of(mapping: Mapping[str, float]) -> Callable[[Row], float]:
        return lambda row: mapping.get(row.name, math.nan)

    # The page's interval is that of what leads there.
    relative = bool(board.baselines) and not one_set and not terminal

    def between(row: Row) -> Interval:
        return row.relative if relative else shown(row)

    def ends(row: Row) -> str:
        return bracket(between(row), 4 if one_set else None) or "–"

    ranks, tests = (of(tested.ranks), of(tested.scores)) if tested else (of({}), of({}))
    name = board.metric if one_set else "score"
    title = metric_title(name) if one_set else f"{board.scale.split()[0]} score"
    every = {
        "#": BoardColumn("Place", lambda row: str(row.place), lambda row: row.place),
        "algorithm": BoardColumn("Algorithm", name_of, lambda row: row.name),
        "relative loss": BoardColumn(
            "Relative loss", lambda row: fixed(row.relative.value),
            lambda row: row.relative.value, lambda row: bracket(row.relative),
        ),
        "rank": BoardColumn(
            "Mean rank", lambda row: fixed(row.rank.value, 2) + _fewer(row, board),
            lambda row: row.rank.value, lambda row: bracket(row.rank),
        ),
        "test rank": BoardColumn("Mean rank by test", lambda row: fixed(ranks(row), 2), ranks),
        "w/t/l": BoardColumn(
            "Wins / ties / losses", lambda row: f"{row.wins}/{row.ties}/{row.losses}",
            lambda row: row.wins,
        ),
        name: BoardColumn(title[:1].upper() + title[1:], lambda row: number(shown(row).value),
                     lambda row: shown(row).value),
        # A terminal of 80 columns has no room for two intervals.
        "95 % interval": BoardColumn("95 % interval", ends, lambda row: between(row).lower,
                                terminal=one_set or not board.baselines),
        "test": BoardColumn("Test score", lambda row: number(tests(row)), tests,
                       terminal=one_set or not board.baselines),
        "CPU s": BoardColumn("CPU s a job", lambda row: short(row.cpu_seconds, 2),
                        lambda row: row.cpu_seconds),
        "× cost": BoardColumn("Times the cheapest", lambda row: short(row.relative_cost, 3),
                         lambda row: row.relative_cost),
        "jobs": BoardColumn("Jobs", _jobs if terminal else jobs_text,
                       lambda row: row.n_jobs - row.n_ok),
    }  # fmt: skip
    ranks_first = ("#", "algorithm", "relative loss", "rank", "test rank")
    costs, scores = ("w/t/l", "CPU s", "× cost", "jobs"), (name, "95 % interval", "test")
    order = [*ranks_first, *costs, *scores]
    if one_set:
        order = ["algorithm", *scores, "relative loss", *costs[1:]]
    elif not terminal and not board.baselines:  # else a detail below the relative loss
        order = [*ranks_first, *scores, *costs]
    elif relative:
        order = [*ranks_first[:3], "95 % interval", *ranks_first[3:], *costs, name, "test"]
    left_out = set() if board.baselines else {"relative loss"}
    left_out |= set() if tested else {"test", "test rank"}
    return {key: every[key] for key in order
            if key not in left_out and (every[key].terminal or not terminal)}  # fmt: skip


def standings(found: Compared) -> dict[str, dict[str, float]]:
    """Return score, rank, relative loss and CPU seconds of each algorithm, by measure."""
    one_set = found.board.one_set
    return {
        "score": {row.name: (row.raw if one_set else row.score).value for row in found.board.rows},
        "rank": {row.name: row.place if one_set else row.rank.value for row in found.board.rows},
        "relative_loss": {row.name: row.relative.value for row in found.board.rows},
        "cpu_seconds": {row.name: row.cpu_seconds for row in found.board.rows},
    }


def notes(found: Compared) -> list[str]:
    """Return the meaning of the columns, and the rules that apply to this leaderboard."""
    board = found.board
    fewer = any(_fewer(row, board) for row in board.rows)
    legend = {
        RANKED: not board.one_set,
        FEWER: not board.one_set and fewer,
        RELATIVE: board.baselines,
        LEGEND: True,
        f"Score: {score_name(board)}.": True,
        TESTED: found.tested,
    }
    rules = {
        " ".join(text for text, counts in legend.items() if counts): True,
        MISSING_RULE: any(row.n_ok < row.n_jobs for row in board.rows),
        ORACLE_RULE: any(row.oracle_baseline for row in board.rows),
        f"{LEFT_OUT} {', '.join(board.without_relative)}.": board.without_relative,
    }
    return [text for text, counts in rules.items() if counts]


def texts(found: Compared) -> list[tuple[str, ...]]:
    """Return the leaderboard's rows as text, best first, in the order of `columns`."""
    shown = columns(found).values()
    return [tuple(column.text(row) for column in shown) for row in found.board.rows]


def name_of(row: Row) -> str:
    """Return the name of a row on a leaderboard; an oracle baseline is marked."""
    return f"{row.name} (oracle baseline)" if row.oracle_baseline else row.name


def _fewer(row: Row, board: Board) -> str:
    """Return on how many of the datasets a row is ranked, where others are on more."""
    everywhere = board.n_ranked
    return f" ({row.n_ranked}/{everywhere})" if 0 < row.n_ranked < everywhere else ""


def _jobs(row: Row) -> str:
    early = f", {row.n_early} ended early" if row.n_early else ""
    return f"{row.n_ok}/{row.n_jobs}{early}"


def jobs_text(row: Row) -> str:
    """Return the number of a row's jobs that are ok, and the outcomes of the others."""
    return ", ".join([f"{row.n_ok} ok", *(f"{n} {how}" for how, n in row.unfinished.items() if n)])


def leaderboard(found: Compared) -> Group:
    """Return the leaderboard as something that `rich` prints; names are shown literally."""
    from rich.console import Group
    from rich.table import Table

    board = found.board
    by = f", by {board.metric}"
    table = Table(
        title=cell(found.title.removesuffix(by) + by),
        title_justify="left",
        box=None,
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )
    shown = texts(found)
    for i, name in enumerate(columns(found)):
        if name == "algorithm":
            table.add_column(cell(name), overflow="fold", min_width=10)
        else:  # numbers are never broken nor cut
            width = max(len(name), *(len(row[i]) for row in shown)) if shown else len(name)
            table.add_column(cell(name), justify="right", no_wrap=True, min_width=width)
    for row, said in zip(board.rows, shown, strict=True):
        leads = row.place == 1 and not board.one_set
        style = "bold" if leads else "dim" if not row.n_ok else ""
        table.add_row(*map(cell, said), style=style)
    answer = found.answer.lines()
    return Group(
        table, cell(""), *map(cell, answer), *(cell(note, "dim") for note in notes(found))
    )


def plain(found: Compared, width: int = 120) -> str:
    """Return the leaderboard as text without colours."""
    from rich.console import Console

    printed = io.StringIO()
    console = Console(file=printed, width=width, color_system=None, highlight=False)
    screen.show(leaderboard(found), console)
    return "".join(f"{line.rstrip()}\n" for line in printed.getvalue().splitlines())


def show(found: Compared) -> None:
    """Print the leaderboard on standard output."""
    screen.show(leaderboard(found))


_LEFT = ("algorithm", "jobs")
"""The columns that hold no numbers."""
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""First characters of cells that a spreadsheet runs (OWASP, CSV injection)."""
_TEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        **{sign: rf"\{sign}" for sign in "&%$#_{}"},
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        '"': r"\textquotedbl{}",
        "×": r"$\times$",
        "–": "--",
    }
)
_MARKDOWN = str.maketrans(
    {
        "&": "&amp;",
        "<": "&lt;",
        "\\": "&#92;",  # two of them before a bar would end the cell
        "`": "&#96;",
        "|": "\\|",
        **{sign: f"\\{sign}" for sign in "*_~[]#!"},
    }
)


def as_csv(found: Compared) -> str:
    """Return the board with a row an algorithm, best first; a missing value is empty.

    A text that a spreadsheet would run begins with an apostrophe. On a board of one dataset the
    score is the mean score itself, and nothing is ranked.
    """
    board, tested, one_set = found.board, found.tested, found.board.one_set
    scores, ranks = (tested.scores, tested.ranks) if tested else ({}, {})
    rows = []
    for row in board.rows:
        score = row.raw if one_set else row.score
        rows.append(
            {
                "place": None if one_set else row.place,
                "algorithm": _inert(row.name),
                "metric": _inert(board.metric),
                "mean_rank": None if one_set else row.rank.value,
                "relative_loss": row.relative.value,
                "relative_loss_lower": row.relative.lower,
                "relative_loss_upper": row.relative.upper,
                "score": score.value,
                "score_lower": score.lower,
                "score_upper": score.upper,
                "test": scores.get(row.name),
                "test_rank": ranks.get(row.name),
                "cpu_seconds": row.cpu_seconds,
                "relative_cost": row.relative_cost,
                "score_is": _inert(score_name(board)),
                "wins": row.wins,
                "ties": row.ties,
                "losses": row.losses,
                "ok": row.n_ok,
                **{how.replace(" ", "_"): n for how, n in row.unfinished.items()},
                "datasets_ranked": None if one_set else row.n_ranked,
                "oracle_baseline": str(row.oracle_baseline).lower(),
                "baseline": str(row.baseline).lower(),
            }
        )
    text: str = pd.DataFrame(rows).to_csv(index=False, lineterminator="\n")
    return text


def latex(found: Compared) -> str:
    """Return the board as a ``tabular``, which needs no package; the legend is a comment."""
    names = list(columns(found))
    align = "".join("l" if name in _LEFT else "r" for name in names)
    rows = (f"{{}}{' & '.join(map(_tex, row))} \\\\" for row in texts(found))
    return "\n".join(
        [
            f"% {' '.join(found.title.split())}",
            *(f"% {' '.join(note.split())}" for note in notes(found)),
            f"\\begin{{tabular}}{{{align}}}",
            "\\hline",
            f"{' & '.join(map(_tex, names))} \\\\",
            "\\hline",
            *rows,  # each begins with {}: a bracket after \\ would be taken for its argument
            "\\hline",
            "\\end{tabular}\n",
        ]
    )


def markdown(found: Compared) -> str:
    """Return the board for a description or a comment; names are escaped."""
    lines = [" ".join(map(literal, found.answer.lines())), ""]
    names = columns(found)
    rows = [dict(zip(names, map(literal, row), strict=True)) for row in texts(found)]
    lines += markdown_table(rows, names.keys() - set(_LEFT))
    for note in notes(found):
        lines += ["", literal(note)]
    return "\n".join(lines) + "\n"


def markdown_table(rows: Sequence[Mapping[str, str]], numbers: Collection[str] = ()) -> list[str]:
    """Return the lines of a table.

    - `rows`: cells in markdown by column; there is one row at least.
    - `numbers`: the columns that are aligned to the right.
    """
    line = ["---:" if name in numbers else "---" for name in rows[0]]
    cells = ([literal(name) for name in rows[0]], line, *(row.values() for row in rows))
    return [f"| {' | '.join(each)} |" for each in cells]


FORMATS: Mapping[str, Callable[[Compared], str]] = {
    "csv": as_csv,
    "latex": latex,
    "markdown": markdown,
}
"""Formats in which a board can be written, by name."""


def _inert(text: str) -> str:
    """Return `text` as a cell that no spreadsheet runs.

    Examples
    --------
    >>> _inert("=1+1"), _inert("vanilla")
    ("'=1+1", 'vanilla')
    """
    return f"'{text}" if text.startswith(_FORMULA) else text


def _tex(text: str) -> str:
    r"""Return `text` as LaTeX sets it, not as its commands.

    Examples
    --------
    >>> print(_tex("a_b 95 % {x}"))
    a\_b 95 \% \{x\}
    """
    return text.translate(_TEX)


def literal(text: str) -> str:
    r"""Return `text` as markdown shows it in one line, not as markup.

    Examples
    --------
    >>> print(literal("![a](b) _c_")), print(literal("- d"))
    \!\[a\](b) \_c\_
    \- d
    (None, None)
    """
    line = " ".join(text.translate(_MARKDOWN).splitlines())
    return re.sub(r"^(\d*)([-+.)])(?= |$)", r"\1\\\2", line)
