"""The leaderboard as text: on a terminal, and as csv, LaTeX and markdown for other programs."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from leaseboard.tasks.machine import terminal
from leaseboard.tasks.machine.terminal import cell
from leaseboard.tasks.score.compared import Compared
from leaseboard.tasks.score.inference import Interval
from leaseboard.tasks.score.leaderboard import Board, Row
from leaseboard.tasks.score.summary import bracket, fixed, short
from leaseboard.tasks.score.table import HINDSIGHT_RULE, MISSING_RULE

if TYPE_CHECKING:
    from rich.console import Group


LEGEND = "CPU s: of a job, and × the cheapest. Jobs: finished of all."
RANKED = "Rank: mean over data sets. w/t/l: wins, ties, losses."
RELATIVE = "Relative loss: over the best baseline's, less is better."
LEFT_OUT = "Relative losses leave out datasets whose best baseline has loss 0:"
FEWER = "Rank (n/N): over n of N data sets, so compare it with care."
TESTED = "Test: the same of the test score, which no algorithm saw."


def columns(found: Compared) -> dict[str, Callable[[Row], str]]:
    """Return the board's columns by name: what each shows of a row.

    On a board of one data set the score is the mean score itself, so a row without any has none;
    and nothing is ranked. Where the board ranks by validation, the test stands beside it.
    """
    one_set, tested = found.board.one_set, found.tested

    def shown(row: Row) -> Interval:
        return row.raw if one_set else row.score

    def text(value: float) -> str:
        return short(value) if one_set else fixed(value)

    ranked: dict[str, Callable[[Row], str]] = {"#": lambda row: str(row.place)}
    ranks: dict[str, Callable[[Row], str]] = {
        "rank": lambda row: fixed(row.rank.value, 2) + _fewer(row, found.board)
    }
    duels: dict[str, Callable[[Row], str]] = {
        "w/t/l": lambda row: f"{row.wins}/{row.ties}/{row.losses}"
    }
    score = found.board.metric if one_set else "score"
    scores: dict[str, Callable[[Row], str]] = {
        score: lambda row: text(shown(row).value),
        "95 % interval": lambda row: bracket(shown(row), 4 if one_set else None) or "–",
    }
    relative: dict[str, Callable[[Row], str]] = {
        "relative loss": lambda row: fixed(row.relative.value)
    }
    led = relative if found.board.baselines else {}
    if tested is not None:
        ranks["test rank"] = lambda row: fixed(tested.ranks.get(row.label, math.nan), 2)
        scores["test"] = lambda row: text(tested.scores.get(row.label, math.nan))
    return {
        **({} if one_set else ranked),
        "algorithm": name_of,
        **(scores | led if one_set else led | ranks),
        **({} if one_set else duels),
        "CPU s": lambda row: short(row.cpu_seconds, 2),
        "× cost": lambda row: short(row.relative_cost, 3),
        "jobs": lambda row: (
            f"{row.n_ok}/{row.n_jobs}" + (f", {row.n_early} ended early" if row.n_early else "")
        ),
        # A terminal of 80 columns has no room for two intervals; the page shows this one, too.
        **({} if one_set else {"score": scores["score"]} if led else scores),
    }


def legend(found: Compared) -> str:
    """Return what the columns mean."""
    parts = [] if found.board.one_set else [RANKED]
    if not found.board.one_set and any(_fewer(row, found.board) for row in found.board.rows):
        parts.append(FEWER)
    parts += [RELATIVE] if found.board.baselines else []
    parts += [LEGEND, f"Score: {score_name(found.board)}."]
    return " ".join(parts + ([TESTED] if found.tested else []))


def notes(found: Compared) -> list[str]:
    """Return the legend, and the rules that count on this board."""
    rows = found.board.rows
    said = [legend(found)]
    if any(row.n_ok < row.n_jobs for row in rows):
        said.append(MISSING_RULE)
    if any(row.hindsight for row in rows):
        said.append(HINDSIGHT_RULE)
    if zero := found.board.without_relative:
        said.append(f"{LEFT_OUT} {', '.join(zero)}.")
    return said


def texts(found: Compared) -> list[tuple[str, ...]]:
    """Return the board's rows as text, best first, in the order of `columns`."""
    shown = columns(found).values()
    return [tuple(show(row) for show in shown) for row in found.board.rows]


