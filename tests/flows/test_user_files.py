"""A user's file is imported in other processes only, and whatever it does there costs one line."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import psutil
import pytest

from algorithms import user_files
from algorithms.errors import SettingError, UsageError, UserFileError
from flows.cli import main
from tasks import quarantine, results
from tasks.config import Limits
from tasks.described import describe

SOUND = """
import os
with open({pids!r}, "a") as pids:
    pids.write(str(os.getpid()) + "\\n")

import numpy as np
from pydantic.dataclasses import dataclass
from algorithms.base import Algorithm

@dataclass(frozen=True, kw_only=True)
class Mine(Algorithm):
    bench = "stream"
    depth: int = 3

    def run(self, bench, seed):
        yield from bench.record(np.zeros(bench.budget, dtype=np.float32))
"""

ENDS = {
    "sys.exit": ("import sys\n\nsys.exit(0)", "3: SystemExit: 0"),
    "os._exit": ("import os\ndef end():\n    os._exit(0)\nend()",
                 "3: its process ended with exit code 0"),
    "raises": ("x = 1\nraise RuntimeError('at import\\nof two lines')",
               "2: RuntimeError: at import"),
    "interrupt": ("raise KeyboardInterrupt", "1: KeyboardInterrupt"),
    "syntax": ("x = 1\ny = (", "2: SyntaxError: '(' was never closed"),
    "library": ("import json\njson.loads('{')", "2: JSONDecodeError: Expecting property name"),
    "segfault": ("import ctypes\nctypes.string_at(0)", "2: killed by SIGSEGV"),
    "unnamed": ("import os\nos.kill(os.getpid(), 40)", "2: killed by signal 40"),
    "hangs": ("import time\ntime.sleep(600)", "2: over the limit of 2 s of wall time"),
    "spins": ("x = 0\nwhile True: x += 1", "2: over the limit of 1 s of CPU time"),
    "eats": ("x = []\nwhile True:\n    x.append(bytearray(10**8))", "3: MemoryError"),
    "prints": ("print('x' * 10_000_000)\nraise SystemExit", "2: SystemExit"),
    "closes": ("import os\nos.closerange(0, 200)\n1 / 0", "3: its process ended with exit code 1"),
    "parent": ("import os\nos.kill(os.getppid(), 9)\nimport time\ntime.sleep(600)", ""),
    "bench": ("from algorithms.base import Algorithm\nclass X(Algorithm): bench = 'no'", ""),
}  # fmt: skip


@pytest.mark.parametrize("end", ENDS)
def test_whatever_an_import_does_is_one_line_with_the_place(tmp_path, monkeypatch, end, capfd):
    text, said = ENDS[end]
    wall, cpu = {"hangs": (2, 60), "spins": (120, 1)}.get(end, (120, 60))
    limits = Limits(wall_seconds=wall, cpu_seconds=cpu, memory_mb=1500)
    monkeypatch.setattr(quarantine, "IMPORT", limits)
    file = tmp_path / "ends.py"
    file.write_text(text)
    with pytest.raises(UserFileError) as error:
        describe(f"{file}:X", {})

    assert str(error.value).startswith(f"{file}:{said}")
    assert "\n" not in str(error.value)
    assert capfd.readouterr().out == ""


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("raise RuntimeError('in init')", "in init"),
        ("sys.exit(0)", "SystemExit: 0"),
        ("os._exit(0)", "its process ended with exit code 0"),
    ],
)
def test_an_algorithm_that_cannot_be_made_is_one_line_with_the_place(tmp_path, body, said):
    file = tmp_path / "init.py"
    file.write_text(
        "import os, sys\n"
        + SOUND.format(pids=os.devnull)
        + f"\n    def __post_init__(self):\n        {body}\n"
    )
    line = file.read_text()[: file.read_text().index(body)].count("\n") + 1
    with pytest.raises(UserFileError, match=f"init.py:{line}: .*{said}"):
        describe(f"{file}:Mine", {})


def test_what_a_sound_file_holds_is_known_as_if_it_were_imported(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(SOUND.format(pids=str(tmp_path / "pids")))
    found = describe(f"{file}:Mine", {"depth": "7"})

    assert (found.bench, found.settings) == ("stream", ("depth",))
    with pytest.raises(UsageError, match="did you mean 'Mine'"):
        describe(f"{file}:Mien")
    with pytest.raises(SettingError, match="did you mean 'depth'") as error:
        describe(f"{file}:Mine", {"deph": 1})
    assert error.value.setting == "deph"
    with pytest.raises(SettingError, match="depth='deep'"):
        describe(f"{file}:Mine", {"depth": "deep"})
    with pytest.raises(UsageError, match=r"no algorithm file .*absent\.py"):
        describe(f"{tmp_path / 'absent.py'}:Mine")


def test_a_file_is_asked_once_until_it_changes(tmp_path):
    pids, file = tmp_path / "pids", tmp_path / "mine.py"
    file.write_text(SOUND.format(pids=str(pids)))
    for _ in range(5):
        describe(f"{file}:Mine", {})
    assert len(pids.read_text().split()) == 1
    file.write_text("raise ValueError")
    for _ in range(3):
        with pytest.raises(UserFileError, match=r"mine\.py:1: ValueError"):
            describe(f"{file}:Mine", {})


def test_a_mended_helper_is_asked_again(tmp_path):
    file, helper = tmp_path / "mine.py", tmp_path / "helper_that_is_mended.py"
    file.write_text("import helper_that_is_mended\n" + SOUND.format(pids=os.devnull))
    for text, said in (("1 / 0", "ZeroDivision"), ("None.x", "Attribute")):
        helper.write_text(text)
        with pytest.raises(UserFileError, match=rf"mine\.py:1: {said}Error"):
            describe(f"{file}:Mine", {})
    helper.write_text("")

    assert describe(f"{file}:Mine", {}).bench == "stream"


def test_nothing_that_an_import_starts_outlives_it(tmp_path):
    pid, file = tmp_path / "pid", tmp_path / "forks.py"
    file.write_text(
        "import os, sys, time\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        f"    open({str(pid)!r}, 'w').write(str(os.getpid()))\n"
        "    time.sleep(600)\n"
        f"while not (os.path.exists({str(pid)!r}) and os.path.getsize({str(pid)!r})):\n"
        "    time.sleep(0.01)\n"
        "raise ValueError\n"
    )
    with pytest.raises(UserFileError, match=r"forks\.py:8: ValueError"):
        describe(f"{file}:X", {})

    assert not psutil.pid_exists(int(pid.read_text()))


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_command_that_is_killed_leaves_no_import_running(tmp_path, number):
    pid = tmp_path / "pid"
    (tmp_path / "hangs.py").write_text(
        f"import os, time\nopen({str(pid)!r}, 'w').write(str(os.getpid()))\ntime.sleep(600)\n"
    )
    command = [sys.executable, "-m", "flows.cli", "check", "hangs.py:X"]
    root = os.pathsep.join(filter(None, sys.path))
    process = subprocess.Popen(command, cwd=tmp_path, env=os.environ | {"PYTHONPATH": root})
    until(lambda: pid.exists() and pid.stat().st_size)
    process.send_signal(number)
    process.wait()

    until(lambda: not psutil.pid_exists(int(pid.read_text())))


def until(holds, within=120.0):
    deadline = time.monotonic() + within
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.fixture
def command(tmp_path, monkeypatch, capfd, environment, empty_store):
    """Runs a command in a folder with a suite of vanilla and an own algorithm."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mlruns").mkdir()
    shutil.copy(empty_store, tmp_path / "mlruns" / "mlflow.db")
    (tmp_path / "s.yaml").write_text(
        "title: t\ndata: ['synthetic:fried?rows=200&seed=0']\n"
        "algorithms: [{name: 'mine.py:Mine', label: mine}, vanilla]\n"
    )

    def run(*arguments):
        with pytest.raises(SystemExit) as stop:
            main([*arguments])
        said = capfd.readouterr()
        return stop.value.code, said.out, said.err

    return run


