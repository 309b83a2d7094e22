"""The steps as plain functions, and what the tasks of Prefect add."""

import subprocess
import sys

import pytest

from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.steps import plain

FETCH = """
import os, sys, tempfile
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from leaseboard.tasks.steps import plain

make, both = tempfile.mkdtemp, Barrier(2)

def make_at_once(*given, **named):
    both.wait(60)
    return make(*given, **named)

tempfile.mkdtemp = make_at_once
plain.prepared.fetch_into = lambda folder, _: folder
with ThreadPoolExecutor() as threads:
    folders = [*threads.map(plain.fetch, "ab")]
if not (child := os.fork()):
    sys.exit()
os.waitpid(child, 0)
print(*(folder.is_dir() for folder in folders))
"""


def test_a_folder_of_this_process_stays_with_threads_and_forks():
    done = subprocess.run([sys.executable, "-c", FETCH], capture_output=True, check=True)
    assert done.stdout.split() == [b"True", b"True"], done.stderr


def test_no_leaderboard_is_made_of_nothing():
    with pytest.raises(UsageError, match="results to compare are missing"):
        plain.score([])


def test_artifacts_of_two_suites_have_two_histories():
    from leaseboard.tasks.steps.prefect_tasks import artifact_key

    assert artifact_key("quick", "leaderboard") == "quick-leaderboard"
    keys = {artifact_key(name, "leaderboard") for name in ("日本", "売上", "a b", "a.b", "a_b")}
    assert len(keys) == 5
    assert all(set(key) <= set("abcdefghijklmnopqrstuvwxyz0123456789-") for key in keys)
