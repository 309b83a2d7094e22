"""The pool contains what a job does: each ending has its status, and the next job runs."""

import threading
from functools import partial
from pathlib import Path

import psutil
import pytest

from leaseboard.tasks.folder.results import LOG, read_partial_log
from leaseboard.tasks.jobs.job import Job
from leaseboard.tasks.pool.worker import FILE_BYTES
from leaseboard.tasks.pool.workers import StoppedError, WorkerPool
from leaseboard.tasks.processes.child import Limits
from tests.flows.waiting import has_ended, until

pytestmark = pytest.mark.usefixtures("forked_workers")
STANDINS = Path(__file__).resolve().parents[2] / "flows" / "standins.py"
UNTRUSTED = "mine.py:Mine"  # the stand-ins do not read it


def job(data, algorithm="vanilla"):
    return Job(algorithm=algorithm, data=data, seed=1, environment_seed=0, name="vanilla")


def pool(limits=None, size=1):
    return WorkerPool(size, limits or Limits(), work=f"{STANDINS}:run_job", grace_seconds=0.5)


@pytest.fixture(scope="module")
def shared():
    """Yield one pool for all jobs that break no limit: one job must not hurt the next."""
    with pool() as workers:
        yield workers


def run(workers, data, folder, algorithm="vanilla", key=None):
    folder.mkdir(exist_ok=True)
    work = job(data, algorithm)
    return workers.run(work, key or work.key("digest", "version"), folder)


@pytest.mark.parametrize(
    ("data", "status", "reason"),
    [
        ("well", "ok", ""),
        ("raise:wrong sign", "crash", "ValueError: wrong sign"),
        ("audit:lower above upper", "crash", "lower above upper"),
        ("unavailable:no network", "skipped", "no network"),
        ("diverge:NaN at 7", "diverged", "NaN at 7"),
        ("memory", "memout", "no memory could be allocated"),
        ("exit:0", "crash", "SystemExit: 0"),
        ("die:0", "crash", "the worker process ended with exit code 0"),
        ("kill", "crash", "killed by SIGKILL (the system does that when memory runs out)"),
        ("terminate", "crash", "ended by a SIGTERM that Leaseboard did not send"),
        ("segfault", "crash", "killed by SIGSEGV"),
        ("fill", "skipped", "the disk is full: free some of it, and run the same command again"),
        ("garbage", "ok", ""),
        ("mute", "crash", "AttributeError: 'NoneType' object has no attribute 'flush'"),
        ("threads", "ok", ""),
        ("chdir", "ok", ""),
    ],
)
def test_every_ending_has_its_status_and_the_next_job_runs(shared, tmp_path, data, status, reason):
    ended = run(shared, data, tmp_path / "bad")
    after = run(shared, "well", tmp_path / "good")

    assert (ended.status, ended.reason.removesuffix(", after 10 rows")) == (status, reason)
    assert ended.key == job(data).key("digest", "version")
    assert after.status == "ok"
    log = (tmp_path / "bad" / LOG).read_bytes() if (tmp_path / "bad" / LOG).exists() else b""
    if data == "garbage":
        assert b"\xff\x00garbage\nmore\n" in log
    if data.startswith("raise"):
        assert b"in misbehave" in log


def test_data_that_changed_since_the_plan_are_a_crash(shared, tmp_path):
    ended = run(shared, "well", tmp_path, key="another-key")

    assert (ended.key, ended.status) == ("another-key", "crash")
    assert ended.reason == "the data, the code or the libraries are not those that were planned"


@pytest.mark.parametrize(
    ("data", "limits", "status", "what"),
    [
        ("sleep:600", {"wall_seconds": 3}, "timeout", "3 s of wall time"),
        ("hold", {"wall_seconds": 3}, "timeout", "3 s of wall time"),
        ("eat-in-child", {"memory_mb": 700}, "memout", "700 MB of memory"),
    ],
)
def test_limits_hold(tmp_path, data, limits, status, what):
    with pool(Limits(**limits)) as workers:
        ended = run(workers, data, tmp_path)

        after = ", after 10 rows" if ended.metrics else ""  # none if the log was not flushed
        assert (ended.status, ended.reason) == (status, f"over the limit of {what}{after}")
        assert ended.wall_seconds > 0.05  # memory is eaten in a fifth of a second
        assert [type(event).__name__ for event in read_partial_log(tmp_path / "events.jsonl.gz")][
            :2
        ] == ["Started", "ConfigurationAdmitted"]
        children = psutil.Process().children(recursive=True)
        assert not [child for child in children if "900_000_000" in " ".join(_cmdline(child))]