DATA = "synthetic:fried?rows=200&seed=0"


@pytest.mark.parametrize(
    ("end", "runs"), [("sys.exit", ["run"]), ("os._exit", ["gate"])], ids=["sys.exit", "os._exit"]
)
def test_no_command_takes_the_end_of_a_file_for_a_success(command, tmp_path, end, runs):
    text, said = ENDS[end]
    (tmp_path / "mine.py").write_text(text)
    reason = f"mine.py:{said}"

    code, out, _ = command("plan", "s.yaml")
    assert code == 2
    assert reason in out
    assert "1 to run" in out
    for name in runs:
        code, out, _ = command(name, "s.yaml", "--local", "--workers", "1")
        assert code == 2
        found = {row.label: row for row in results.read_results(tmp_path / "runs" / "s")}
        assert (found["mine"].status, found["mine"].reason) == ("crash", reason)
        assert found["vanilla"].status == "ok"
    code, out, err = command("race", "mine.py:X", DATA, "--json", "--set", "any=1")
    assert code == 2
    told = json.loads(out.splitlines()[-1])
    assert (told["status"], told["reason"]) == ("crash", reason)
    assert reason in err
    code, out, err = command("check", "mine.py:X")
    assert (code, out) == (2, "")
    assert reason in err


def test_no_command_imports_a_user_s_file_in_its_own_process(command, tmp_path, monkeypatch):
    monkeypatch.setattr(user_files, "executed", set())
    pids = tmp_path / "pids"
    (tmp_path / "mine.py").write_text(SOUND.format(pids=str(pids)))
    (tmp_path / "oracle.py").write_text(
        "from algorithms.chacha.oracle import InteractionOracle as Bold\n"
        f"import os\nopen({str(pids)!r}, 'a').write(str(os.getpid()) + '\\n')\n"
    )
    (tmp_path / "pipes.py").write_text(
        "from sklearn.naive_bayes import GaussianNB\nPIPELINES = [GaussianNB()]\n"
        f"import os\nopen({str(pids)!r}, 'a').write(str(os.getpid()) + '\\n')\n"
    )
    for status, arguments in (
        (0, ["plan", "s.yaml"]),
        (0, ["accept", "s.yaml", "--local", "--workers", "1"]),
        (0, ["gate", "s.yaml", "--local", "--workers", "1"]),
        (0, ["race", "mine.py:Mine", DATA]),
        (0, ["race", "chacha", DATA, "--set", "tune=oracle.py:Bold", "--register", "bold"]),
        (0, ["race", "full-run", "sklearn:iris", "--set", "pipelines=pipes.py",
             "--set", "initial_rows=60", "--register", "piped"]),
        (64, ["race", "mine.py:Mine", DATA, "--register", "mine"]),  # it leaves no model
        (0, ["check", "mine.py:Mine"]),
    ):  # fmt: skip
        pids.write_text("")
        code, out, err = command(*arguments)
        assert code == status, out + err
        assert pids.read_text() or arguments[0] in {"plan", "gate"}, arguments
        assert str(os.getpid()) not in pids.read_text().split(), arguments
    assert not user_files.executed
    assert {"bold", "piped"} <= set(command("model", "list")[1].split())


