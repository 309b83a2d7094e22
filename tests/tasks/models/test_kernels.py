"""Processes that compile ahead start where kernels are missing, and end with what they help."""

import os
import subprocess
import sys
import time

import pytest

from leaseboard.tasks.processes.watchdog import is_over

PROGRAM = """
import os, sys, time, psutil
os.cpu_count = lambda: 2
from leaseboard.tasks.models.kernels import helped
with helped(at_once=True):
    print(*(child.pid for child in psutil.Process().children()), flush=True)
    if sys.argv[1] == "wait":
        time.sleep(60)
print(len(psutil.Process().children()), flush=True)
"""


@pytest.fixture
def program(tmp_path):
    """Return what starts a program that asks for help, with a cache of its own."""
    environment = os.environ | {"LEASEBOARD_CACHE": str(tmp_path)}
    started = []

    def start(word):
        command = [sys.executable, "-c", PROGRAM, word]
        process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()
        process.stdout.close()


def test_a_helper_ends_with_what_it_helps(program):
    helper, left = program("end").communicate()[0].splitlines()
    assert int(helper)
    assert left == "0"


def test_a_helper_does_not_outlive_a_killed_process(program):
    process = program("wait")
    helper = int(process.stdout.readline())
    time.sleep(0.5)  # it compiles, or imports
    assert not is_over(helper)
    process.kill()
    deadline = time.monotonic() + 60
    while not is_over(helper) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert is_over(helper)


def test_no_helper_starts_if_a_race_has_been_compiled(program, tmp_path):
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "take_one-0.kernel").touch()
    assert program("end").communicate()[0].splitlines() == ["", "0"]
