"""``leaseboard race``: whatever an algorithm or a store does, the result is told and kept."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from leaseboard.algorithms.chacha.chacha import ChaCha
from leaseboard.flows.cli import main
from leaseboard.tasks.folder.event_logs import read_partial_log
from leaseboard.tasks.jobs import quarantine

DATA = "synthetic:fried?rows=442&seed=0"
ALGORITHM = """
from pydantic.dataclasses import dataclass
from leaseboard.algorithms.base import Algorithm
from leaseboard.algorithms.errors import DivergedError
from leaseboard.algorithms.events import ConfigurationAdmitted, Eliminated

@dataclass(frozen=True, kw_only=True)
class Failing(Algorithm):
    bench = "stream"

    def run(self, bench, seed):
        yield ConfigurationAdmitted(at=0, configuration=0, parameters={{}})
        {end}
"""


@pytest.fixture
def race(tmp_path, monkeypatch, capsys):
    """Runs a race in an empty folder: the JSON, what was complained, and the exit code."""
    monkeypatch.chdir(tmp_path)

    def run(algorithm, *arguments):
        with pytest.raises(SystemExit) as stop:
            main(["race", algorithm, DATA, "--json", *arguments])
        said = capsys.readouterr()
        return json.loads(said.out.splitlines()[-1]), said.err, stop.value.code

    return run


@pytest.mark.parametrize(
    ("end", "status", "reason"),
    [
        ("raise ValueError('no luck')", "crash", "ValueError: no luck (mine.py, line 13)"),
        ("yield Eliminated(at=0, configuration=7, reason='x')", "crash", "configuration 7"),
        ("import os; os._exit(0)", "crash", "ended with exit code 0"),
        ("raise DivergedError('NaN at 7')", "diverged", "NaN at 7"),
    ],
)
def test_every_ending_is_told_and_its_events_are_kept(race, tmp_path, end, status, reason):
    (tmp_path / "mine.py").write_text(ALGORITHM.format(end=end))
    told, complained, code = race("mine.py:Failing")

    assert (told["status"], told["score"], code) == (status, None, 2)
    assert reason in told["reason"]
    assert reason in complained
    log = Path(told["events"])
    assert [type(event).__name__ for event in read_partial_log(log)][-1] == "ConfigurationAdmitted"
    assert [folder.name for folder in (tmp_path / "runs" / "race").iterdir()] == [log.parent.name]
    assert json.loads((log.parent / "result.json").read_text())["status"] == status


POLICY = """
import numpy as np
from pydantic.dataclasses import dataclass
from leaseboard.algorithms.policies.policy import ArmPolicy, Policy

@dataclass(frozen=True, kw_only=True)
class Outside(ArmPolicy):
    def policy(self, problem, rng):
        return OutsidePolicy(problem)

class OutsidePolicy(Policy):
    def _choose(self):
        return np.full(self.problem.repeats, 99)

    def _learn(self, arm, reward, cost):
        pass
