"""A suite's run: resumed, interrupted, killed, and with a tracking store in trouble."""

import dataclasses
import itertools
import os
import random
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from leaseboard.tasks.folder import results
from leaseboard.tasks.folder.results import shown_at
from leaseboard.tasks.jobs.job import Limits
from leaseboard.tasks.jobs.suites.plan import Planned
from leaseboard.tasks.score.frame import as_frame
from leaseboard.tasks.track import recorder

CHILD = Path(__file__).with_name("child.py")
CONFIGURATIONS = 3  # of each stand-in job


def statuses(outcome):
    return [result.status for result in outcome.results]


def test_jobs_run_once_and_are_recorded(bench):
    bench.data = ["well", "other"]
    first = bench.run()
    stamps = {path: path.stat().st_mtime_ns for path in bench.out.rglob("result.json")}
    second = bench.run()

    assert statuses(first) == statuses(second) == ["ok"] * 4
    assert first.problems == second.problems == []
    assert first.results == second.results
    assert stamps == {path: path.stat().st_mtime_ns for path in bench.out.rglob("result.json")}
    assert list(as_frame(shown_at(bench.out))["score"]) == [0.1, 0.2, 0.1, 0.2]
    assert len(bench.runs("job")) == 4
    assert len(bench.runs("configuration")) == 4 * CONFIGURATIONS
    (suite,) = bench.runs("suite")
    assert suite.info.status == "FINISHED"


def test_deleting_a_result_runs_that_job_again(bench):
    bench.run()
    first, second = (entry.key for entry in bench.planned())
    (results.job_folder(bench.out, first) / results.RESULT).unlink()
    kept = results.job_folder(bench.out, second) / results.RESULT
    before = kept.stat().st_mtime_ns

    assert [entry.done for entry in bench.planned()] == [False, True]
    assert statuses(bench.run()) == ["ok", "ok"]
    assert kept.stat().st_mtime_ns == before


def test_failures_are_kept_apart_and_repeated(bench):
    bench.data = ["well", "raise:no", "kill"]
    bench.seeds = (1,)

    assert statuses(bench.run()) == ["ok", "crash", "crash"]
    assert [entry.done for entry in bench.planned()] == [True, False, False]
    assert statuses(bench.run()) == ["ok", "crash", "crash"]
    assert len(bench.runs("job")) == 3
    assert bench.runs("suite")[0].info.status == "FAILED"


def test_jobs_that_cannot_run_are_skipped_with_the_reason(bench):
    (entry, other) = bench.planned()
    planned = [Planned(entry.job, "nokey", obstacle="data not available: x"), other]
    outcome = bench.run(planned=planned, uri=None)

    assert statuses(outcome) == ["skipped", "ok"]
    assert outcome.results[0].reason == "data not available: x"
    assert not results.reusable(bench.out, "nokey")


def test_limits_of_the_suite_are_enforced(bench):
    bench.data, bench.seeds = ["sleep:600", "well"], (1,)
    bench.limits = Limits(wall_seconds=4)

    assert statuses(bench.run()) == ["timeout", "ok"]


def test_a_clock_that_is_set_breaks_no_limit_and_orphans_no_run(bench, monkeypatch):
    """Here and in the workers, by a day, back and forth, and so is the time of the boot."""
    from psutil import _pslinux

    day, now, boot = 86_400.0, time.time, _pslinux.boot_time()
    jumps = itertools.cycle((-day, day))
    monkeypatch.setattr(time, "time", lambda: now() + next(jumps))
    monkeypatch.setattr(_pslinux, "boot_time", lambda: boot + day * (now() % 2 > 1))
    bench.data, bench.seeds = ["clock", "sleep:2"], (1,)
    bench.limits = Limits(wall_seconds=60, cpu_seconds=60)
    first = bench.run()
    again = bench.run()

    assert statuses(first) == statuses(again) == ["ok", "ok"]
    assert first.problems == again.problems == []
    assert all(0 <= result.wall_seconds < 60 for result in first.results)
    assert len(bench.runs("job")) == 2
    (suite,) = bench.runs("suite")
    assert suite.info.status == "FINISHED"


