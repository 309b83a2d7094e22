"""A suite's run: resumed, interrupted, killed, and with a tracking store in trouble."""

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
from leaseboard.tasks.processes.limits import Limits
from leaseboard.tasks.score.frame import as_frame
from leaseboard.tasks.track import recorder
from tests.flows.waiting import until

CHILD = Path(__file__).with_name("child.py")
CONFIGURATIONS = 3  # of each stand-in job


def statuses(outcome):
    return [result.status for result in outcome.results]


def test_jobs_run_once_and_are_recorded(runner):
    runner.data = ["well", "other"]
    first = runner.run()
    stamps = {path: path.stat().st_mtime_ns for path in runner.out.rglob("result.json")}
    second = runner.run()

    assert statuses(first) == statuses(second) == ["ok"] * 4
    assert first.problems == second.problems == []
    assert first.results == second.results
    assert stamps == {path: path.stat().st_mtime_ns for path in runner.out.rglob("result.json")}
    assert list(as_frame(shown_at(runner.out))["score"]) == [0.1, 0.2, 0.1, 0.2]
    assert len(runner.runs("job")) == 4
    assert len(runner.runs("configuration")) == 4 * CONFIGURATIONS
    (suite,) = runner.runs("suite")
    assert suite.info.status == "FINISHED"


def test_deleting_a_result_runs_that_job_again(runner):
    runner.run()
    first, second = (entry.key for entry in runner.planned())
    (results.job_folder(runner.out, first) / results.RESULT).unlink()
    kept = results.job_folder(runner.out, second) / results.RESULT
    before = kept.stat().st_mtime_ns

    assert [entry.done for entry in runner.planned()] == [False, True]
    assert statuses(runner.run()) == ["ok", "ok"]
    assert kept.stat().st_mtime_ns == before


def test_failures_are_kept_apart_and_repeated(runner):
    runner.data = ["well", "raise:no", "kill"]
    runner.seeds = (1,)

    assert statuses(runner.run()) == ["ok", "crash", "crash"]
    assert [entry.done for entry in runner.planned()] == [True, False, False]
    assert statuses(runner.run()) == ["ok", "crash", "crash"]
    assert len(runner.runs("job")) == 3
    assert runner.runs("suite")[0].info.status == "FAILED"


def test_a_clock_that_is_set_breaks_no_limit_and_orphans_no_run(runner, monkeypatch):
    """Here and in the workers, by a day, back and forth, and so is the time of the boot."""
    from psutil import _pslinux

    day, now, boot = 86_400.0, time.time, _pslinux.boot_time()
    jumps = itertools.cycle((-day, day))
    monkeypatch.setattr(time, "time", lambda: now() + next(jumps))
    monkeypatch.setattr(_pslinux, "boot_time", lambda: boot + day * (now() % 2 > 1))
    runner.data, runner.seeds = ["clock", "sleep:2"], (1,)
    runner.limits = Limits(wall_seconds=600, cpu_seconds=600)
    first = runner.run()
    again = runner.run()

    assert statuses(first) == statuses(again) == ["ok", "ok"]
    assert first.problems == again.problems == []
    assert all(0 <= result.wall_seconds < 600 for result in first.results)
    assert len(runner.runs("job")) == 2
    (suite,) = runner.runs("suite")
    assert suite.info.status == "FINISHED"


def test_two_processes_give_identical_results_and_events(runner, tmp_path):
    runner.data, runner.seeds = ["well"], (1, 2, 3)
    runner.run()
    outs = [runner.out, tmp_path / "other"]
    outs[1].mkdir()
    child = [sys.executable, CHILD, outs[1], runner.uri, *runner.data]
    environment = os.environ | {"PYTHONPATH": str(CHILD.parents[2])}
    subprocess.run(child, env=environment, check=True, capture_output=True)
    first, second = (results.read_results(out) for out in outs)

    assert first == second
    assert len(first) == 3
    for one in first:
        logs = [(results.job_folder(out, one.key) / results.EVENTS).read_bytes() for out in outs]
        assert logs[0] == logs[1]


def assert_all_gone(processes, within=900.0):
    _, alive = psutil.wait_procs(processes, timeout=within)
    for process in alive:
        process.kill()
    assert not alive


