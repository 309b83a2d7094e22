"""A run that is stopped from outside says in one line what it kept."""

import os
import signal

import pytest

from flows import cli
from flows.commands import run as command
from flows.interruption import InterruptedRunError, resumable, terminable
from tasks import results
from tasks.jobs import Result


@pytest.fixture
def home(tmp_path):
    """A run folder with one finished job and one that failed."""
    for key, status in (("a", "ok"), ("b", "crash")):
        row = Result(
            key=key, algorithm="vanilla", label="vanilla", data="d", digest="", seed=0,
            environment_seed=0, repetition=0, status=status, reason="" if status == "ok" else "x",
            score=0.5 if status == "ok" else None,
        )  # fmt: skip
        results.finish(tmp_path, row)
    return tmp_path


def interrupt():
    raise KeyboardInterrupt


def terminate():
    os.kill(os.getpid(), signal.SIGTERM)
    signal.pause()


@pytest.mark.parametrize(
    ("stop", "code", "who"), [(interrupt, 130, "the user"), (terminate, 143, "SIGTERM")]
)
def test_the_command_says_what_is_kept_and_how_to_go_on(
    home, monkeypatch, capsys, stop, code, who
):
    monkeypatch.setattr(command, "open_suite", lambda *_: (None, home))
    monkeypatch.setattr(command, "run_and_report", lambda *_, **__: stop())
    with pytest.raises(SystemExit) as stopped:
        cli.main(["run", "any"])

    assert stopped.value.code == code
    assert capsys.readouterr().err.strip() == (
        f"leaseboard: stopped by {who}: 1 finished job kept in {str(home)!r};"
        " run the same command again to resume"
    )


def test_sigterm_means_what_it_meant_before_once_the_run_is_over():
    before = signal.getsignal(signal.SIGTERM)
    with terminable():
        assert signal.getsignal(signal.SIGTERM) is not before
    assert signal.getsignal(signal.SIGTERM) is before


def test_another_exit_is_no_interruption(home):
    with pytest.raises(SystemExit, match="7"), resumable(home):
        raise SystemExit(7)


def test_an_interruption_before_any_result_keeps_nothing(tmp_path):
    with pytest.raises(InterruptedRunError, match="0 finished jobs kept"), resumable(tmp_path):
        interrupt()