def test_two_processes_give_identical_results_and_events(bench, tmp_path):
    bench.data, bench.seeds = ["well", "other"], (1, 2, 3)
    bench.run()
    outs = [bench.out, tmp_path / "other"]
    outs[1].mkdir()
    child = [sys.executable, CHILD, outs[1], bench.uri, *bench.data]
    environment = os.environ | {"PYTHONPATH": str(CHILD.parents[2])}
    subprocess.run(child, env=environment, check=True, capture_output=True)
    first, second = (results.read_results(out) for out in outs)
    measured = {"job_cpu_seconds": None, "job_wall_seconds": None}

    assert [dataclasses.replace(one, **measured) for one in first] == [
        dataclasses.replace(one, **measured) for one in second
    ]
    assert len(first) == 6
    for one in first:
        logs = [(results.job_folder(out, one.key) / results.EVENTS).read_bytes() for out in outs]
        assert logs[0] == logs[1]


def assert_all_gone(processes, within=240.0):
    _, alive = psutil.wait_procs(processes, timeout=within)
    for process in alive:
        process.kill()
    assert not alive


class TestInterruptions:
    data = ("well", "other", "sleep:0.3", "sleep:0.2", "third")

    @pytest.fixture
    def start(self, bench, zygote, tmp_path):
        """Begins a run in a process of its own; what it prints goes to the file `said`."""

        def begin(*data):
            words = [CHILD, bench.out, bench.uri, *data]
            with (tmp_path / "said").open("w") as out, (tmp_path / "complained").open("w") as err:
                return zygote.start(words, cwd=tmp_path, out=out, err=err)

        return begin

    def test_ctrl_c_stops_all_and_leaves_nothing_half_written(self, bench, start):
        process = start("well", "sleep:600", "ignore")
        self.wait_for_results(bench.out, process)
        time.sleep(0.3)
        family = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(signal.SIGINT)
        process.wait(240)  # the job that ignores signals sleeps for 600

        assert process.returncode != 0
        assert_all_gone(family)
        assert all((f / results.RESULT).is_file() for f in bench.out.glob("jobs/*"))
        assert not bench.runs("suite", "attributes.status = 'RUNNING'")

    def test_kill_9_at_any_moment_is_made_good_by_the_next_run(self, bench, start, tmp_path):
        """Killed at random moments: while jobs run, end, or are logged, and once at the start."""
        moments = random.Random(7)
        for already in (0, 1, 4, 8, 11):
            process = start(*self.data)
            self.wait_for_results(bench.out, process, already)
            time.sleep(moments.random() * 0.3)
            family = psutil.Process(process.pid).children(recursive=True)
            process.kill()
            process.wait()
            assert_all_gone(family)
        done = {r.key: r for r in results.read_results(bench.out)}
        assert 11 <= len(done) <= 15

        assert start(*self.data).wait(240) == 0, (tmp_path / "complained").read_text()
        assert (tmp_path / "said").read_text().split() == ["ok"] * 15
        after = {r.key: r for r in results.read_results(bench.out)}
        assert len(after) == 15
        assert after.items() >= done.items()
        assert len(bench.runs("job")) == 15
        assert len(bench.runs("configuration")) == 15 * CONFIGURATIONS
        for level in ("suite", "job", "configuration"):
            assert not bench.runs(level, "attributes.status = 'RUNNING'")
        assert len(bench.runs("suite")) == 1
        assert not list(bench.out.rglob("*.part"))

    def wait_for_results(self, out, process, count=1, within=240):
        deadline = time.monotonic() + within
        while len(list(out.glob("jobs/*/result.json"))) < count:  # a folder may vanish in an rglob
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.01)


