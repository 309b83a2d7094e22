"""A run or a service that is stopped from outside keeps what it has, and leaves nothing."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from leaseboard.algorithms.events import write_log
from leaseboard.flows import cli, dispatch
from leaseboard.flows import server as service
from leaseboard.tasks.folder import results
from leaseboard.tasks.jobs.job import Result
from tests.flows.waiting import free_port, until
from tests.sweep import query

SLEEPER = '''
import subprocess
from pathlib import Path
from leaseboard.algorithms.chacha.presets import Vanilla

class Sleeper(Vanilla):
    """Leave a child in a session of its own and never end."""

    def run(self, env, seed):
        child = subprocess.Popen(["sleep", "60"], start_new_session=True)
        Path(__file__).with_name("asleep").touch()
        child.wait()
        yield from super().run(env, seed)
'''
SUITE = """
title: One ends, one does not
data: ["synthetic:fried?rows=300&seed=0"]
baselines: false
algorithms: [vanilla, "sleeper.py:Sleeper"]
"""


def test_sigterm_leaves_what_is_finished_and_no_process(tmp_path, empty_store, zygote):
    (tmp_path / "sleeper.py").write_text(SLEEPER)
    (tmp_path / "suite.yaml").write_text(SUITE)
    out = tmp_path / "out"
    store = f"sqlite:///{shutil.copy(empty_store, tmp_path)}"
    words = ["run", "suite.yaml", "--local", "--workers", "2", "--tracking-uri", store]
    complained = tmp_path / "complained"
    with complained.open("w") as err, Path(os.devnull).open("w") as nothing:
        command = ["-m", "leaseboard", *words, "--run-dir", out]
        process = zygote.start(command, cwd=tmp_path, out=nothing, err=err)
    until(
        lambda: list(out.glob("jobs/*/result.json")) and (tmp_path / "asleep").exists(),
        process, complained.read_text,
    )  # fmt: skip

    def below():
        found = psutil.Process(process.pid).children(recursive=True)
        return found if "sleep" in {each.name() for each in found} else []  # a fork at first

    family = until(below)
    process.send_signal(signal.SIGTERM)
    code = process.wait(240)
    _, alive = psutil.wait_procs(family, timeout=240)

    assert not alive
    assert code == 143, complained.read_text()
    assert "1 finished job kept" in complained.read_text().strip().splitlines()[-1]
    assert [result.name for result in results.read_results(out)] == ["vanilla"]
    assert not query(tmp_path / "mlflow.db", "select * from runs where status = 'RUNNING'")


@pytest.fixture
def home(tmp_path):
    """Return a run folder with one finished job and one that failed."""
    for key, status in (("a", "ok"), ("b", "crash")):
        row = Result(
            key=key, algorithm="vanilla", name="vanilla", data="d", digest="", seed=0,
            environment_seed=0, repetition=0, status=status, reason="" if status == "ok" else "x",
            score=0.5 if status == "ok" else None,
        )  # fmt: skip
        write_log(results.begin(tmp_path, key) / results.EVENTS, [])
        results.finish(tmp_path, row)
    return tmp_path


def interrupt():
    raise KeyboardInterrupt


def hang_up():
    os.kill(os.getpid(), signal.SIGHUP)
    signal.pause()


@pytest.mark.parametrize(
    ("stop", "code", "who"), [(interrupt, 130, "the user"), (hang_up, 129, "SIGHUP")]
)
def test_the_command_says_what_is_kept_and_how_to_go_on(
    home, monkeypatch, capsys, stop, code, who
):
    monkeypatch.setattr(dispatch, "open_suites", lambda *_, **__: [(None, home)])
    monkeypatch.setattr(dispatch, "execute", lambda *_, **__: stop())
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # under nohup it is ignored
    try:
        with pytest.raises(SystemExit) as stopped:
            cli.main(["run", "any"])
    finally:
        signal.signal(signal.SIGHUP, before)

    assert stopped.value.code == code
    assert capsys.readouterr().err.strip() == (
        f"leaseboard: stopped by {who}: 1 finished job kept in {str(home)!r};"
        " run the same command again to resume"
    )


ROOT = Path(__file__).resolve().parents[2]
LISTENER = """
import socket, sys, time
with socket.create_server(("127.0.0.1", int(sys.argv[sys.argv.index("--port") + 1]))):
    time.sleep(600)
"""
LEADER = f"""
import subprocess, sys
raise SystemExit(subprocess.call([sys.executable, "-c", {LISTENER!r}, *sys.argv[1:]]))
"""
"""Passes no signal on to the process that listens, as MLflow's command does not."""

COMMAND = """
import runpy, signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell may have set to ignore
runpy.run_module("leaseboard", run_name="__main__", alter_sys=True)
"""


@pytest.fixture
def port():
    return free_port()


ELSEWHERE = "http://127.0.0.1:9"
"""A store that the command need not make, for which it would need the real MLflow."""


@pytest.mark.parametrize(
    ("number", "status"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -signal.SIGKILL)],
)
def test_the_ui_s_server_ends_with_the_command(tmp_path, port, number, status):
    """MLflow's place is taken by a command that passes no signal on, which is what matters."""
    (tmp_path / "mlflow").mkdir()
    (tmp_path / "mlflow" / "__init__.py").touch()
    (tmp_path / "mlflow" / "__main__.py").write_text(LEADER)
    process = subprocess.Popen(
        [sys.executable, "-c", COMMAND, "ui", "--port", str(port), "--tracking-uri", ELSEWHERE],
        cwd=tmp_path, env=os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"},
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    until(lambda: service.answers(port) or process.poll() is not None)
    family = psutil.Process(process.pid).children(recursive=True)
    assert len(family) == 3  # the leash, and the server's two
    process.send_signal(number)
    _, complained = process.communicate(timeout=240)

    assert process.returncode == status, complained
    _, alive = psutil.wait_procs(family, timeout=240)
    assert not alive
    assert not service.answers(port)