def test_the_model_of_a_run_s_foreign_winner_is_registered_without_its_code(
    command, tmp_path, monkeypatch
):
    monkeypatch.setattr(user_files, "executed", set())
    (tmp_path / "oracle.py").write_text(
        "from algorithms.chacha.oracle import InteractionOracle as Bold\n"
    )
    (tmp_path / "s.yaml").write_text(
        f"title: t\ndata: ['{DATA}']\n"
        "algorithms: [{name: chacha, label: bold, settings: {tune: 'oracle.py:Bold'}}]\n"
    )
    assert command("run", "s.yaml", "--local", "--workers", "1")[0] == 0
    code, _, err = command("model", "register", "runs/s", "--name", "mine")

    assert code == 0, err
    assert "registered bold" in err
    assert not user_files.executed


def test_a_changed_oracle_is_another_job(command, tmp_path):
    oracle = tmp_path / "oracle.py"
    (tmp_path / "s.yaml").write_text(
        f"title: t\ndata: ['{DATA}']\n"
        "algorithms: [{name: chacha, settings: {tune: 'oracle.py:Bold'}}]\n"
    )
    keys = set()
    for text in ("class Bold: pass\n", "class Bold: pass  # said\n", "class Bold: x = 1\n", "("):
        oracle.write_text(text)
        code, out, _ = command("plan", "s.yaml")
        assert code == 0
        keys.add(out.splitlines()[1].split()[-3])

    assert len(keys) == 3


PIPES = """
from sklearn.tree import DecisionTreeClassifier
from helper import DEPTH
PIPELINES = [DecisionTreeClassifier(max_depth=DEPTH)]
"""


@pytest.mark.parametrize(
    ("algorithm", "bench"),
    [("full-run", "{pipelines: own/pipes.py}"), ("average", "{space: own/space.yaml}")],
)
def test_code_that_an_option_of_the_bench_names_counts(
    command, tmp_path, monkeypatch, algorithm, bench
):
    """Also what only its file imports: an edit of it alone is another job."""
    own = tmp_path / "own"
    own.mkdir()
    monkeypatch.syspath_prepend(own)
    (own / "pipes.py").write_text(PIPES)
    (own / "space.yaml").write_text("{title: t, source: s, arms: {a: {estimator: 'helper:Mine'}}}")
    (tmp_path / "s.yaml").write_text(
        f"title: t\ndata: ['sklearn:iris']\nalgorithms: [{algorithm}]\nbench: {bench}\n"
    )
    keys = []
    for text in ("DEPTH = 1", "DEPTH = 1  # said", "DEPTH = 23"):
        (own / "helper.py").write_text(text)
        code, out, err = command("plan", "s.yaml")
        assert code == 0, err
        keys.append(out.splitlines()[1].split()[-3])

    assert keys[0] == keys[1] != keys[2]


