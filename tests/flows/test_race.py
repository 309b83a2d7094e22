"""``leaseboard race``: every failure of an algorithm or a store leaves the result printed."""

import json
import os
import re
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from leaseboard.algorithms.reference.ridge import OnlineRidge
from leaseboard.tasks.folder.results import read_partial_log

DATA = "synthetic:fried?rows=442&seed=0"
ALGORITHM = """
from pydantic.dataclasses import dataclass
from leaseboard.algorithms.base import Algorithm
from leaseboard.algorithms.errors import DivergedError
from leaseboard.algorithms.events import ConfigurationAdmitted, Eliminated

@dataclass(frozen=True, kw_only=True)
class Failing(Algorithm):
    environment = "stream"

    def run(self, env, seed):
        yield ConfigurationAdmitted(at=0, configuration=0, parameters={{}})
        {end}
"""


@pytest.fixture
def race(call):
    """Run a race in an empty folder; return the JSON, the errors, and the exit code."""

    def run(algorithm, *arguments, data=DATA):
        ended = call("race", algorithm, data, "--json", *arguments)
        return json.loads(ended.out.splitlines()[-1]), ended.err, ended.code

    return run


@pytest.mark.parametrize(
    ("end", "status", "reason"),
    [
        ("raise ValueError('no luck')", "crash", "mine.py:13: ValueError: no luck"),
        ("yield Eliminated(at=0, configuration=7, reason='x')", "crash", "configuration 7"),
        ("import os; os._exit(0)", "crash", "ended with exit code 0"),
        ("raise DivergedError('NaN at 7')", "diverged", "NaN at 7"),
    ],
)
def test_every_ending_is_printed_and_its_events_are_kept(race, tmp_path, end, status, reason):
    (tmp_path / "mine.py").write_text(ALGORITHM.format(end=end))
    row, complained, code = race("mine.py:Failing")

    assert (row["status"], row["score"], code) == (status, None, 2)
    assert reason in row["reason"]
    assert reason in complained
    log = Path(row["events"])
    assert [type(event).__name__ for event in read_partial_log(log)][-1] == "ConfigurationAdmitted"
    assert [folder.name for folder in (tmp_path / "runs" / "race").iterdir()] == [log.parent.name]
    assert json.loads((log.parent / "result.json").read_text())["status"] == status


def test_a_password_that_a_job_quotes_is_neither_printed_nor_kept(race, tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "postgresql://me:hunter2secret@db/x")
    end = "import os; raise {}('no ' + os.environ['MLFLOW_TRACKING_URI'])"
    for error, status in (("DivergedError", "diverged"), ("ValueError", "crash")):
        (tmp_path / "mine.py").write_text(ALGORITHM.format(end=end.format(error)))
        row, complained, _ = race("mine.py:Failing")

        assert row["status"] == status
        assert "no postgresql://me:***@db/x" in row["reason"]
        assert "***@db" in complained
    kept = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {"result.json", "log.txt"} <= {path.name for path in kept}
    assert not [path for path in kept if b"hunter2secret" in path.read_bytes()]


def test_a_store_in_trouble_costs_the_record_and_not_the_result(race, tmp_path):
    (tmp_path / "file").write_text("")
    store = f"sqlite:///{tmp_path / 'file' / 'mlflow.db'}"
    row, complained, code = race("vanilla", "--register", "mine", "--tracking-uri", store)

    assert (row["status"], code) == ("ok", 2)
    assert row["score"] > 0
    assert store in complained


def test_a_run_that_cannot_be_compared_is_not_registered(race, tmp_path):
    (tmp_path / "mine.py").write_text(ALGORITHM.format(end="yield from env.record([0.0])"))
    store = tmp_path / "mlflow.db"
    uri = ["--tracking-uri", f"sqlite:///{store}"]
    row, complained, code = race("mine.py:Failing", "--register", "mine", *uri)

    assert (row["status"], code) == ("ok", 64)
    why = "ended early: 1 of 442 examples"
    assert f"not registered: mine.py:Failing on {DATA}: {why}" in complained
    assert not store.exists()


