"""The leaderboard on a terminal and as Markdown."""

import dataclasses
import io

import pytest
from markdown_it import MarkdownIt
from rich.console import Console

from leaseboard.tasks.jobs.job import Result
from leaseboard.tasks.jobs.suites.suite import Suite
from leaseboard.tasks.score import board
from leaseboard.tasks.score.board import markdown
from leaseboard.tasks.score.leaderboard import ONE_SET_RULE
from leaseboard.tasks.score.summary import compared

LOSSES = {"vanilla": 4.0, "exhaustive": 2.0, "cha<b>[red]|_*": 3.0}


def results(lost=(), data=("synthetic:fried",), **fields):
    """Return two jobs of each algorithm and dataset; `lost` gives the status of some."""
    lost = dict(lost)
    return [
        Result(**{
            "key": f"{label.encode().hex()}{seed}-{i}", "algorithm": "x", "name": label,
            "data": one, "digest": f"sha-{one}", "seed": seed, "environment_seed": seed,
            "repetition": seed, "status": lost.get((label, seed), "ok"),
            "score": None if (label, seed) in lost else loss + seed / 10,
            "metric": "progressive_mse", "cpu_seconds": 0.5,
        } | fields)
        for i, one in enumerate(data) for label, loss in LOSSES.items() for seed in (0, 1)
    ]  # fmt: skip


def two_sets():
    return results(data=("synthetic:fried", "synthetic:mv"))


SUITE = Suite(
    title="A <title> [bold]",
    data=[{"data": "synthetic:fried"}],
    algorithms=["vanilla", "exhaustive", {"algorithm": "x", "name": "cha<b>[red]|_*"}],
)


def words(found):
    return " ".join(board.plain(found).split())


def cells(found, label):
    lines = board.plain(found).splitlines()
    return next(line.split() for line in lines if line.startswith(label))


def test_plain_text_has_the_numbers_and_raw_names():
    found = compared(results(), SUITE)
    lines = board.plain(found).splitlines()
    assert lines[0] == "A <title> [bold], by progressive_mse"
    head = " ".join(lines[1].split())
    assert head == "algorithm progressive_mse 95 % interval CPU s × cost jobs"
    assert lines[2].split() == ["exhaustive", "2.05", "–", "0.5", "1", "2/2"]
    assert words(found).count(ONE_SET_RULE) == 1
    assert "All 6 jobs finished." in words(found)
    console = Console(file=io.StringIO(), force_terminal=True, width=120)
    console.print(board.leaderboard(found))
    for text in (words(found), console.file.getvalue()):
        assert "cha<b>[red]|_*" in text


def test_the_leaderboard_fits_80_columns_without_breaking_a_number():
    lines = board.plain(compared(two_sets()), width=80).splitlines()
    assert max(map(len, lines)) <= 80
    assert sum("4/0/0" in line and line.endswith("–") for line in lines) == 1


def test_what_did_not_finish_is_counted_with_its_rule():
    text = words(compared(results({("vanilla", 0): "timeout"}), SUITE))
    assert "1/2" in text
    assert "5 of 6 jobs finished (1 failed)." in text
    assert "counts as the worst score" in text
    never = compared(results({("vanilla", seed): "crash" for seed in (0, 1)}), SUITE)
    assert cells(never, "vanilla") == ["vanilla", "–", "–", "–", "–", "0/2"]
    nothing = words(compared(results({(label, s): "crash" for label in LOSSES for s in (0, 1)})))
    assert "No job finished" in nothing
    assert "0 of 6 jobs finished (6 failed)." in nothing


def test_a_mean_rank_over_fewer_datasets_says_so_next_to_the_number():
    rows = [
        dataclasses.replace(each, status="skipped", score=None)
        if (each.name, each.data) == ("exhaustive", "synthetic:mv") else each
        for each in two_sets()
    ]  # fmt: skip
    found = compared(rows)
    names = list(board.columns(found))
    ranks = {row[names.index("algorithm")]: row[names.index("rank")] for row in board.texts(found)}
    assert ranks == {"exhaustive": "1.00 (1/2)", "cha<b>[red]|_*": "1.50", "vanilla": "2.50"}
    assert board.FEWER in board.notes(found)[0]
    assert board.FEWER not in board.notes(compared(two_sets()))[0]


def test_the_suites_own_scale_is_used():
    ends = {"zero": "vanilla", "one": "exhaustive"}
    scaled = Suite(title="t", data=["synthetic:fried"], normalise=ends,
                   algorithms=[{"algorithm": "vanilla"}, {"algorithm": "exhaustive"}])  # fmt: skip
    scores = {row.name: row.score.value for row in compared(results(), scaled).board.rows}
    assert scores == pytest.approx({"vanilla": 0, "exhaustive": 1, "cha<b>[red]|_*": 0.5})


def test_the_leaderboard_shows_early_ends_and_hindsight():
    rows = [one for one in results() if one.repetition == 0]
    rows[0] = dataclasses.replace(rows[0], complete=False, units=1, budget=3000, unit="examples")
    rows[1] = dataclasses.replace(rows[1], oracle_baseline=True)
    text = words(compared(rows))
    assert "exhaustive (oracle baseline) 2" in text
    assert "0/1, 1 ended early" in text
    assert "Hindsight: an algorithm that declares" in text


def test_a_single_repetition_has_no_interval_in_any_form():
    found = compared([result for result in results() if result.seed == 0], SUITE)
    text = board.plain(found)
    assert "[" not in text.replace("[bold]", "").replace("[red]", "")
    assert cells(found, "exhaustive") == ["exhaustive", "2", "–", "0.5", "1", "1/1"]


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


@pytest.fixture(params=[("d",), ("d", "e")], ids=["one dataset", "two"])
def made(request):
    return compared(
        Result(
            key=f"k{i}{j}", algorithm="x", name=name, data=one, digest=f"sha-{one}", seed=0,
            environment_seed=0, repetition=0, status="timeout" if i == 1 else "ok",
            score=None if i == 1 else 1 / (i + 3), metric="progressive_mse", cpu_seconds=0.5,
        )
        for i, name in enumerate(NAMES) for j, one in enumerate(request.param)
    )  # fmt: skip


def test_markdown_is_read_back_unchanged(made):
    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(markdown(made))
    inlines = {child.type for token in tokens for child in token.children or ()}
    assert inlines <= {"text", "text_special", "softbreak"}
    assert {token.type.partition("_")[0] for token in tokens} <= {
        "paragraph", "inline", "table", "thead", "tbody", "tr", "th", "td"
    }  # fmt: skip
    read = ["".join(child.content for child in tokens[i + 1].children)
            for i, token in enumerate(tokens) if token.type in ("td_open", "th_open")]  # fmt: skip
    width = len(board.columns(made))
    rows = [tuple(read[i : i + width]) for i in range(width, len(read), width)]
    assert rows == board.texts(made)
    assert "counts as the worst score" in markdown(made)