def name_of(row: Row) -> str:
    """Return what a row is called on a board; who declares hindsight is called so."""
    return f"{row.label} (hindsight)" if row.hindsight else row.label


def _fewer(row: Row, board: Board) -> str:
    """Return on how many of the data sets a row is ranked, where others are on more."""
    everywhere = board.n_ranked
    return f" ({row.n_ranked}/{everywhere})" if 0 < row.n_ranked < everywhere else ""


def jobs_text(row: Row) -> str:
    """Return how many of a row's jobs are ok, and what became of the others."""
    return ", ".join([f"{row.n_ok} ok", *(f"{n} {how}" for how, n in row.unfinished.items() if n)])


def score_name(board: Board) -> str:
    """Return what the score column holds."""
    if board.one_set:
        better = "less" if board.less_is_better else "more"
        return f"mean {board.metric}, {better} is better"
    return board.scale


def leaderboard(found: Compared) -> Group:
    """Return the board as something that `rich` prints; names are shown literally."""
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
    """Return the board as text without colours."""
    import io

    from rich.console import Console

    console = Console(file=io.StringIO(), width=width, color_system=None, highlight=False)
    terminal.show(leaderboard(found), console)
    printed: str = console.file.getvalue()  # type: ignore[attr-defined]
    return "\n".join(line.rstrip() for line in printed.splitlines()) + "\n"


def show(found: Compared) -> None:
    """Print the board on standard output."""
    terminal.show(leaderboard(found))


_LEFT = ("algorithm", "jobs")
"""The columns that hold no numbers."""
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""What a cell begins with that a spreadsheet runs (OWASP, CSV injection)."""
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
    """Return the board with a row an algorithm, best first; what a row has not is empty.

    A text that a spreadsheet would run begins with an apostrophe. On a board of one data set the
    score is the mean score itself, and nothing is ranked.
    """
    out = io.StringIO()
    rows = [_fields(row, found) for row in found.board.rows]
    writer = csv.DictWriter(out, list(rows[0]) if rows else ["algorithm"], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


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
    heads = {name: name in _LEFT for name in columns(found)}
    lines = [" ".join(literal(line) for line in found.answer.lines()), ""]
    lines += markdown_table(heads, (map(literal, row) for row in texts(found)))
    for note in notes(found):
        lines += ["", literal(note)]
    return "\n".join(lines) + "\n"


def markdown_table(heads: Mapping[str, bool], rows: Iterable[Iterable[str]]) -> list[str]:
    """Return the lines of a table.

    - `heads`: of each column, whether it is aligned to the left.
    - `rows`: cells in markdown.
    """
    line = ["---" if left else "---:" for left in heads.values()]
    return [f"| {' | '.join(cells)} |" for cells in (map(literal, heads), line, *rows)]


FORMATS: Mapping[str, Callable[[Compared], str]] = {
    "csv": as_csv,
    "latex": latex,
    "markdown": markdown,
}
"""How a board can be written, by name."""


def _fields(row: Row, found: Compared) -> dict[str, str | int]:
    """Return a row of the csv."""
    one_set, tested = found.board.one_set, found.tested
    score = row.raw if one_set else row.score
    numbers = {
        "mean_rank": math.nan if one_set else row.rank.value,
        "relative_loss": row.relative.value,
        "relative_loss_lower": row.relative.lower,
        "relative_loss_upper": row.relative.upper,
        "score": score.value,
        "score_lower": score.lower,
        "score_upper": score.upper,
        "test": tested.scores.get(row.label, math.nan) if tested else math.nan,
        "test_rank": tested.ranks.get(row.label, math.nan) if tested else math.nan,
        "cpu_seconds": row.cpu_seconds,
        "relative_cost": row.relative_cost,
    }
    return {
        "place": "" if one_set else row.place,
        "algorithm": _inert(row.label),
        "metric": _inert(found.board.metric),
        **{name: repr(float(v)) if math.isfinite(v) else "" for name, v in numbers.items()},
        "score_is": _inert(score_name(found.board)),
        "wins": row.wins,
        "ties": row.ties,
        "losses": row.losses,
        "ok": row.n_ok,
        "ended_early": row.n_early,
        "failed": row.n_failed,
        "skipped": row.n_skipped,
        "not_run": row.n_not_run,
        "data_sets_ranked": "" if one_set else row.n_ranked,
        "hindsight": str(row.hindsight).lower(),
        "baseline": str(row.baseline).lower(),
    }


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
