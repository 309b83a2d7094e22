"""The leaderboard as text: on a terminal, and as Markdown for descriptions and comments."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from leaseboard.tasks.machine import terminal as screen
from leaseboard.tasks.machine.terminal import cell
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


def columns(found: Compared, *, wide: bool = False) -> dict[str, Callable[[Row], str]]:
    """Return the leaderboard's columns by name, as functions from a row to its text.

    On a leaderboard of one dataset the score is the mean score itself, so a row without any has
    none; and nothing is ranked. Where the leaderboard ranks by validation, the test is next to it.

    - `wide`: with all intervals, for which a terminal of 80 columns has no room.
    """
    board, tested, one_set = found.board, found.tested, found.board.one_set
    number = short if one_set else fixed

    def shown(row: Row) -> Interval:
        return row.raw if one_set else row.score

    def ends(of: Interval) -> str:
        return f" {bracket(of)}".rstrip() if wide else ""

    def of_test(row: Row, mapping: str, *digits: int) -> str:
        return number(getattr(tested, mapping).get(row.name, math.nan), *digits)

    name = board.metric if one_set else "score"
    ranks: dict[str, Callable[[Row], str]] = {
        "#": lambda row: str(row.place),
        "algorithm": name_of,
        "relative loss": lambda row: fixed(row.relative.value) + ends(row.relative),
        "rank": lambda row: fixed(row.rank.value, 2) + _fewer(row, board) + ends(row.rank),
        "test rank": lambda row: of_test(row, "ranks", 2),
    }
    scores: dict[str, Callable[[Row], str]] = {
        name: lambda row: number(shown(row).value),
        "95 % interval": lambda row: bracket(shown(row), 4 if one_set else None) or "–",
        "test": lambda row: of_test(row, "scores"),
    }
    costs: dict[str, Callable[[Row], str]] = {
        "w/t/l": lambda row: f"{row.wins}/{row.ties}/{row.losses}",
        "CPU s": lambda row: short(row.cpu_seconds, 2),
        "× cost": lambda row: short(row.relative_cost, 3),
        "jobs": jobs_text if wide else _jobs,
    }
    every = ranks | costs | scores
    left_out = set() if board.baselines else {"relative loss"}
    left_out |= set() if tested else {"test", "test rank"}
    if one_set:
        every = {"algorithm": name_of} | scores | ranks | costs
        left_out |= {"#", "rank", "test rank", "w/t/l"}
    elif board.baselines and not wide:
        left_out |= {"95 % interval", "test"}
    return {key: text for key, text in every.items() if key not in left_out}


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
    return [tuple(text(row) for text in shown) for row in found.board.rows]


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
