import csv
import dataclasses
import io

import pytest
from rich.console import Console

from leaseboard.tasks.jobs.job import Result
from leaseboard.tasks.jobs.suites.suite import Suite
from leaseboard.tasks.score import board
from leaseboard.tasks.score.board import as_csv
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