class TestTrackingInTrouble:
    @pytest.fixture(autouse=True)
    def impatient(self, monkeypatch):
        monkeypatch.setattr(recorder, "RETRY_SECONDS", (0.01,))

    def assert_kept_and_made_good(self, bench, outcome, uri):
        assert statuses(outcome) == ["ok", "ok"]
        assert len(outcome.problems) == 1
        assert "the next run logs what is missing" in outcome.problems[0]
        bench.uri = uri
        again = bench.run()
        assert again.problems == []
        assert len(bench.runs("job")) == 2
        assert len(bench.runs("configuration")) == 2 * CONFIGURATIONS

    def test_gone(self, bench, tmp_path):
        good = bench.uri
        (tmp_path / "file").write_text("")
        bench.uri = f"sqlite:///{tmp_path / 'file' / 'mlflow.db'}"

        self.assert_kept_and_made_good(bench, bench.run(), good)

    def test_gone_with_its_server(self, bench, monkeypatch):
        monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
        good, bench.uri = bench.uri, "http://127.0.0.1:9"
        outcome = bench.run()

        assert (
            "http://127.0.0.1:9 failed: no connection: Connection refused" in (outcome.problems[0])
        )
        self.assert_kept_and_made_good(bench, outcome, good)

    def test_a_server_that_never_answers_is_given_up(self, bench, monkeypatch):
        """It accepts the connection and that is all: only patience ends the wait."""
        monkeypatch.setattr(recorder, "PATIENCE_SECONDS", 0.5)
        monkeypatch.setattr(recorder, "RETRY_SECONDS", (0.01,) * 100)
        monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
        monkeypatch.setenv("MLFLOW_HTTP_REQUEST_TIMEOUT", "1")
        with socket.create_server(("127.0.0.1", 0)) as deaf:
            good, bench.uri = bench.uri, f"http://127.0.0.1:{deaf.getsockname()[1]}"
            outcome = bench.run()

        assert "it did not answer in time" in outcome.problems[0]
        self.assert_kept_and_made_good(bench, outcome, good)

    def test_slow(self, bench, monkeypatch):
        """Jobs do not wait for a store: all are over before the first is logged."""
        from leaseboard.tasks.track.bulk import BulkWriter

        seen = []
        quick = BulkWriter.write

        def slow(*arguments):
            self.wait_until_all_are_over(bench)
            seen.append(len(results.read_results(bench.out)))
            return quick(*arguments)

        monkeypatch.setattr(BulkWriter, "write", slow)
        bench.seeds = (1, 2, 3)
        outcome = bench.run()

        assert statuses(outcome) == ["ok"] * 3
        assert outcome.problems == []
        assert seen == [3, 3, 3]
        assert len(bench.runs("job")) == 3

    def wait_until_all_are_over(self, bench, within=240):
        deadline = time.monotonic() + within
        while len(results.read_results(bench.out)) < 3 and time.monotonic() < deadline:
            time.sleep(0.01)

    def test_locked(self, bench, monkeypatch):
        monkeypatch.setattr("leaseboard.tasks.track.store.SQLITE_WAIT_SECONDS", 0.1)
        connection = sqlite3.connect(bench.uri.removeprefix("sqlite:///"))
        connection.execute("BEGIN EXCLUSIVE")
        outcome = bench.run()
        connection.close()

        assert "locked" in outcome.problems[0]
        self.assert_kept_and_made_good(bench, outcome, bench.uri)

    def test_full(self, bench, monkeypatch):
        from leaseboard.tasks.track.bulk import BulkWriter

        def full(*_):
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(BulkWriter, "_artifacts", full)
            outcome = bench.run()

        assert "No space left on device" in outcome.problems[0]
        self.assert_kept_and_made_good(bench, outcome, bench.uri)

    def test_busy_for_a_while_is_no_trouble(self, bench, monkeypatch):
        monkeypatch.setattr(recorder, "RETRY_SECONDS", (0.5, 2.0))
        monkeypatch.setattr("leaseboard.tasks.track.store.SQLITE_WAIT_SECONDS", 0.1)
        connection = sqlite3.connect(bench.uri.removeprefix("sqlite:///"), check_same_thread=False)
        connection.execute("BEGIN EXCLUSIVE")
        import threading

        threading.Timer(1.0, connection.close).start()

        assert bench.run().problems == []
        assert len(bench.runs("job")) == 2


def test_a_result_that_cannot_be_written_is_a_problem_not_a_loss(bench, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(results, "write_atomically", full)
        outcome = bench.run()

    assert statuses(outcome) == ["ok", "ok"]
    assert len(outcome.problems) == 2
    assert "No space left on device" in outcome.problems[0]
    assert [entry.done for entry in bench.planned()] == [False, False]


def test_a_suite_need_not_be_tracked(bench):
    assert bench.run(uri=None).problems == []
