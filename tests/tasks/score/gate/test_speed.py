"""The speed gate on a tiny repository, in whose history the code becomes slower."""

import dataclasses
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import psutil
import pytest

from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.jobs.job import Job
from leaseboard.tasks.jobs.suites.suite import Suite
from leaseboard.tasks.score.gate.speed import compare, exported, judge, markdown, timed

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[4]
JOB = Job("vanilla", "x", 0, 0, name="vanilla")
RUN = """
import time
from types import SimpleNamespace

def run_job(job, folder, *, mirrors):
    started = time.process_time()
    for _ in range({rounds}):
        pass
    spent = time.process_time() - started
    return SimpleNamespace(status="{status}", cpu_seconds=spent), None
"""
FIELDS = " ".join(field.name for field in dataclasses.fields(Job))


def git(root, *words):
    author = ["-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run(["git", "-C", root, *author, *words], check=True, capture_output=True)


@pytest.fixture
def history(tmp_path):
    """Return a function that commits a tree whose jobs take so many rounds."""
    root = tmp_path / "repo"
    for room in ("machine", "jobs"):
        (root / "tasks" / room).mkdir(parents=True)
        (root / "tasks" / room / "__init__.py").write_text("")
    git(root, "init", "--quiet")
    (root / "tasks" / "__init__.py").write_text("")
    (root / "leaseboard").mkdir()
    (root / "leaseboard" / "__init__.py").touch()
    (root / "leaseboard" / "tasks").symlink_to("../tasks")  # as in the real one
    (root / "tasks" / "machine" / "environment.py").write_text("def prepare_environment(): pass\n")
    (root / "tasks" / "jobs" / "job.py").write_text(
        f"from collections import namedtuple\nJob = namedtuple('Job', '{FIELDS}')\n"
    )

    def commit(rounds, status="ok", code=RUN):
        text = code.format(rounds=rounds, status=status)
        (root / "tasks" / "jobs" / "run.py").write_text(text)
        git(root, "add", "-A")
        git(root, "commit", "--quiet", "-m", "x")
        return root

    return commit


@pytest.fixture
def scratch(tmp_path, monkeypatch):
    """Return where temporary folders are made."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return folder


def records(root):
    """Return what git keeps of the checkout."""
    return sorted(path.relative_to(root) for path in (root / ".git").rglob("*"))


def test_a_planted_slow_down_is_found_and_nothing_is_left_behind(history, scratch):
    history(100_000)
    root = history(300_000)
    before = records(root)
    (speed,), incomparable = compare([JOB], "HEAD~1", root=root)

    assert speed.slower
    assert 1.5 < speed.ratio.value < 6
    assert speed.ratio.lower > 1
    assert incomparable == []
    assert records(root) == before
    assert not list(scratch.iterdir())


def test_a_commit_against_its_own_tree_passes(history):
    root = history(300_000)
    (speed,), _ = compare([JOB], "HEAD", root=root, tolerance=0.5)

    assert not speed.slower


def test_a_commit_or_a_history_that_does_not_exist_is_named(history, tmp_path):
    with pytest.raises(UsageError, match="'nowhere' is not a commit"):
        compare([JOB], "nowhere", root=history(1))
    with pytest.raises(UsageError, match="is not a commit of the checkout"), \
            exported(tmp_path, "HEAD"):  # fmt: skip
        pass


def test_a_tree_that_cannot_run_a_job_is_named_and_the_others_are_compared(history):
    for status, code, words in (
        ("crash", RUN, "ended as crash"),
        ("ok", "import nothing_like_it\n", "nothing_like_it"),
        ("ok", "def run_job(*_, **__): raise KeyError('what')\n", "KeyError: 'what'"),
    ):
        root = history(1, status, code)
        found, (first, second) = compare([JOB, JOB], "HEAD", root=root)
        assert found == []
        assert re.search(f"HEAD.*{words}", first)
        assert re.search(f"HEAD.*{words}", second)
        assert f"- not comparable: {first}" in markdown(found, [first], "HEAD")


GATE = """
import sys
from pathlib import Path
from leaseboard.flows.console import terminable
from leaseboard.tasks.jobs.job import Job
from leaseboard.tasks.score.gate.speed import compare

with terminable():
    compare([Job("vanilla", "x", 0, 0, name="vanilla")], "HEAD", root=Path(sys.argv[1]))
"""


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_a_gate_that_is_stopped_leaves_nothing_in_the_checkout(history, scratch, stop):
    root = history(10**12)
    before = records(root)
    gate = subprocess.Popen([sys.executable, "-c", GATE, root], cwd=ROOT, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 240
    while not list(scratch.glob("leaseboard-*/tasks/jobs/run.py")):
        assert gate.poll() is None, gate.stderr.read()
        assert time.monotonic() < deadline, "the commit was never exported"
        time.sleep(0.05)
    time.sleep(0.5)
    family = psutil.Process(gate.pid).children(recursive=True)
    gate.send_signal(stop)
    gate.communicate()

    assert gate.returncode in (143, -stop, 1)
    assert psutil.wait_procs(family, timeout=240)[1] == []
    assert records(root) == before
    if stop != signal.SIGKILL:
        assert not list(scratch.iterdir())


def test_slower_is_beyond_the_tolerance_and_beyond_chance():
    for after, slower in (
        ([1.2, 1.21, 1.19], True),
        ([1.05] * 3, False),
        ([1.5, 0.6, 1.4], False),
    ):
        speed = judge(JOB, np.column_stack([np.ones(3), after]), tolerance=0.1)
        assert speed.slower is slower
        verdict = "**slower**" if slower else "passed"
        assert f"| {verdict} | vanilla | x |" in markdown([speed], [], "HEAD~1")


def test_only_work_that_is_done_again_is_timed():
    suite = Suite(
        title="t", data=["sklearn:iris"], algorithms=["vanilla", "apple", "abc"], repetitions=2
    )

    assert [(j.name, j.repetition) for j in timed(suite.jobs())] == [("vanilla", 0), ("apple", 0)]
