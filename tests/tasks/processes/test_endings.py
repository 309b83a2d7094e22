"""One vocabulary of endings, whoever ran what ended."""

import signal
import subprocess
import sys

import pytest

from leaseboard.tasks.processes.forks import over_cpu, post_mortem


@pytest.mark.parametrize(
    ("code", "status", "reason"),
    [
        (0, "crash", "it ended with exit code 0"),
        (7, "crash", "it ended with exit code 7"),
        (-signal.SIGSEGV, "crash", "killed by SIGSEGV"),
        (-40, "crash", "killed by signal 40"),
        (-signal.SIGXCPU, "timeout", "over the limit of 2 s of CPU time"),
        (-signal.SIGPROF, "timeout", "over the limit of 2 s of CPU time"),
        (-9, "crash", "killed by SIGKILL (the system does that when memory runs out)"),
    ],
)  # fmt: skip
def test_an_exit_code_is_a_status_with_its_reason(code, status, reason):
    ending = post_mortem(code, "it", cpu_seconds=2)

    assert (ending.status, ending.reason) == (status, reason)
    assert ending.lasting is (code != -signal.SIGKILL)


def test_a_signal_of_the_clock_is_a_crash_where_there_was_no_limit():
    assert post_mortem(-signal.SIGXCPU, "it").status == "crash"


CONFINED = """
from leaseboard.tasks.processes.forks import confine
confine(cpu_seconds=0.2, memory_mb=300)
{}
"""


@pytest.mark.parametrize(
    ("code", "returncode", "said"),
    [("while True: pass", -signal.SIGXCPU, ""), ("bytearray(10**9)", 1, "MemoryError")],
)
def test_the_kernel_holds_a_confined_process_to_its_limits(code, returncode, said):
    command = [sys.executable, "-c", CONFINED.format(code)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=600)

    assert done.returncode == returncode
    assert said in done.stderr
    if not said:
        assert post_mortem(done.returncode, "it", 0.2) == over_cpu(0.2)