@pytest.mark.parametrize(
    ("end", "code"),
    [
        ("from leaseboard.algorithms.errors import UsageError; raise UsageError('no')", 64),
        ("import os, signal, time; os.kill({parent}, signal.SIGINT); time.sleep(60)", 130),
        ("import os, signal, time; os.kill({parent}, signal.SIGTERM); time.sleep(60)", 143),
    ],
    ids=["usage", "SIGINT", "SIGTERM"],
)
def test_wrong_usage_and_ctrl_c_leave_nothing_behind(call, tmp_path, end, code):
    """Ctrl-C comes to the command; the same exception out of a user's file is a crash."""
    text = ALGORITHM.format(end=end.format(parent=os.getpid()))
    (tmp_path / "mine.py").write_text(text)
    call("race", "mine.py:Failing", DATA, code=code)

    assert not [*(tmp_path / "runs" / "race").iterdir()]


def test_measures_are_printed_and_the_loss_next_to_that_of_the_baselines(race, call):
    row, _, code = race("online-automl", "--metric", "r2")
    said = call("race", "last-label", DATA, "--metric", "r2").out

    assert code == 0
    assert {"rmse", "mae", "r2"} <= row["metrics"].keys()
    assert "measured: rmse " in said
    assert "online-ridge" in said
    assert "by r2" in said


