"""Errors of orders that the sandbox cannot carry out."""

import signal

import pytest

from leaseboard.algorithms.errors import UsageError, UserFileError
from leaseboard.tasks.jobs import sandbox
from leaseboard.tasks.processes.limits import Limits

LIMITS = Limits(wall_seconds=240, cpu_seconds=60, memory_mb=4000)


def test_an_answer_that_comes_too_late_is_called_that():
    limits = LIMITS.model_copy(update={"wall_seconds": 0.2})
    with pytest.raises(UserFileError, match=r"over the limit of 0\.2 s of wall time"):
        sandbox.ask("time:sleep", None, 600, limits=limits)


def test_after_an_interruption_the_next_question_gets_its_own_answer(tmp_path):
    """As in a notebook: the process that was asked is still busy with the first question."""
    slow, quick = tmp_path / "slow.py", tmp_path / "quick.py"
    slow.write_text("import time; time.sleep(1)")
    quick.write_text("")

    def interrupt(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        with pytest.raises(KeyboardInterrupt):
            sandbox.ask(
                "leaseboard.tasks.jobs.described:description_of", slow, f"{slow}:Slow", None
            )
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)

    with pytest.raises(UsageError, match=r"quick\.py"):
        sandbox.ask(
            "leaseboard.tasks.jobs.described:description_of", quick, f"{quick}:Quick", None
        )
