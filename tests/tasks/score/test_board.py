"""The leaderboard on a terminal, and as csv, LaTeX and markdown."""

import csv
import dataclasses
import io
import math
import re

import pytest
from markdown_it import MarkdownIt
from rich.console import Console

from leaseboard.tasks.jobs.job import Result
from leaseboard.tasks.jobs.suites.suite import Suite
from leaseboard.tasks.score import board
from leaseboard.tasks.score.board import as_csv, latex, markdown
from leaseboard.tasks.score.compared import compared
from leaseboard.tasks.score.leaderboard import ONE_SET_RULE

LOSSES = {"vanilla": 4.0, "exhaustive": 2.0, "cha<b>[red]|_*": 3.0}


def results(statuses=()):
    return [
        Result(
            key=f"{label.encode().hex()}{seed}", algorithm="x", label=label,
            data="synthetic:fried", digest="d",
            seed=seed, environment_seed=seed, repetition=seed,
            status=dict(statuses).get((label, seed), "ok"),
            score=None if (label, seed) in dict(statuses) else loss + seed / 10,
            metric="progressive_mse", cpu_seconds=0.5,
        )
        for label, loss in LOSSES.items() for seed in (0, 1)
    ]  # fmt: skip


def two_sets():
    return [
        dataclasses.replace(each, data=data, key=f"{each.key}-{i}")
        for i, data in enumerate(("synthetic:fried", "synthetic:mv"))
        for each in results()
    ]


def suite(**more):
    return Suite(
        title="A <title> [bold]",
        data=[{"data": "synthetic:fried"}],
        algorithms=[{"name": f"x{i}", "label": label} for i, label in enumerate(LOSSES)],
        **more,
    )


def test_plain_text_has_the_numbers_and_names_as_they_are():
    text = board.plain(compared(results(), suite()))
    lines = text.splitlines()
    assert lines[0] == "A <title> [bold], by progressive_mse"
    assert lines[2].split() == [
        "exhaustive", "2.05", "[2,", "2.1]", "0.5", "1", "2/2",
    ]  # fmt: skip
    assert (
        " ".join(lines[1].split()) == "algorithm progressive_mse 95 % interval CPU s × cost jobs"
    )
    assert " ".join(text.split()).count(ONE_SET_RULE) == 1
    assert "cha<b>[red]|_*" in text
    assert "All 6 jobs finished." in text


def test_the_board_fits_80_columns_without_breaking_a_number():
    lines = board.plain(compared(two_sets()), width=80).splitlines()
    assert max(map(len, lines)) <= 80
    assert sum("4/0/0" in line and "[1.000, 1.000]" in line for line in lines) == 1


def test_failures_bring_their_rule():
    text = board.plain(compared(results({("vanilla", 0): "timeout"}.items()), suite()))
    assert "1/2" in text
    assert "5 of 6 jobs finished (1 failed)." in text
    assert "counts as the worst score" in " ".join(text.split())


def test_a_mean_rank_over_fewer_data_sets_says_so_beside_the_number():
    rows = [
        dataclasses.replace(each, status="skipped", score=None)
        if (each.label, each.data) == ("exhaustive", "synthetic:mv") else each
        for each in two_sets()
    ]  # fmt: skip
    found = compared(rows)
    names = list(board.columns(found))
    ranks = {row[names.index("algorithm")]: row[names.index("rank")] for row in board.texts(found)}
    table = {row["algorithm"]: row["data_sets_ranked"]
             for row in csv.DictReader(io.StringIO(as_csv(found)))}  # fmt: skip

    assert ranks == {"exhaustive": "1.00 (1/2)", "cha<b>[red]|_*": "1.50", "vanilla": "2.50"}
    assert table == {"exhaustive": "1", "cha<b>[red]|_*": "2", "vanilla": "2"}
    assert "over n of N data sets" in board.legend(found)
    assert "over n of N data sets" not in board.legend(compared(two_sets()))


def test_the_suites_own_scale_is_used():
    scaled = suite(normalise={"zero": "vanilla", "one": "exhaustive"})
    shown = compared(results(), scaled).board
    scores = {row.label: row.score.value for row in shown.rows}
    assert scores == pytest.approx({"vanilla": 0, "exhaustive": 1, "cha<b>[red]|_*": 0.5})


def test_a_coloured_terminal_gets_literal_names_too():
    console = Console(file=io.StringIO(), force_terminal=True, width=120)
    console.print(board.leaderboard(compared(results())))
    assert "cha<b>[red]|_*" in console.file.getvalue()


def test_nothing_finished_is_said():
    failed = {(label, seed): "crash" for label in LOSSES for seed in (0, 1)}
    text = board.plain(compared(results(failed.items()), suite()))
    assert "No job finished" in text
    assert "0 of 6 jobs finished (6 failed)." in text


def test_an_algorithm_that_never_finished_has_no_score_on_a_board_of_one_data_set():
    text = board.plain(
        compared(results({("vanilla", seed): "crash" for seed in (0, 1)}.items()), suite())
    )
    row = next(line for line in text.splitlines() if "vanilla" in line).split()
    assert row == ["vanilla", "–", "–", "–", "–", "0/2"]


def test_the_board_tells_of_early_ends_and_of_hindsight():
    rows = [one for one in results() if one.repetition == 0]
    rows[0] = dataclasses.replace(rows[0], complete=False, units=1, budget=3000, unit="examples")
    rows[1] = dataclasses.replace(rows[1], hindsight=True)
    text = " ".join(board.plain(compared(rows)).split())

    assert "exhaustive (hindsight) 2" in text
    assert "0/1, 1 ended early" in text
    assert "or ended early, before it had consumed its budget, counts as the worst score" in text
    assert "Hindsight: an algorithm that declares" in text


def test_a_single_repetition_has_no_interval_in_any_form():
    once = [result for result in results() if result.seed == 0]
    found = compared(once, suite())
    text = board.plain(found)
    assert "[" not in text.replace("[bold]", "").replace("[red]", "")
    assert "A single repetition has no interval" in text
    assert text.splitlines()[2].split() == ["exhaustive", "2", "–", "0.5", "1", "1/1"]
    rows = [*csv.DictReader(io.StringIO(as_csv(found)))]
    ends = {row[f"{of}_{end}"] for row in rows for of in ("score", "relative_loss")
            for end in ("lower", "upper")}  # fmt: skip
    assert ends == {""}


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
