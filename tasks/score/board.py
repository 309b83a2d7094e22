"""The leaderboard as text: on a terminal, and as Markdown for descriptions and comments."""

from __future__ import annotations

import io
import re
from collections.abc import Collection
from typing import TYPE_CHECKING

import pandas as pd

from leaseboard.tasks.machine import terminal as screen
from leaseboard.tasks.machine.terminal import cell
from leaseboard.tasks.score.frame import fixed, short
from leaseboard.tasks.score.leaderboard import MISSING_RULE, ORACLE_RULE

if TYPE_CHECKING:
    from rich.console import Group

    from leaseboard.tasks.score.summary import Compared

LEGEND = "CPU s: mean over jobs. × cost: times the cheapest. Jobs: finished of all."
RANKED = "Rank: mean over datasets."
RELATIVE = "Relative loss: the loss over the best naive baseline's, less is better."
LEFT_OUT = "Relative losses leave out datasets whose best baseline has loss 0:"
FEWER = "Rank (n/N): over n of N datasets only, so compare it with care."
TESTED = "Test: the same for the test score, which no algorithm saw."
_LEFT = ("algorithm", "jobs")
"""The columns that hold no numbers."""


def texts(found: Compared) -> pd.DataFrame:
    """Return the leaderboard as text, best first.

    On a leaderboard of one dataset the score is the mean score itself, and nothing is ranked.
    """
    board, frame, one_set = found.board, found.board.frame, found.board.one_set
    number = short if one_set else fixed
    everywhere, early = frame["ranked"].max(), frame["ended early"]
    fewer = [f" ({n}/{everywhere})" if 0 < n < everywhere else "" for n in frame["ranked"]]
    name = pd.Series(frame.index, frame.index)
    columns = {
        "#": frame["place"].astype(str),
        "algorithm": name.mask(frame["oracle_baseline"].astype(bool), name + " (oracle baseline)"),
        "relative loss": frame["relative_loss"].map(fixed),
        "rank": frame["rank"].map(lambda rank: fixed(rank, 2)) + fewer,
        "test rank": frame["test_rank"].map(lambda rank: fixed(rank, 2)),
        board.scale.metric if one_set else "score": frame["score"].map(number),
        "95 % interval": [
            board.span(row, "score").ends(4 if one_set else None) or "–" for row in frame.index
        ],
        "test": frame["test"].map(number),
        "CPU s": frame["cpu_seconds"].map(lambda seconds: short(seconds, 2)),
        "× cost": frame["relative_cost"].map(lambda cost: short(cost, 3)),
        "jobs": frame["ok"].astype(str)
        + "/" + frame["jobs"].astype(str)
        + (", " + early.astype(str) + " ended early").where(early > 0, ""),
    }  # fmt: skip
    shown = pd.DataFrame(columns, frame.index)
    left_out = set() if board.has_baselines else {"relative loss"}
    left_out |= set() if board.has_tests else {"test", "test rank"}
    if one_set:
        left_out |= {"#", "rank", "test rank"}
    elif board.has_baselines:
        left_out |= {"95 % interval", "test"}
    return shown.drop(columns=list(left_out))


def standings(found: Compared) -> dict[str, dict[str, float]]:
    """Return score, rank, relative loss and CPU seconds of each algorithm, by measure."""
    board, names = found.board, ["score", "rank", "relative_loss", "cpu_seconds"]
    frame = board.frame.assign(rank=board.frame["place" if board.one_set else "rank"])
    measures: dict[str, dict[str, float]] = frame[names].to_dict()
    return measures


def notes(found: Compared) -> list[str]:
    """Return the meaning of the columns, and the rules that apply to this leaderboard."""
    board, frame = found.board, found.board.frame
    fewer = frame["ranked"].between(1, frame["ranked"].max() - 1).any()
    legend = {
        RANKED: not board.one_set,
        FEWER: not board.one_set and fewer,
        RELATIVE: board.has_baselines,
        LEGEND: True,
        f"Score: {board.score_name}.": True,
        TESTED: board.has_tests,
    }
    rules = {
        " ".join(text for text, counts in legend.items() if counts): True,
        MISSING_RULE: (frame["ok"] < frame["jobs"]).any(),
        ORACLE_RULE: frame["oracle_baseline"].any(),
        f"{LEFT_OUT} {', '.join(board.without_relative)}.": board.without_relative,
    }
    return [text for text, counts in rules.items() if counts]


def leaderboard(found: Compared) -> Group:
    """Return the leaderboard as something that `rich` prints; names are shown literally."""
    from rich.console import Group
    from rich.table import Table

    board, shown = found.board, texts(found)
    by = f", by {board.scale.metric}"
    table = Table(
        title=cell(found.title.removesuffix(by) + by),
        title_justify="left",
        box=None,
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )
    for name in shown:
        if name == "algorithm":
            table.add_column(cell(name), overflow="fold", min_width=10)
        else:  # numbers are never broken nor cut
            width = max(map(len, [name, *shown[name]]))
            table.add_column(cell(name), justify="right", no_wrap=True, min_width=width)
    for row, place, ok in zip(shown.values, board.frame["place"], board.frame["ok"], strict=True):
        style = "bold" if place == 1 and not board.one_set else "" if ok else "dim"
        table.add_row(*map(cell, row), style=style)
    said, rules = map(cell, found.answer.values()), (cell(note, "dim") for note in notes(found))
    return Group(table, cell(""), *said, *rules)


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


def markdown(found: Compared) -> str:
    """Return the board for a description or a comment; names are escaped."""
    shown = texts(found).map(literal)
    lines = [" ".join(map(literal, found.answer.values())), ""]
    lines += markdown_table(shown, [name for name in shown if name not in _LEFT])
    for note in notes(found):
        lines += ["", literal(note)]
    return "\n".join(lines) + "\n"


def markdown_table(rows: pd.DataFrame, numbers: Collection[str] = ()) -> list[str]:
    """Return the lines of a table.

    - `rows`: cells in Markdown.
    - `numbers`: the columns that are aligned to the right.
    """
    line = ["---:" if name in numbers else "---" for name in rows]
    return [f"| {' | '.join(each)} |" for each in (map(literal, rows), line, *rows.values)]


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
