"""A suite's run: resumed, and with a tracking store in trouble."""

import socket
import sqlite3
import threading

import pytest

from leaseboard.tasks.folder import results
from leaseboard.tasks.track import tracker as recorder

CONFIGURATIONS = 3  # of each stand-in job


def statuses(outcome):
    return [result.status for result in outcome.results]


def test_failures_are_kept_apart_and_repeated(runner):
    runner.data = ["well", "raise:no", "kill"]
    runner.seeds = (1,)

    assert statuses(runner.run()) == ["ok", "crash", "crash"]
    assert [entry.done for entry in runner.planned()] == [True, False, False]
    kept = results.job_folder(runner.out, runner.planned()[0].key) / results.RESULT
    written = kept.stat().st_mtime_ns
    assert statuses(runner.run()) == ["ok", "crash", "crash"]
    assert kept.stat().st_mtime_ns == written
    assert len(runner.runs("job")) == 3
    assert runner.runs("suite")[0].info.status == "FAILED"


class TestTrackingInTrouble:
    @pytest.fixture(autouse=True)
    def impatient(self, monkeypatch):
        monkeypatch.setattr(recorder, "RETRY_SECONDS", (0.01,))

    def test_a_server_that_never_answers_is_given_up(self, runner, monkeypatch):
        """It accepts the connection and that is all: only patience ends the wait."""
        monkeypatch.setattr(recorder, "PATIENCE_SECONDS", 0.5)
        monkeypatch.setattr(recorder, "RETRY_SECONDS", (0.01,) * 100)
        monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
        monkeypatch.setenv("MLFLOW_HTTP_REQUEST_TIMEOUT", "1")
        with socket.create_server(("127.0.0.1", 0)) as deaf:
            good, runner.uri = runner.uri, f"http://127.0.0.1:{deaf.getsockname()[1]}"
            outcome = runner.run()

        assert "Read timed out" in outcome.problems[0]
        assert statuses(outcome) == ["ok", "ok"]
        assert len(outcome.problems) == 1
        assert "the next run logs what is missing" in outcome.problems[0]
        runner.uri = good
        assert runner.run().problems == []
        assert len(runner.runs("job")) == 2
        assert len(runner.runs("configuration")) == 2 * CONFIGURATIONS

    def test_a_store_that_is_busy_for_a_while_is_not_an_error(self, runner, monkeypatch):
        monkeypatch.setattr(recorder, "RETRY_SECONDS", (0.5, 2.0))
        monkeypatch.setattr("leaseboard.tasks.track.store.SQLITE_WAIT_SECONDS", 0.1)
        connection = sqlite3.connect(
            runner.uri.removeprefix("sqlite:///"), check_same_thread=False
        )
        connection.execute("BEGIN EXCLUSIVE")
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