def test_two_modules_of_one_name_for_the_files_of_one_job_are_refused(command, tmp_path):
    """Which of them is imported hung on which of the files was run first."""
    for folder, text in (("a", SOUND.format(pids=os.devnull)), ("b", "class Other: pass\n")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "own.py").write_text("import helper\n" + text)
        (tmp_path / folder / "helper.py").write_text("")
    (tmp_path / "s.yaml").write_text(
        f"title: t\ndata: ['{DATA}']\n"
        "algorithms: [{name: 'a/own.py:Mine', settings: {other: 'b/own.py:Other'}}]\n"
    )
    own = tmp_path / "a" / "own.py"
    own.write_text(own.read_text().replace("depth: int = 3", "other: str = ''"))
    for arguments in (
        ["plan", "s.yaml"],
        ["race", "a/own.py:Mine", DATA, "--set", "other=b/own.py:Other"],
    ):
        code, _, err = command(*arguments)
        assert code == 64
        assert f"'helper' in {tmp_path / 'a'} and in {tmp_path / 'b'}: rename one" in err
        assert err.count("\n") == 1
    (tmp_path / "b" / "helper.py").rename(tmp_path / "b" / "helper_of_b.py")

    assert command("plan", "s.yaml")[0] == 0


def test_a_file_of_pipelines_that_is_not_there_is_refused(command):
    for name, said in (("none.py", "no file 'none.py'"), ("none.csv", "'none.csv' is no Python")):
        code, _, err = command("race", "full-run", "sklearn:iris", "--set", f"pipelines={name}")
        assert code == 64
        assert said in err


HELPED = """
import numpy as np
from pydantic.dataclasses import dataclass
from algorithms.base import Algorithm
from helper import SAID

@dataclass(frozen=True, kw_only=True)
class Helped(Algorithm):
    bench = "stream"

    def run(self, bench, seed):
        from lazily import FACTOR
        yield from bench.record(np.full(bench.budget, SAID * FACTOR, np.float32))
"""


def test_what_a_users_file_imports_from_beside_it_is_found_and_counts(command, tmp_path):
    """An edit of a helper alone is another job, wherever the command was called."""
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "mine.py").write_text(HELPED)
    (tmp_path / "own" / "lazily.py").write_text("FACTOR = 1")
    (tmp_path / "s.yaml").write_text(
        f"title: t\ndata: ['{DATA}']\nalgorithms: ['own/mine.py:Helped']\n"
    )
    scores, made = [], []
    for said in (0, 0, 5):
        (tmp_path / "own" / "helper.py").write_text(f"SAID = {said}")
        code, _, err = command("run", "s.yaml", "--local", "--workers", "1")
        assert code == 0, err
        scores.append(
            float(pd.read_parquet(tmp_path / "runs" / "s" / results.TABLE).score.iloc[0])
        )
        made.append(len(list((tmp_path / "runs" / "s" / "jobs").iterdir())))

    assert scores[0] == scores[1] != scores[2]
    assert made == [1, 1, 2]


SPACE = """
title: two learners
source: mine
arms:
  gbm:
    estimator: "lightgbm:LGBMClassifier"
    hyperparameters: {n_estimators: {type: int, low: 5, high: 20, default: 10}}
  trees:
    estimator: "sklearn.tree:DecisionTreeClassifier"
    hyperparameters: {max_depth: {type: int, low: 1, high: 5, default: 3}}
"""


def test_files_in_the_current_folder_hide_no_module_of_ours_or_of_libraries(
    tmp_path, environment, empty_store
):
    """Whatever they are called: neither in this process nor in those that it starts."""
    shutil.copy(empty_store, tmp_path / "m.db")
    for name in ("lightgbm", "calendar", "random", "tasks", "numpy", "logging"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('notes of mine')")
    (tmp_path / "space.yaml").write_text(SPACE)
    (tmp_path / "s.yaml").write_text(
        "title: t\ndata: ['sklearn:wine']\nalgorithms: [average]\nbudget: 4\n"
        "bench: {space: space.yaml}\n"
    )
    program = Path(sys.executable).with_name("leaseboard")
    words = ["run", "s.yaml", "--local", "--workers", "1", "--tracking-uri"]
    ended = subprocess.run(
        [program, *words, f"sqlite:///{tmp_path / 'm.db'}"], cwd=tmp_path, text=True,
        capture_output=True, check=False,
        env=os.environ | {"LEASEBOARD_CACHE": str(tmp_path / "cache")},
    )  # fmt: skip

    assert ended.returncode == 0, ended.stdout + ended.stderr
    (made,) = results.read_results(tmp_path / "runs" / "s")
    assert made.status == "ok"
    assert not made.metrics.get("failed_trials")