class TestInterruptions:
    data = ("well", "other", "sleep:0.3", "sleep:0.2", "third")

    @pytest.fixture
    def start(self, runner, zygote, tmp_path):
        """Begin a run in a process of its own; what it prints goes to the file `said`."""

        def begin(*data):
            words = [CHILD, runner.out, runner.uri, *data]
            with (tmp_path / "said").open("w") as out, (tmp_path / "complained").open("w") as err:
                return zygote.start(words, cwd=tmp_path, out=out, err=err)

        return begin

    def test_ctrl_c_stops_all_and_leaves_nothing_half_written(self, runner, start):
        process = start("well", "sleep:600", "ignore")
        self.wait_for_results(runner.out, process)
        time.sleep(0.3)
        family = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(signal.SIGINT)
        process.wait(240)  # the job that ignores signals sleeps for 600

        assert process.returncode != 0
        assert_all_gone(family)
        assert all((f / results.RESULT).is_file() for f in runner.out.glob("jobs/*"))
        assert not runner.runs("suite", "attributes.status = 'RUNNING'")

    def test_kill_9_at_any_moment_is_made_good_by_the_next_run(self, runner, start, tmp_path):
        """Killed at random moments: while jobs run, end, or are logged, and once at the start."""
        moments = random.Random(7)
        for already in (0, 1, 4, 8, 11):
            process = start(*self.data)
            self.wait_for_results(runner.out, process, already)
            time.sleep(moments.random() * 0.3)
            family = psutil.Process(process.pid).children(recursive=True)
            process.kill()
            process.wait()
            assert_all_gone(family)
        done = {r.key: r for r in results.read_results(runner.out)}
        assert 11 <= len(done) <= 15

        assert start(*self.data).wait(240) == 0, (tmp_path / "complained").read_text()
        assert (tmp_path / "said").read_text().split() == ["ok"] * 15
        after = {r.key: r for r in results.read_results(runner.out)}
        assert len(after) == 15
        assert after.items() >= done.items()
        assert len(runner.runs("job")) == 15
        assert len(runner.runs("configuration")) == 15 * CONFIGURATIONS
        for level in ("suite", "job", "configuration"):
            assert not runner.runs(level, "attributes.status = 'RUNNING'")
        assert len(runner.runs("suite")) == 1
        assert not list(runner.out.rglob("*.part"))

    def wait_for_results(self, out, process, count=1):
        # A folder may vanish in an rglob.
        until(lambda: len(list(out.glob("jobs/*/result.json"))) >= count, process)


class TestTrackingInTrouble:
    @pytest.fixture(autouse=True)
    def impatient(self, monkeypatch):
        monkeypatch.setattr(recorder, "RETRY_SECONDS", (0.01,))

    def assert_kept_and_made_good(self, runner, outcome, uri):
        assert statuses(outcome) == ["ok", "ok"]
        assert len(outcome.problems) == 1
        assert "the next run logs what is missing" in outcome.problems[0]
        runner.uri = uri
        again = runner.run()
        assert again.problems == []
        assert len(runner.runs("job")) == 2
        assert len(runner.runs("configuration")) == 2 * CONFIGURATIONS

    def test_gone_with_its_server(self, runner, monkeypatch):
        monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
        good, runner.uri = runner.uri, "http://127.0.0.1:9"
        outcome = runner.run()

        assert (
            "http://127.0.0.1:9 failed: no connection: Connection refused" in (outcome.problems[0])
        )
        self.assert_kept_and_made_good(runner, outcome, good)

    def test_a_server_that_never_answers_is_given_up(self, runner, monkeypatch):
        """It accepts the connection and that is all: only patience ends the wait."""
        monkeypatch.setattr(recorder, "PATIENCE_SECONDS", 0.5)
        monkeypatch.setattr(recorder, "RETRY_SECONDS", (0.01,) * 100)
        monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
        monkeypatch.setenv("MLFLOW_HTTP_REQUEST_TIMEOUT", "1")
        with socket.create_server(("127.0.0.1", 0)) as deaf:
            good, runner.uri = runner.uri, f"http://127.0.0.1:{deaf.getsockname()[1]}"
            outcome = runner.run()

        assert "it did not answer in time" in outcome.problems[0]
        self.assert_kept_and_made_good(runner, outcome, good)

    def test_full(self, runner, monkeypatch):
        def full(*_):
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr("leaseboard.tasks.track.writers.log_artifacts", full)
            outcome = runner.run()

        assert "No space left on device" in outcome.problems[0]
        self.assert_kept_and_made_good(runner, outcome, runner.uri)

    def test_a_store_that_is_busy_for_a_while_is_not_an_error(self, runner, monkeypatch):
        monkeypatch.setattr(recorder, "RETRY_SECONDS", (0.5, 2.0))
        monkeypatch.setattr("leaseboard.tasks.track.store.SQLITE_WAIT_SECONDS", 0.1)
        connection = sqlite3.connect(
            runner.uri.removeprefix("sqlite:///"), check_same_thread=False
        )
        connection.execute("BEGIN EXCLUSIVE")
        import threading

        threading.Timer(1.0, connection.close).start()

        assert runner.run().problems == []
        assert len(runner.runs("job")) == 2


def test_a_result_that_cannot_be_written_is_a_problem_not_a_loss(runner, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(results, "write_atomically", full)
        outcome = runner.run()

    assert statuses(outcome) == ["ok", "ok"]
    assert len(outcome.problems) == 2
    assert "No space left on device" in outcome.problems[0]
    assert [entry.done for entry in runner.planned()] == [False, False]


def test_a_disk_without_space_for_a_job_is_a_problem_of_the_run_and_no_crash(runner, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device", "runs")

    with monkeypatch.context() as patch:
        patch.setattr(results, "begin", full)
        outcome = runner.run()

    assert statuses(outcome) == ["skipped", "skipped"]
    why = "the disk is full (runs): free some of it, and run the same command again"
    assert [outcome.results[0].reason, *outcome.problems] == [why, why]


def test_a_suite_need_not_be_tracked(runner):
    assert runner.run(uri=None).problems == []