"""


def test_an_arm_that_is_none_is_told_with_its_place_by_race_and_check(race, tmp_path, capsys):
    (tmp_path / "mine.py").write_text(POLICY)
    said = (
        "`_choose` of mine.py:OutsidePolicy gave 99: return integers of shape (1,), an arm of 0.."
    )
    told = raced(capsys, "mine.py:Outside", "sklearn:iris", "--budget", "20")[0]
    asked = (
        "leaseboard.tasks.jobs.described:broken_promise",
        Path("mine.py"),
        "mine.py:Outside",
        "audit",
    )

    assert told["reason"] == f"{said}15 for each run"
    assert quarantine.ask(*asked) == f"BrokenPromiseError: {said}3 for each run"


@pytest.mark.parametrize("algorithm", ["mine.py:Failing", "chacha"])
def test_debug_shows_where_a_job_crashed(race, tmp_path, monkeypatch, algorithm):
    """In a process of its own, where the code of users runs, or in ours."""
    (tmp_path / "mine.py").write_text(ALGORITHM.format(end="raise ValueError('no luck')"))
    monkeypatch.setattr(ChaCha, "run", unlucky)

    assert "Traceback" not in race(algorithm)[1]
    told = race(algorithm, "--debug")[1].splitlines()
    assert told[0] == "Traceback (most recent call last):"
    assert told[-2] == "ValueError: no luck"


def unlucky(*_, **__):
    raise ValueError("no luck")


def test_of_what_a_job_quotes_no_password_is_told_or_kept(race, tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "postgresql://me:hunter2secret@db/x")
    end = "import os; raise {}('no ' + os.environ['MLFLOW_TRACKING_URI'])"
    for error, status in (("ValueError", "crash"), ("DivergedError", "diverged")):
        (tmp_path / "mine.py").write_text(ALGORITHM.format(end=end.format(error)))
        told, complained, _ = race("mine.py:Failing")

        assert told["status"] == status
        assert "no postgresql://me:***@db/x" in told["reason"]
        assert "***@db" in complained
    kept = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {"result.json", "log.txt"} <= {path.name for path in kept}
    assert not [path for path in kept if b"hunter2secret" in path.read_bytes()]


def test_a_store_in_trouble_costs_the_record_and_not_the_result(race, tmp_path):
    (tmp_path / "file").write_text("")
    store = f"sqlite:///{tmp_path / 'file' / 'mlflow.db'}"
    for option in (["--track"], ["--register", "mine"]):
        told, complained, code = race("vanilla", *option, "--tracking-uri", store)

        assert (told["status"], code) == ("ok", 2)
        assert told["score"] > 0
        assert store in complained


def test_a_run_that_nobody_can_be_compared_with_is_not_registered(race, tmp_path):
    (tmp_path / "mine.py").write_text(ALGORITHM.format(end="yield from bench.record([0.0])"))
    store = tmp_path / "mlflow.db"
    for algorithm, why in (
        ("best-in-hindsight", "declares hindsight"),
        ("mine.py:Failing", "ended early: 1 of 442 examples"),
    ):
        uri = ["--tracking-uri", f"sqlite:///{store}"]
        told, complained, code = race(algorithm, "--register", "mine", *uri)

        assert (told["status"], code) == ("ok", 64)
        assert f"not registered: {algorithm} on {DATA}: {why}" in complained
    assert not store.exists()


def test_a_whole_system_that_leaves_no_model_is_refused_before_it_runs(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as stop:
        main(["race", "lightgbm-default", "sklearn:iris", "--register", "mine"])
    complained = capsys.readouterr().err

    assert stop.value.code == 64
    assert "lightgbm-default is a whole system, which keeps what it found" in complained
    assert "fit PolicyClassifier or PolicyRegressor" in complained
    assert not (tmp_path / "runs").exists()


def test_a_full_disk_costs_the_file_and_not_the_result(race, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("leaseboard.tasks.folder.results.write_atomically", full)
    told, complained, code = race("vanilla")

    assert (told["status"], code) == ("ok", 2)
    assert "No space left on device" in complained


def test_a_comparison_that_fails_costs_the_skill_and_not_the_result(race, monkeypatch):
    def gone(*_, **__):
        raise OSError(2, "No such file or directory")

    monkeypatch.setattr("leaseboard.tasks.jobs.skill.with_skill", gone)
    told, complained, code = race("vanilla")

    assert (told["status"], code) == ("ok", 2)
    assert "No such file or directory" in complained
    assert list(Path("runs/race").glob("*/result.json"))


def test_what_a_store_prints_stays_off_the_json(race, monkeypatch):
    monkeypatch.setattr("leaseboard.tasks.track.log_race", lambda *_: print("View run at ..."))
    told, complained, code = race("vanilla", "--track")

    assert (told["status"], code) == ("ok", 0)
    assert "View run at" in complained


@pytest.mark.parametrize(
    ("end", "code"),
    [
        ("from leaseboard.algorithms.errors import UsageError; raise UsageError('no')", 64),
        ("import os, signal, time; os.kill({parent}, signal.SIGINT); time.sleep(60)", 130),
        ("import os, signal, time; os.kill({parent}, signal.SIGTERM); time.sleep(60)", 143),
    ],
    ids=["usage", "SIGINT", "SIGTERM"],
)
def test_wrong_usage_and_ctrl_c_leave_nothing_behind(tmp_path, monkeypatch, capsys, end, code):
    """Ctrl-C comes to the command; the same exception out of a user's file is a crash."""
    monkeypatch.chdir(tmp_path)
    text = ALGORITHM.format(end=end.format(parent=os.getpid()))
    (tmp_path / "mine.py").write_text(text)
    with pytest.raises(SystemExit) as stop:
        main(["race", "mine.py:Failing", DATA])

    assert stop.value.code == code, capsys.readouterr()
    assert not (tmp_path / "runs").exists()