def test_a_random_walk_is_tested_on_its_last_days_unless_another_split_is_asked_for(call, race):
    n = 300
    days = pd.date_range("2024-01-01", periods=n)
    walk = np.cumsum(np.random.default_rng(1).normal(size=n))
    table = pd.DataFrame({"day": days, "shop": np.arange(n) // 30, "walk": walk})
    table.sample(frac=1, random_state=0).to_csv("walk.csv", index=False)
    one = ("average", "--budget", "1", "--set", "arms=[k_nearest_neighbors]")

    def r2(*arguments):
        row, _, code = race(*one, *arguments, data="walk.csv")
        assert code == 0
        return row["metrics"]["r2"], row["split"]

    guessed, why = r2()
    shuffled, asked = r2("--set", "split=random")
    assert why.startswith("the last rows by 'day' are held out (guessed from column 'day'")
    assert asked == "random rows are held out (asked for)"
    assert r2("--set", "split=time") == (
        guessed,
        "the last rows by 'day' are held out (asked for)",
    )
    assert r2("--set", "split=group=shop")[1] == "whole groups by 'shop' are held out (asked for)"
    assert shuffled > 0.9
    assert guessed < 0.5

    said = call("race", one[0], "walk.csv", *one[1:]).out.splitlines()[0]
    assert said.endswith(f"; {why}")
    for split, reason in {"weekly": "must match pattern", "group=shops": "shops"}.items():
        wrong = call("race", one[0], "walk.csv", *one[1:], "--set", f"split={split}", code=64)
        assert reason in wrong.err


@pytest.mark.parametrize(
    "arguments",
    [("abc", "--set", "configurations=4"), ("abc-tight", "--set", "configurations=4"),
     ("apple",), ("ucb", "--budget", "1", "--set", "arms=[logistic_regression]")],
)  # fmt: skip
def test_what_learns_nothing_scores_as_the_commonest_class_on_the_same_test_rows(arguments, call):
    kinds = np.random.default_rng(3).choice(["white", "red", "black"], 203, p=[0.2, 0.5, 0.3])
    pd.DataFrame({"x": 0.0, "kind": kinds}).to_csv("same.csv", index=False)
    said = call("race", arguments[0], "same.csv", "--target", "kind", *arguments[1:]).out
    naive = re.search(r"the commonest class is right in (\S+) of the test rows", said)
    score = re.search(r"test_accuracy (\S+)|: accuracy (\S+),", said)

    assert naive is not None, said
    assert float(next(filter(None, score.groups()))) == pytest.approx(float(naive[1]), abs=1e-4)
    assert ("guarantee: with probability 0." in said) is arguments[0].startswith("abc")
    assert "guarantee" not in said or "loses at most 0.01 of the accuracy" in said


def test_rows_that_a_race_leaves_out_are_said(call):
    rows = np.random.default_rng(0).random((2_001, 2))
    pd.DataFrame(rows, columns=["x", "y"]).to_csv("long.csv", index=False)
    for reference, given, used, available, said in (
        ("long.csv", (), 2_001, 2_001, ""),
        ("long.csv", ("--set", "max_rows=300"), 300, 2_001, "300 of 2,001"),
        ("long.csv", ("--budget", "200"), 200, 2_001, "200 of 2,001"),
        ("long.csv?rows=400", (), 400, 2_001, "400 of 2,001"),
        ("long.csv?first_rows=500", (), 500, 2_001, "500 of 2,001"),
    ):
        printed = " ".join(call("race", "running-mean", reference, *given).out.split())
        (result,) = Path("runs/race").glob("running-mean-*/result.json")
        row = json.loads(result.read_text())
        shutil.rmtree("runs")

        assert (row["units"], row["rows"], row["rows_available"]) == (used, used, available)
        assert (f"Rows used: {reference}: {said}" in printed) == bool(said)
        assert ("Rows used" in printed) == bool(said)


def test_several_algorithms_print_a_line_each_and_run_the_baselines_once(call, monkeypatch):
    ran = []
    run = OnlineRidge.run

    def counted(self, env, seed):
        ran.append(env.budget)
        return run(self, env, seed)

    monkeypatch.setattr(OnlineRidge, "run", counted)
    ended = call("race", "offline", "vanilla", "last-label", DATA, "--json", code=0)
    found = [json.loads(line) for line in ended.out.splitlines()]

    assert [row["algorithm"] for row in found] == ["offline", "vanilla", "last-label"]
    assert ran.count(442) == 1


def test_a_budget_in_seconds_shows_its_progress_and_quiet_does_not(call, monkeypatch, tmp_path):
    monkeypatch.setattr("leaseboard.tasks.machine.terminal.EVERY", 0.05)
    monkeypatch.setattr("leaseboard.tasks.machine.terminal.PATIENCE", 0.05)
    monkeypatch.setenv("LEASEBOARD_CACHE", str(tmp_path / "cache"))  # others record too
    asked = ("race", "ucb", "sklearn:iris", "--budget", "0.2", "--set", "arms=[qda]",
             "--set", "unit=cpu_seconds")  # fmt: skip
    first = call(*asked, code=0)
    said = first.err.splitlines()
    assert "replayed" not in first.out

    line = r"ucb on sklearn:iris: [\d.]+ of 0.2 cpu_seconds in \d+ s"
    assert any(re.fullmatch(line, each) for each in said), said
    again = call(*asked, "-q", "--json", code=0)
    row = json.loads(again.out)
    assert again.err == ""
    # All but the trial at which the budget ended, of which a slow machine spends much on one.
    assert 0 < row["replayed_cpu_seconds"] <= row["cpu_seconds"]
    assert re.search(r" of them replayed from recorded trials \(0.\d+ cpu_", call(*asked).out)


def test_labels_of_a_file_come_with_its_date_as_when_it_is_learned(call, race):
    rng, n = np.random.default_rng(0), 90
    pd.DataFrame({
        "day": pd.date_range("2024-01-01", periods=n // 3).repeat(3).strftime("%Y-%m-%d"),
        "shop": ["north", "east", "west"] * (n // 3),
        "sold": np.tile([50.0, 90.0, 300.0], n // 3) + rng.normal(0, 5, n),
    }).to_csv("shops.csv", index=False)  # fmt: skip
    learned = json.loads(call("learn", "m", "shops.csv", "--json").out.splitlines()[-1])
    found = {}
    for labels in (None, "with=day", "after=24", "immediate"):
        given = () if labels is None else ("--set", f"labels={labels}")
        found[labels], said, code = race("online-automl", *given, data="file:shops.csv")
        assert code == 0
        assert ("labels with=day: each day is predicted" in said) == (labels is None)
        assert found[labels]["environment_options"]["labels"] == (labels or "with=day")

    assert found[None]["metrics"]["rmse"] == pytest.approx(learned["metrics"]["rmse"], rel=1e-6)
    assert found[None]["score"] == found["with=day"]["score"]
    assert len({row["score"] for row in found.values()}) == 3
    assert len({Path(row["events"]).parent.name for row in found.values()}) == 3

    assert "progressive_mse" in (line := call("race", "vanilla", "file:shops.csv").out)
    assert "examples), labels with=day\n" in line
    assert call("race", "offline", "file:shops.csv").code == 3
    for wrong, why in (("with=dya", "did you mean 'day'"), ("soon", "must be immediate, after=N")):
        assert why in call("race", "vanilla", "file:shops.csv", "--set", f"labels={wrong}").err