def _cmdline(process):
    try:
        return process.cmdline()
    except psutil.Error:
        return []


@pytest.mark.parametrize("algorithm", ["vanilla", UNTRUSTED])
def test_no_process_outlives_its_job_and_none_runs_two_untrusted_ones(tmp_path, algorithm):
    with pool() as workers:
        seen = []
        for name in ("first", "second"):
            pid_file = tmp_path / name
            assert (
                run(workers, f"fork:{pid_file}", tmp_path / f"job-{name}", algorithm).status
                == "ok"
            )
            until(partial(has_ended, int(pid_file.read_text())))
            seen.append([worker.child.pid for worker in workers._workers])
    assert seen == ([[], []] if algorithm == UNTRUSTED else [seen[0]] * 2)


def test_stop_interrupts_running_jobs_and_closing_leaves_no_process(tmp_path):
    before = {child.pid for child in psutil.Process().children(recursive=True)}
    with pool(size=2) as workers:
        workers.warm(2)
        pids = {child.pid for child in psutil.Process().children(recursive=True)} - before
        assert len(pids) >= 3  # two workers and the watchdog
        threading.Timer(0.5, workers.stop).start()
        with pytest.raises(StoppedError):
            run(workers, "sleep:600", tmp_path)
    until(lambda: all(map(has_ended, pids)))


def test_the_time_to_start_a_worker_counts_for_no_job(tmp_path):
    """The work's module takes longer to import than a job may take to run."""
    slow = tmp_path / "slow.py"
    slow.write_text(
        "import sys, time\n"
        f"sys.path.insert(0, {str(STANDINS.parent)!r})\n"
        "time.sleep(4)\n"
        "from standins import run_job\n"
    )
    with WorkerPool(1, Limits(wall_seconds=3), work=f"{slow}:run_job") as workers:
        assert run(workers, "well", tmp_path).status == "ok"


def test_a_worker_that_cannot_start_says_why(tmp_path):
    with WorkerPool(1, Limits(), work="leaseboard.tasks.nowhere:run_job") as workers:
        ended = run(workers, "well", tmp_path)

    assert ended.status == "crash"
    assert "No module named 'leaseboard.tasks.nowhere'" in ended.reason


def test_output_is_cut_at_its_limit_and_what_fits_is_kept_whole(tmp_path):
    """The head and the last words are kept, and a line says so; the next job's log is its own."""
    with pool(Limits(output_mb=0.1)) as workers:
        for number, data in enumerate(("print:3000000", "garbage", "print:99000")):
            assert run(workers, data, tmp_path / str(number)).status == "ok"

    log, following, whole = ((tmp_path / str(n) / LOG).read_bytes() for n in range(3))
    assert len(log) < 100_200
    assert log.startswith(b"first\n")
    assert log.endswith(b"last\n")
    assert b"the job printed more than 0.1 MB, the limit output_mb" in log
    assert b"first" not in following
    assert b"cut here" not in following
    assert whole == b"first\n" + b"x" * 99000 + b"\nlast\n"


@pytest.mark.parametrize("data", ["print-on", "print-on-in-child"])
@pytest.mark.parametrize("algorithm", ["vanilla", UNTRUSTED])
def test_a_job_that_prints_without_end_fills_no_disk(tmp_path, data, algorithm):
    with pool(Limits(output_mb=1, cpu_seconds=0.5)) as workers:
        ended = run(workers, data, tmp_path, algorithm)

    assert ended.status == "timeout"
    assert (tmp_path / LOG).stat().st_size < 1_000_200


def test_a_file_of_a_job_has_an_end_where_its_parent_gets_no_turn(shared, tmp_path):
    ended = run(shared, f"write-on:{tmp_path / 'long'}", tmp_path)

    assert (ended.status, "File too large" in ended.reason) == ("crash", True)
    assert (tmp_path / "long").stat().st_size == FILE_BYTES


def test_a_log_that_a_full_disk_does_not_take_is_named_and_no_crash(shared, tmp_path):
    (tmp_path / LOG).symlink_to("/dev/full")
    ended = run(shared, "garbage", tmp_path)
    (tmp_path / LOG).unlink(missing_ok=True)
    after = run(shared, "well", tmp_path)

    assert ended.status == "skipped"
    assert ended.reason.startswith("the disk is full")
    assert after.status == "ok"