PIPELINES = """
from sklearn.tree import DecisionTreeClassifier

class Broken(DecisionTreeClassifier):
    def fit(self, X, y, sample_weight=None, check_input=True):
        raise RuntimeError("planted")

PIPELINES = {"good": DecisionTreeClassifier(max_depth=2), "broken": Broken()}
"""


def test_a_path_among_the_settings_is_text_and_failed_configurations_are_told(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pipes.py").write_text(PIPELINES)
    settings = ["--set", "pipelines=pipes.py", "--set", "initial_rows=100"]
    with pytest.raises(SystemExit) as stop:
        main(["race", "full-run", "sklearn:breast_cancer", *settings, "--json"])
    said = capsys.readouterr()

    assert stop.value.code == 0, said.err
    assert json.loads(said.out.splitlines()[-1])["bench_options"]["pipelines"].endswith("pipes.py")
    assert "configuration 1 failed: " in said.err
    assert "planted" in said.err


def test_measures_and_skill_over_the_best_first_try_are_told(race, capsys):
    told, _, code = race("chacha")
    with pytest.raises(SystemExit):
        main(["race", "last-label", DATA])
    said = capsys.readouterr().out

    assert code == 0
    assert {"rmse", "mae", "r2", "skill"} <= told["metrics"].keys()
    assert "measured: rmse " in said
    assert " over online-ridge" in said


def test_what_is_of_the_logarithm_of_the_target_is_said_so(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    x = np.random.default_rng(0).normal(size=200)
    pd.DataFrame({"x": x, "y": 50 * np.exp(x)}).to_csv("sales.csv", index=False)

    def said(*arguments):
        with pytest.raises(SystemExit):
            main(["race", "running-mean", "file:sales.csv", *arguments])
        return capsys.readouterr().out.splitlines()

    score, measured = said()[:2]
    assert " of the log target in " in score
    assert measured.endswith(" over online-ridge, all of the target itself")
    assert "log target" not in said("--metric", "rmse")[0]
    for given, is_log in (((), True), (("--metric", "rmse"), False),
                          (("--set", "log_target=false"), False)):  # fmt: skip
        assert json.loads(said(*given, "--json")[-1])["of_log_target"] == is_log
    score, measured = said("--set", "log_target=false")[:2]
    assert "log target" not in score
    assert measured.endswith(" over online-ridge")


def test_a_measure_is_told_in_the_place_of_the_score(race):
    told, _, code = race("chacha", "--metric", "r2")

    assert code == 0
    assert (told["metric"], told["direction"]) == ("r2", "max")
    assert told["score"] == told["metrics"]["r2"]


@pytest.mark.parametrize("metric", ["kappa", "kapa"])
def test_a_measure_that_the_job_cannot_have_is_refused_before_it_runs(metric, capsys, tmp_path):
    with pytest.raises(SystemExit) as stop:
        main(["race", "chacha", DATA, "--metric", metric, "--out", str(tmp_path / "out")])

    assert stop.value.code == 64
    assert f"metric {metric!r}" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_measure_that_is_not_defined_is_said_to_be_none(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("one.csv").write_text("a,y\n1,u\n2,u\n3,v\n")
    told, said, code = raced(
        capsys, "last-label", "file:one.csv", "--metric", "kappa", "--set", "max_rows=2"
    )

    assert (told["metric"], "kappa" in told["metrics"], code) == ("progressive_error", False, 0)
    assert said.count("--metric kappa is not defined for what came of this run: its score is") == 1


@pytest.fixture
def beans(tmp_path, monkeypatch):
    """A table of three kinds that two columns tell apart, in the current folder."""
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(0)
    x = random.normal(size=(400, 2))
    kinds = np.array(["white", "red", "black"])[np.digitize(x[:, 0], [-0.5, 0.5])]
    frame = pd.DataFrame({"a": x[:, 0], "kind": kinds, "b": x[:, 1]})
    frame.to_csv("beans.csv", index=False)
    return "beans.csv"


def raced(capsys, *arguments):
    with pytest.raises(SystemExit) as stop:
        main(["race", *arguments, "--json"])
    said = capsys.readouterr()
    return json.loads(said.out.splitlines()[-1]), said.err, stop.value.code


def test_three_kinds_are_raced(beans, capsys):
    told, _, code = raced(capsys, "chacha", beans, "--target", "kind")
    kinds = list(told["champion"])

    assert code == 0
    assert told["metric"] == "progressive_error"
    assert told["score"] < 0.3
    assert {"error", "log_loss", "kappa", "kappa_temporal", "skill"} <= told["metrics"].keys()
    assert {*kinds} == {"white", "red", "black"}
    assert "learning_rate" not in told["champion"][kinds[0]]
    assert all("learning_rate" in told["champion"][kind] for kind in kinds[1:])


def test_who_takes_two_classes_is_skipped_and_says_so(beans, capsys):
    told, complained, code = raced(capsys, "chacha-paper", beans, "--target", "kind")
    reason = "chacha-paper forecasts numbers or two classes, and the stream has 3: leave it out"

    assert (told["status"], told["reason"], code) == ("skipped", reason, 3)
    assert reason in complained


def test_the_champion_is_told_in_the_names_of_columns(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(1500, 3)), columns=["office hours", "<b>, hot", "noise"])
    table["load"] = 5 * table["office hours"] * table["<b>, hot"]
    table.to_csv("load.csv", index=False)
    tune = ("--set", "tune=interactions")
    with pytest.raises(SystemExit):
        main(["race", "chacha", "file:load.csv?target=load", *tune])
    with pytest.raises(SystemExit):
        main(["race", "chacha", "file:load.csv?target=load", *tune, "--json"])
    said = capsys.readouterr().out.splitlines()

    assert "champion: '<b>, hot' × office hours; learning_rate=0.5" in said
    assert json.loads(said[-1])["champion"]["interactions"] == ["'<b>, hot' × office hours"]


def test_one_class_for_all_rows_is_said(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    rare = np.where(rng.random(400) < 0.05, "sick", "well")
    pd.DataFrame({"x": rng.normal(size=400), "y": rare}).to_csv("rare.csv", index=False)
    with pytest.raises(SystemExit) as stop:
        main(["race", "apple", "file:rare.csv"])

    told = capsys.readouterr()
    assert stop.value.code == 0
    assert "test_error" in told.out
    assert "one class is predicted for all test rows, which have more: leave scale" in told.err


@pytest.mark.parametrize(
    ("given", "used", "available", "said"),
    [
        ((), 100_001, 100_001, ""),
        (("--set", "max_rows=300"), 300, 100_001, "300 of 100,001"),
        (("--budget", "200"), 200, 100_001, "200 of 100,001"),
        (("?rows=400",), 400, 100_001, "400 of 100,001"),
        (("?first_rows=500",), 500, None, "500, and the source may have more"),
    ],
)
def test_rows_that_a_race_leaves_out_are_said(
    tmp_path, monkeypatch, capsys, given, used, available, said
):
    monkeypatch.chdir(tmp_path)
    rows = np.random.default_rng(0).random((100_001, 2))
    pd.DataFrame(rows, columns=["x", "y"]).to_csv("long.csv", index=False)
    reference, options = "long.csv", given
    if given and given[0].startswith("?"):
        reference, options = reference + given[0], ()
    told = raced(capsys, "running-mean", reference, *options)[0]
    with pytest.raises(SystemExit):
        main(["race", "running-mean", reference, *options])
    printed = capsys.readouterr().out

    assert (told["units"], told["rows"], told["rows_available"]) == (used, used, available)
    assert (f"Rows used: {reference}: {said}." in printed) == bool(said)
    assert ("Rows used" in printed) == bool(said)


def test_a_race_of_too_many_configurations_warns_in_one_line(tmp_path):
    command = ["race", "chacha-paper", "synthetic:mv?rows=10000", "--set", "coefficient=0.01",
               "--set", "encoding=codes"]  # fmt: skip
    ended = subprocess.run([sys.executable, "-m", "leaseboard", *command, "--out", str(tmp_path)],
                           capture_output=True, text=True, check=True)  # fmt: skip
    (line,) = [line for line in ended.stderr.splitlines() if "arning" in line]
    assert line.startswith("leaseboard: warning: 10,")
    assert "raise coefficient, which is 0.01 (the paper's: 0.05)" in line


def test_the_naive_baselines_of_a_race_are_named_timed_and_left_out_when_asked(race):
    told = race("chacha")[0]
    alone = race("chacha", "--no-baselines")[0]

    assert told["baseline"] in ("running-mean", "last-label", "seasonal-last", "online-ridge")
    assert told["metrics"]["relative_loss"] == pytest.approx(1 - told["metrics"]["skill"])
    assert told["baselines_cpu_seconds"] > 0
    assert not {"skill", "relative_loss"} & alone["metrics"].keys()
    assert alone["score"] == told["score"]
