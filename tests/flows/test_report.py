"""From a suite's run to its report, to the comparison of runs, and back from a page's command."""

import csv
import io
import json
import os
import shlex
import shutil
import statistics
import sys
import threading
from collections import Counter

import pytest

from leaseboard.flows.cli import main
from leaseboard.tasks.folder.results import assemble, finish
from leaseboard.tasks.jobs.run import run_job
from leaseboard.tasks.report import suite_of
from leaseboard.tasks.report.sections.jobs import race_command
from leaseboard.tasks.score.inference import compare_all, resampled_means
from leaseboard.tasks.score.leaderboard import leaderboard
from leaseboard.tasks.score.summary import summarise
from leaseboard.tasks.track import TrackingError

SUITE = """
title: Two learners
data: ["synthetic:fried?rows=600&seed=0"]
baselines: false
algorithms: [vanilla, {name: chacha-paper, label: paper}]
repetitions: 2
bench: {max_rows: 500}
normalise: {zero: vanilla, one: paper}
"""


@pytest.fixture
def call(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        with pytest.raises(SystemExit) as stop:
            main(list(arguments))
        return stop.value.code, capsys.readouterr()

    return run


@pytest.fixture
def finished(tmp_path):
    """The run folder of a small suite, as the flow leaves it, with its report."""
    from leaseboard.tasks import report
    from leaseboard.tasks.jobs.suites.suite import load_suite

    (tmp_path / "two.yaml").write_text(SUITE)
    suite = load_suite(str(tmp_path / "two.yaml"), tmp_path)
    rows = []
    for job in suite.jobs():
        folder = tmp_path / "run" / "jobs" / "scratch"
        folder.mkdir(parents=True)
        result, _ = run_job(job, folder)
        folder.rename(folder.with_name(result.key))
        finish(tmp_path / "run", result)
        rows.append(result)
    assemble(tmp_path / "run", rows)
    report.build(tmp_path / "run", suite)
    return rows, suite


def test_a_board_that_the_store_refuses_is_a_failed_run(call, tmp_path, empty_store, monkeypatch):
    def refuse(uri, *_, **__):
        raise TrackingError(f"{uri}: no space")

    monkeypatch.setattr("leaseboard.tasks.steps.plain.publish", refuse)
    (tmp_path / "one.yaml").write_text(
        "title: t\ndata: ['synthetic:fried?rows=300&seed=0']\n"
        "baselines: false\nalgorithms: [vanilla]\n"
    )
    store = f"sqlite:///{shutil.copy(empty_store, tmp_path)}"
    code, said = call("run", "one.yaml", "--local", "--workers", "1", "--tracking-uri", store)

    assert code == 2
    assert f"leaseboard: the board is not in MLflow: {store}: no space" in said.err
    assert "report:" in said.out


def test_the_command_on_a_jobs_page_repeats_its_score(finished, call):
    rows, suite = finished
    for job, result in zip(suite.jobs(), rows, strict=True):
        program, *arguments = shlex.split(race_command(job))
        assert program == "leaseboard"
        code, printed = call(*arguments, "--json")
        assert code == 0
        assert json.loads(printed.out.splitlines()[-1])["score"] == result.score


def test_a_report_is_built_again_by_the_command(finished, call, tmp_path):
    page = tmp_path / "run" / "report.html"
    before = page.read_bytes()
    page.unlink()
    code, printed = call("report", "run")
    assert (code, printed.out.strip()) == (0, os.fspath(page.relative_to(tmp_path)))
    assert page.read_bytes() == before
    assert suite_of(tmp_path / "run").title == "Two learners"


@pytest.fixture
def calls():
    """How often this process called what a board costs, whoever asked for it, by name."""
    costly = (leaderboard, resampled_means, compare_all, summarise)
    names = {function.__code__: function.__name__ for function in costly}
    counted = Counter()

    def count(frame, event, _):
        if event == "call" and frame.f_code in names:
            counted[names[frame.f_code]] += 1

    threading.setprofile(count)
    sys.setprofile(count)
    yield counted
    sys.setprofile(None)
    threading.setprofile(None)


ONE_BOARD = {"leaderboard": 1, "compare_all": 1, "summarise": 1, "resampled_means": 3}
"""Of several data sets: one bootstrap of the scores, one of the ranks."""


def test_a_run_computes_its_board_once_and_so_does_a_merge(calls, call, tmp_path, empty_store):
    (tmp_path / "two.yaml").write_text(SUITE.replace('seed=0"]', 'seed=0", "sklearn:diabetes"]'))
    store = f"sqlite:///{shutil.copy(empty_store, tmp_path)}"
    code, said = call(
        "run", "two.yaml", "--local", "--workers", "1", "--tracking-uri", store, "--out", "run"
    )

    assert (code, calls) == (0, ONE_BOARD), said.err
    assert "report:" in said.out
    assert "mlflow:" in said.out

    assert call("export", "run", "run.zip")[0] == 0
    calls.clear()
    assert call("merge", "run.zip", "--out", "merged", "--tracking-uri", store)[0] == 0
    assert calls == ONE_BOARD


def test_a_run_compared_with_itself_is_the_same(finished, call, tmp_path):
    code, printed = call("compare", "run", "run", "--json", "difference.json")
    assert code == 0
    assert "1 same" in printed.out
    payload = json.loads((tmp_path / "difference.json").read_text())
    assert {d["verdict"] for d in payload["differences"]} == {"same"}


def test_a_folder_without_results_is_wrong_usage(call, tmp_path):
    (tmp_path / "empty").mkdir()
    code, printed = call("compare", "empty", "empty")
    assert code == 64
    assert len(printed.err.splitlines()) == 1
    assert "results.parquet" in printed.err


def test_a_measure_ranks_in_the_place_of_the_score_where_it_is_asked_for(call, tmp_path):
    (tmp_path / "two.yaml").write_text(
        SUITE.replace("algorithms: [", "algorithms: [online-ridge, ")
    )
    asked = ("run", "two.yaml", "--local", "--out", "out")
    assert call(*asked)[1].out.split("\n")[0].rstrip() == "Two learners, by progressive_mse"
    by_mae = call(*asked, "--metric", "mae")[1].out
    assert by_mae.split("\n")[0].rstrip() == "Two learners, by mae"
    assert suite_of(tmp_path / "out").metric == "mae"
    assert call("report", "out", "--metric", "skill")[0] == 0
    assert "the best mean skill" in (tmp_path / "out" / "report.html").read_text()
    assert suite_of(tmp_path / "out").metric == "mae"  # by which it was run
    assert call("report", "out", "--metric", "skil")[0] == 64
    assert call(*asked, "--metric", "kappa")[0] == 64
    code, printed = call("run", "two.yaml", "--local", "--out", "fresh", "--metric", "kappa")
    assert code == 64
    assert "no job can have the metric 'kappa' on these data" in printed.err
    assert not [*(tmp_path / "fresh").glob("jobs/*")]


def test_a_measure_of_numbers_alone_ranks_the_numbers_of_a_suite_of_both(call, tmp_path):
    rows = "".join(f"{i % 7},{i % 5},{'ab'[i % 7 > 3]}\n" for i in range(120))
    (tmp_path / "classes.csv").write_text("a,b,kind\n" + rows)
    more = 'seed=0", "sklearn:diabetes", "file:classes.csv?target=kind"]'
    (tmp_path / "both.yaml").write_text(SUITE.replace('seed=0"]', more))
    code, said = call("run", "both.yaml", "--local", "--out", "out", "--metric", "mae")

    assert code == 0, said.err
    assert said.out.split("\n")[0].rstrip() == "Two learners, by mae"
    assert "All data sets: mean rank" in (tmp_path / "out" / "report.html").read_text()
    assert call("report", "out", "--metric", "kappa")[0] == 0


def test_a_report_by_another_measure_leaves_the_run_what_it_is(call, finished, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(folder, tmp_path / "other")

    def held():
        return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}

    before = held()
    code, said = call("report", "other", "run", "--metric", "kappa")
    assert (code, "'other': no job has the metric 'kappa'" in said.err) == (64, True)
    assert held() == before
    board = call("report", "run", "--board", "csv")[1].out
    assert call("report", "run", "--metric", "mae")[0] == 0
    assert "the best mean mae" in (folder / "report.html").read_text()
    assert call("report", "run", "--board", "csv")[1].out == board
    assert call("report", "run")[0] == 0
    assert held() == before
    (page,) = call("publish", "run", "--out", "site")[1].out.splitlines()[:1]
    assert "by mae" not in page


def test_of_runs_one_without_a_board_leaves_the_site_as_it_is(call, finished, tmp_path):
    shutil.copytree(tmp_path / "run", tmp_path / "bad")
    stored = suite_of(tmp_path / "bad").model_copy(update={"metric": "kappa"})
    (tmp_path / "bad" / "suite.json").write_text(stored.model_dump_json())
    code, said = call("publish", "run", "bad", "--out", "site")

    assert (code, "bad: no job has the metric 'kappa'" in said.err) == (64, True)
    assert not (tmp_path / "site").exists()
    assert call("publish", "run", "--out", "site")[0] == 0


def test_a_board_is_printed_for_other_programs_and_the_page_stays(call, finished, tmp_path):
    page = (tmp_path / "run" / "report.html").stat()
    code, said = call("report", "run", "--board", "csv")
    rows = list(csv.DictReader(io.StringIO(said.out)))

    assert code == 0
    assert {row["algorithm"] for row in rows} == {"vanilla", "paper"}
    assert {float(row["score"]) for row in rows} == {
        statistics.fmean(one.score for one in finished[0] if one.label == label)
        for label in ("vanilla", "paper")
    }
    assert call("report", "run", "--board", "latex")[1].out.rstrip().endswith(r"\end{tabular}")
    assert "| --- |" in call("report", "run", "--board", "markdown")[1].out
    assert (tmp_path / "run" / "report.html").stat() == page
    for words, why in (
        (["run", "--board", "tex"], "unknown board 'tex'"),
        (["run", "run", "--board", "csv"], "--board csv of 2 runs: name one"),
    ):
        code, said = call("report", *words)
        assert (code, why in said.err) == (64, True), said.err


def test_a_run_is_published_and_wrong_usage_leaves_nothing(call, finished, tmp_path):
    code, said = call("publish", "run", "--out", "site")
    (page,) = (tmp_path / "site" / "boards").glob("*.html")

    assert code == 0
    assert said.out.splitlines() == [
        f"{page.stem}: Two learners, 4 jobs",
        f"site:    {tmp_path / 'site' / 'index.html'}, 1 board",
    ]
    assert f"boards/{page.name}" in (tmp_path / "site" / "index.html").read_text()
    code, said = call("publish", "absent", "--out", "other")
    assert (code, "'absent' has no results.parquet" in said.err) == (64, True)
    assert not (tmp_path / "other").exists()
