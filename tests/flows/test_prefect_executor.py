"""A flow really runs with the installed versions of Prefect and what it needs."""

import re
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import TaskRunFilter

from leaseboard.algorithms.errors import LeaseboardError
from leaseboard.flows import prefect_executor as one_run
from leaseboard.flows.server import PrefectServer
from leaseboard.tasks.folder import results
from tests.flows.waiting import until

CHILD = Path(__file__).with_name("child.py")


def ended(client, flow_run):
    filters = {"flow_runs": {"id": {"any_": [str(flow_run)]}}}
    answer = client.request("POST", "/task_runs/filter", json=filters).json()
    return sorted((run["name"], run["state_type"]) for run in answer)


def test_every_job_is_a_task_and_all_of_it_is_recorded(runner, url, zygote, tmp_path):
    # In a process of its own: Prefect sends a process's events to the first server that it met.
    with get_client(sync_client=True) as client:
        known = {run.id for run in client.read_flow_runs()}
    done = zygote.run([CHILD, runner.out, runner.uri, "well", "raise:no"], cwd=tmp_path)

    assert done.returncode == 0, done.stderr
    assert done.stdout.decode().split() == ["ok"] * 3 + ["crash"] * 3
    assert len(runner.runs("job")) == 6
    with get_client(sync_client=True) as client:
        (run,) = (run for run in client.read_flow_runs() if run.id not in known)
        assert re.fullmatch(r"standins \d{4}-\d\d-\d\d \d\d:\d\d", run.name)
        assert run.state.is_failed()
        assert run.state.message == "3 of 6 jobs failed"
        assert ended(client, run.id) == [
            *((f"raise:no on raise:no, repetition {seed}", "FAILED") for seed in (1, 2, 3)),
            *((f"well on well, repetition {seed}", "COMPLETED") for seed in (1, 2, 3)),
        ]
        body = {"logs": {"flow_run_id": {"any_": [str(run.id)]}}, "sort": "TIMESTAMP_ASC"}
        lines = client.request("POST", "/logs/filter", json=body).json()
        shown = [
            line["message"]
            for line in lines
            if not line["task_run_id"] and line["message"].startswith("[")  # not Prefect's own
        ]
        assert shown == [
            line for line in done.stderr.decode().splitlines() if line.startswith("[")
        ]
        assert len(shown) == 6
        assert sum("crash: ValueError: no" in line for line in shown) == 3
        # Each on its task's page; a server that answers late may be sent a line twice.
        for said in ("ok: progressive_mse", "ValueError: no"):
            pages = [each["task_run_id"] for each in lines if said in each["message"]]
            assert len({*pages} - {None}) == 3
        chosen = TaskRunFilter.model_validate({"flow_run_id": {"any_": [run.id]}})
        tagged = [sorted(task.tags) for task in client.read_task_runs(task_run_filter=chosen)]
        assert sorted(tagged) == [["raise:no", "standins"]] * 3 + [["standins", "well"]] * 3


def test_an_interrupted_flow_stops_its_jobs_and_is_seen_as_ended(runner, url, zygote, tmp_path):
    with get_client(sync_client=True) as client:
        known = {run.id for run in client.read_flow_runs()}
    with (tmp_path / "said").open("w") as said:
        words = [CHILD, runner.out, runner.uri, "well", "sleep:30"]
        process = zygote.start(words, cwd=tmp_path, out=said, err=said)
    # Whole repetitions go first: after two jobs both workers sleep.
    until(lambda: len(list(runner.out.glob("jobs/*/result.json"))) == 2)
    family = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(signal.SIGTERM)
    process.wait(240)

    assert process.returncode != 0
    _, alive = psutil.wait_procs(family, timeout=240)
    assert not alive
    assert [result.name for result in results.read_results(runner.out)] == ["well", "well"]
    assert len(list(runner.out.glob("jobs/*"))) == 2
    with get_client(sync_client=True) as client:
        (run,) = (run for run in client.read_flow_runs() if run.id not in known)
        assert run.state.is_final()


class TestAServerInTrouble:
    def test_that_ends_at_once(self, tmp_path, monkeypatch):
        monkeypatch.setattr("leaseboard.flows.server.COMMAND", ("-c", "raise SystemExit(3)"))
        with (
            PrefectServer(tmp_path / "server.log") as server,
            pytest.raises(LeaseboardError, match=r"exit code 3: see .*server\.log.*--local"),
        ):
            server.wait()

    def test_another_one_s_log_is_kept(self, tmp_path, monkeypatch):
        log = tmp_path / "server.log"
        log.write_text("of one that still writes there\n")
        monkeypatch.setattr("leaseboard.flows.server.COMMAND", ("-c", "print('mine', flush=True)"))
        with PrefectServer(log) as server, pytest.raises(LeaseboardError):
            server.wait()

        assert log.read_text().splitlines() == ["of one that still writes there", "mine"]

    def test_a_large_log_is_renamed(self, tmp_path, monkeypatch):
        log = tmp_path / "server.log"
        monkeypatch.setattr("leaseboard.flows.server.MOST_LOG_BYTES", 3)
        monkeypatch.setattr("leaseboard.flows.server.COMMAND", ("-c", "print('mine', flush=True)"))
        for before in ("first", "second"):
            log.write_text(before)
            with PrefectServer(log) as server, pytest.raises(LeaseboardError):
                server.wait()
            assert log.read_text().strip() == "mine"

        assert (tmp_path / "server.old.log").read_text() == "second"

    def test_several_that_start_at_once_keep_all_that_was_said(self, tmp_path, monkeypatch):
        log = tmp_path / "server.log"
        monkeypatch.setattr("leaseboard.flows.server.MOST_LOG_BYTES", 3)
        for _ in range(30):
            log.write_text("large")
            with ThreadPoolExecutor(4) as threads:
                for opened in threads.map(lambda _: PrefectServer(log)._open_log(), range(4)):
                    opened.close()
            assert (tmp_path / "server.old.log").read_text() == "large"

    def test_that_does_not_answer_in_time(self, tmp_path, monkeypatch):
        monkeypatch.setattr(
            "leaseboard.flows.server.COMMAND", ("-c", "import time; time.sleep(60)")
        )
        with (
            PrefectServer(tmp_path / "server.log") as server,
            pytest.raises(LeaseboardError, match="did not answer within 0 s"),
        ):
            server.wait(0)

    def test_a_server_that_was_not_started(self, tmp_path):
        with pytest.raises(LeaseboardError, match="was not started"):
            PrefectServer(tmp_path / "server.log").wait()


@pytest.mark.parametrize(("counts", "asked"), [([0, 0, 1, 1, 2, 3], 6), ([0, 1], None)])
def test_a_server_is_waited_for_while_it_gets_on(monkeypatch, counts, asked):
    """Slower in all than the limit, but never as long without progress; then stuck for good."""
    calls = iter(counts)
    last = counts[-1]

    class Client:
        asked = 0

        def request(self, *_, **__):
            self.asked += 1
            return SimpleNamespace(json=lambda: next(calls, last))

    client = Client()
    clock = iter(range(10**6))
    monkeypatch.setattr(one_run, "DRAIN_SECONDS", 3)
    monkeypatch.setattr(one_run.time, "monotonic", lambda: next(clock))
    monkeypatch.setattr(one_run.time, "sleep", lambda _: None)

    one_run._drain(client, "run", expected=3)

    assert client.asked == asked if asked else 2 < client.asked < 10
