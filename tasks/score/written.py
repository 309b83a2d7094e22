"""The leaderboard as text for other programs: csv, LaTeX and markdown.

The csv has numbers in full and a column for each; the other two say what the terminal says. Names
are other people's: none is a formula to a spreadsheet, or markup.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Callable, Mapping

from leaseboard.tasks.score.board import columns, notes, score_name, texts
from leaseboard.tasks.score.compared import Compared
from leaseboard.tasks.score.leaderboard import Row

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
    """The board with a row an algorithm, best first; what a row has not is empty.

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
    """The board as a ``tabular``, which needs no package; title and legend stand as comments."""
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
    """The board for a description or a comment; names are escaped."""
    lines = [" ".join(literal(line) for line in found.answer.lines()), ""]
    names = list(columns(found))
    lines.append(f"| {' | '.join(map(literal, names))} |")
    lines.append(f"| {' | '.join('---' if name in _LEFT else '---:' for name in names)} |")
    lines += [f"| {' | '.join(map(literal, row))} |" for row in texts(found)]
    for note in notes(found):
        lines += ["", literal(note)]
    return "\n".join(lines) + "\n"


FORMATS: Mapping[str, Callable[[Compared], str]] = {
    "csv": as_csv,
    "latex": latex,
    "markdown": markdown,
}
"""How a board can be written, by name."""


def _fields(row: Row, found: Compared) -> dict[str, str | int]:
    """A row of the csv."""
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
    r"""`text` as LaTeX sets it, not as its commands.

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
