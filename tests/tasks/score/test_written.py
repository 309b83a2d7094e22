"""A board for other programs is read back by them: no name breaks a cell or becomes markup."""

import csv
import dataclasses
import io
import math
import re

import pytest
from markdown_it import MarkdownIt

from leaseboard.tasks.jobs.job import Result
from leaseboard.tasks.score import board
from leaseboard.tasks.score.board import as_csv, latex, markdown
from leaseboard.tasks.score.compared import compared

NAMES = (
    "plain",
    'quo"te, comma',
    "a\\|b | c\\\\",
    "*x* _y_ `z` ~~w~~ <b>&amp;",
    "[link](https://example.org)",
    "50 % of $3 #1 {x} ^2 ~ \\cmd",
    "–dash × times",
    "![image](x) # heading",
    "- item",
    "1. item",
    "+ item",
)
FORMULAS = ("=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\n=1", "＝1")


def found(*data):
    rows = [
        Result(
            key=f"k{i}{j}", algorithm="x", label=name, data=one, digest="d", seed=0,
            environment_seed=0, repetition=0, status="timeout" if i == 1 else "ok",
            score=None if i == 1 else 1 / (i + 3), metric="progressive_mse", cpu_seconds=0.5,
        )
        for i, name in enumerate(NAMES) for j, one in enumerate(data)
    ]  # fmt: skip
    return compared(rows)


@pytest.fixture(params=[("d",), ("d", "e")], ids=["one data set", "two"])
def made(request):
    return found(*request.param)


def test_csv_is_read_back_in_full(made):
    rows = list(csv.DictReader(io.StringIO(as_csv(made))))
    one_set = made.board.one_set

    assert [row["algorithm"].removeprefix("'") for row in rows] == [
        row.label for row in made.board.rows
    ]
    for row, known in zip(rows, made.board.rows, strict=True):
        assert row["score"] == "" or float(row["score"]) == (
            known.raw.value if one_set else known.score.value
        )
        assert (int(row["ok"]), int(row["failed"])) == (known.n_ok, known.n_failed)
        assert row["place"] == ("" if one_set else str(known.place))


def test_markdown_is_read_back_as_it_was_said(made):
    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(markdown(made))
    cells = [
        tokens[i + 1] for i, token in enumerate(tokens) if token.type in ("td_open", "th_open")
    ]
    inlines = {child.type for token in tokens for child in token.children or ()}
    assert inlines <= {"text", "text_special", "softbreak"}
    assert {token.type.partition("_")[0] for token in tokens} <= {
        "paragraph", "inline", "table", "thead", "tbody", "tr", "th", "td"
    }  # fmt: skip
    said = ["".join(child.content for child in cell.children) for cell in cells]
    width = len(board.columns(made))
    rows = [tuple(said[i : i + width]) for i in range(width, len(said), width)]
    assert rows == board.texts(made)


def test_what_is_missing_is_told_with_the_board(made):
    assert "counts as the worst score" in markdown(made)
    assert "counts as the worst score" in latex(made)


def test_latex_is_read_back_as_it_was_said(made):
    lines = latex(made).splitlines()
    rows = [line for line in lines if line.startswith("{}")]

    assert [tuple(plain(cell) for cell in re.split(r"(?<!\\) & ", row)) for row in rows] == [
        tuple(cell.replace("–", "--") for cell in row) for row in board.texts(made)
    ]
    said = [line for line in lines if not line.startswith("%")]
    assert said[0] == f"\\begin{{tabular}}{{{alignment(made)}}}"
    assert lines[-1] == r"\end{tabular}"


def alignment(made):
    return "".join("l" if name in ("algorithm", "jobs") else "r" for name in board.columns(made))


def plain(cell):
    """What LaTeX sets of a cell; a sign that it would obey fails the test."""
    words = {
        "textbackslash{}": "\\", "textasciitilde{}": "~", "textasciicircum{}": "^",
        "textless{}": "<", "textgreater{}": ">", "textbar{}": "|", "textquotedbl{}": '"',
    }  # fmt: skip
    cell = cell.removeprefix("{}").removesuffix(r" \\").replace(r"$\times$", "×")
    rest = re.sub(r"\\([a-z]+\{\}|[&%$#_{}])", "", cell)
    assert not set(rest) & set("\\&%$#_{}~^"), cell
    return re.sub(r"\\([a-z]+\{\}|[&%$#_{}])", lambda sign: words.get(sign[1], sign[1]), cell)


@pytest.mark.parametrize("name", FORMULAS)
def test_no_cell_of_a_csv_is_a_formula(made, name):
    row = dataclasses.replace(made.board.rows[0], label=name)
    board = dataclasses.replace(made.board, rows=(row,), scale=name, metric=name)
    text = as_csv(dataclasses.replace(made, board=board))
    (cells,) = csv.DictReader(io.StringIO(text, newline=""))

    assert cells["algorithm"] == f"'{name}"
    assert all(cell[:1] not in "=+-@\t\r\n" or is_number(cell)
               for cell in cells.values())  # fmt: skip


def is_number(cell):
    try:
        return cell == "" or math.isfinite(float(cell))
    except ValueError:
        return False


def test_a_title_of_two_lines_stays_a_comment(made):
    text = latex(dataclasses.replace(made, title="one\n\\input{x}"))
    assert text.startswith("% one \\input{x}\n% ")
