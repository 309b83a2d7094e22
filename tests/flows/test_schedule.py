"""The schedule on a real server: what is due is started, and nothing is left behind."""

import json
import os
import re
import signal
import tempfile
import threading
import urllib.request
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from itertools import count
from urllib.parse import urljoin

import httpx
import psutil
import pytest
from prefect.settings import PREFECT_API_URL, temporary_settings
from prefect.states import Pending

import leaseboard.flows.schedule
from leaseboard.algorithms.errors import LeaseboardError, UsageError
from leaseboard.flows.commands import operate
from leaseboard.flows.commands import schedule as command
from leaseboard.flows.console import terminable
from leaseboard.flows.flow_runs import cause
from leaseboard.flows.schedule import Scheduler, benchmark, check_kept
from leaseboard.flows.server import PrefectServer
from leaseboard.tasks.jobs.suites.timetable import load_schedule
from tests.flows.schedules import (
    ROOT,
    logs,
    schedule,
    state,
    stop,
    trigger,
    unfinished,
    until,
)
from tests.flows.waiting import free_port
from tests.tasks.live.world import World

KEPT = """
schedules:
  - {name: sales, cron: "0 0 1 1 *", live: sales.yaml}
"""


class Healthy(BaseHTTPRequestHandler):
    """Server that answers as a Prefect server's ``/health`` does."""

    def do_GET(self):
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass


def test_prefect_does_not_get_the_address_of_the_store(monkeypatch, server):
    """An address may hold a password, and Prefect shows the parameters of a flow."""
    secret = "postgresql://me:hunter2@db/x"
    given = []
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "")
    monkeypatch.setenv("PREFECT_API_URL", str(server.api_url))
    monkeypatch.setattr(leaseboard.flows.schedule.Scheduler, "serve", lambda *_: given.append(1))
    command.schedule(conf=ROOT / "conf", tracking_uri=secret)

    assert given
    assert "hunter2" not in str(server.request("POST", "/deployments/filter", json={}).json())
    assert os.environ["MLFLOW_TRACKING_URI"] == secret


def test_a_server_that_does_not_answer_is_named_without_its_password(
    home, monkeypatch, environment
):
    address = f"http://me:hunter2@127.0.0.1:{free_port()}/api"
    monkeypatch.chdir(home)
    monkeypatch.setenv("PREFECT_API_URL", address)
    with (
        temporary_settings({PREFECT_API_URL: address}),
        pytest.raises(LeaseboardError, match="does not answer") as raised,
    ):
        command.schedule(conf=home / "conf")
    (found,) = operate.stuck_flow_runs(fix=False)

    assert not found.healthy
    assert "does not answer" in found.detail
    assert "hunter2" not in f"{raised.value} {found.detail}"


def test_an_error_in_an_answer_is_reported_without_the_address():
    address = "http://me:hunter2@db/api"
    request = httpx.Request("GET", address)
    answer = httpx.Response(503, request=request)
    with pytest.raises(httpx.HTTPStatusError) as raised:
        answer.raise_for_status()

    assert cause(raised.value) == "status 503"


def test_the_server_of_another_program_is_not_taken_for_ours(monkeypatch, tmp_path, environment):
    """4200 is Prefect's own default, so another one may well be there."""
    served = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    monkeypatch.setattr(leaseboard.flows.schedule, "serve_schedules", lambda *_: served.append(1))
    with HTTPServer(("127.0.0.1", 0), Healthy) as theirs:
        threading.Thread(target=theirs.serve_forever, daemon=True).start()
        port = theirs.server_port
        with pytest.raises(UsageError, match=f"port {port} is taken: set PREFECT_API_URL"):
            command.schedule(conf=ROOT / "conf", port=port)
        theirs.shutdown()

    assert served == []
    assert "PREFECT_API_URL" not in os.environ


def test_a_schedule_uses_the_server_that_it_has_started(monkeypatch, server):
    """Prefect reads its settings when it is imported, which may be before there is a server."""
    used = []
    monkeypatch.setenv("PREFECT_API_URL", "")
    monkeypatch.setattr(PrefectServer, "start", lambda _: None)
    monkeypatch.setattr(PrefectServer, "wait", lambda _: "http://127.0.0.1:9/api")
    monkeypatch.setattr(
        leaseboard.flows.schedule,
        "serve_schedules",
        lambda *_: used.extend([PREFECT_API_URL.value(), os.environ["PREFECT_API_URL"]]),
    )
    command.schedule(conf=ROOT / "conf")

    assert used == ["http://127.0.0.1:9/api"] * 2
    assert PREFECT_API_URL.value() == str(server.api_url).rstrip("/")


def test_the_page_asks_the_server_that_it_came_from(server):
    """On any port, and under any name by which a browser reaches it."""
    page = str(server.api_url).removesuffix("/api/").removesuffix("/api")
    for place in (page, page.replace("127.0.0.1", "localhost")):
        with urllib.request.urlopen(f"{place}/ui-settings", timeout=30) as answer:
            asked = urljoin(f"{place}/dashboard", json.load(answer)["api_url"])
        assert asked == f"{place}/api"


STEPS = ("ingest", "validate", "join labels", "monitor", "train", "evaluate", "promote", "publish",
         "notify")  # fmt: skip


def steps(client, run):
    """Return the names of the tasks of a flow run."""
    body = {"flow_runs": {"id": {"any_": [str(run.id)]}}}
    return [task["name"] for task in client.request("POST", "/task_runs/filter", json=body).json()]


class Process:
    """Fake process of a run, which ends with `code`."""

    code: int | None = None
    begun: list[str]

    def __init__(self, _command, environment):
        self.begun.append(environment["PREFECT__FLOW_RUN_ID"])

    def exit_code(self):
        return self.code

    def stop(self):
        pass


@pytest.fixture
def processes(monkeypatch):
    """Return the runs that a process was started for."""
    monkeypatch.setattr(Process, "begun", [], raising=False)
    monkeypatch.setattr("leaseboard.flows.schedule.Service", Process)
    return Process.begun


@pytest.fixture
def deployed(home, server, monkeypatch):
    """Deploy the schedules of `home`, and serve nothing; return their names."""
    served = []
    loaded = load_schedule(home / "conf")
    with monkeypatch.context() as patch:
        patch.setattr(Scheduler, "serve", lambda self, _: served.append(self._names))
        leaseboard.flows.schedule.serve_schedules(loaded, home / "conf", lambda: None)
    return served[0]


def fail(client, monkeypatch, nth, *, answered):
    """Make the `nth` request of `client` fail, before the server gets it or once it has answered.

    Returns the requests that were made, as they come.
    """
    asked, send = [], client._client.send

    def failing(request, **options):
        asked.append(request.url.path)
        failed = len(asked) == nth
        if failed and not answered:
            raise httpx.ConnectError("refused", request=request)
        answer = send(request, **options)
        if failed:
            raise httpx.ReadTimeout("too late", request=request)
        return answer

    monkeypatch.setattr(client._client, "send", failing)
    return asked


@pytest.mark.parametrize("answered", [False, True])
def test_an_error_of_the_server_at_any_moment_keeps_no_run_from_starting_and_ending(
    server, deployed, processes, monkeypatch, answered
):
    monkeypatch.setattr(Process, "code", 7)
    scheduler = Scheduler(server, deployed, lambda _: None)
    for nth in count(1):
        run = trigger(server, "slow")
        with monkeypatch.context() as patch:
            asked = fail(server, patch, nth, answered=answered)
            for _ in range(3):  # start, end, and once more for the error
                with suppress(httpx.HTTPError):
                    scheduler.update()
        assert processes == [str(run.id)]
        assert state(server, run).message == "its process ended with exit code 7"
        assert unfinished(server) == []
        processes.clear()
        if nth > len(asked):
            break
    assert nth > 7


@pytest.mark.parametrize(
    ("number", "why"),
    [
        (signal.SIGINT, "Ctrl-C"),
        (signal.SIGTERM, "SIGTERM"),
        (None, "an error (ZeroDivisionError)"),
    ],
)
def test_the_end_of_a_schedule_ends_its_runs_with_the_reason(
    home, server, processes, monkeypatch, number, why
):
    started = []

    def check():
        if started:
            signal.raise_signal(number) if number else 1 / 0
        started.append(trigger(server, "slow"))

    monkeypatch.setattr("leaseboard.flows.schedule.POLL_SECONDS", 0)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with terminable(), pytest.raises((KeyboardInterrupt, SystemExit, ZeroDivisionError)):
            leaseboard.flows.schedule.serve_schedules(
                load_schedule(home / "conf"), home / "conf", check
            )
    finally:
        signal.signal(signal.SIGINT, before)

    (run,) = started
    assert processes == [str(run.id)]
    assert state(server, run).is_crashed()
    assert state(server, run).message == f"the schedule was stopped by {why}"
    assert unfinished(server) == []


def test_a_run_without_an_owner_is_reported_and_ended_by_the_next_start(
    home, server, deployed, monkeypatch
):
    """The process that was to start it was killed between two of its requests."""
    monkeypatch.setenv("PREFECT_API_URL", str(server.api_url))
    run = trigger(server, "slow")
    server.set_flow_run_state(run.id, Pending())
    (found,) = operate.stuck_flow_runs(fix=False)
    with monkeypatch.context() as patch:
        patch.setattr(Scheduler, "serve", lambda *_: None)
        leaseboard.flows.schedule.serve_schedules(
            load_schedule(home / "conf"), home / "conf", lambda: None
        )

    assert not found.healthy
    assert str(run.id) in found.detail
    assert state(server, run).is_crashed()
    assert state(server, run).message.startswith("no process owns it")


@pytest.mark.slow
def test_a_schedule_that_is_stopped_in_a_run_goes_on_when_it_starts_again(
    home, server, scheduling, monkeypatch
):
    monkeypatch.setenv("PREFECT_API_URL", str(server.api_url))
    asleep = home / "asleep"
    process = scheduling()
    first = trigger(server, "slow")
    until(asleep.exists, home, process)
    second = trigger(server, "slow")
    named = server.read_flow_run(first.id).name
    assert re.fullmatch(r"slow \d{4}-\d\d-\d\d \d\d:\d\d", named)
    reason = f"not started: run {named!r} {first.id} still runs (process "
    until(lambda: state(server, second).is_final(), home, process)
    assert state(server, second).is_cancelled()
    assert state(server, second).message.startswith(reason)
    assert reason in (home / "said.txt").read_text()
    assert logs(server, second.id)[0].startswith(reason)

    assert stop(process, signal.SIGKILL) == -signal.SIGKILL
    assert state(server, first).is_running()
    (found,) = operate.stuck_flow_runs(fix=False)
    assert not found.healthy
    assert str(first.id) in found.detail
    assert "leaseboard doctor --fix" in found.detail

    asleep.unlink()
    process = scheduling()
    assert state(server, first).is_crashed()
    assert state(server, first).message.startswith("its process is gone (process ")
    assert unfinished(server) == []
    third = trigger(server, "slow")
    until(asleep.exists, home, process)
    assert state(server, third).is_running()

    assert stop(process, signal.SIGTERM) == 0
    assert state(server, third).is_crashed()
    assert state(server, third).message == "the schedule was stopped by SIGTERM"
    assert unfinished(server) == []
    assert "Crashed: the schedule was stopped by SIGTERM" in (home / "said.txt").read_text()


@pytest.mark.slow
def test_a_run_s_log_is_what_the_terminal_shows(home, server, scheduling):
    process = scheduling()
    run = trigger(server, "mixed")
    until(lambda: state(server, run).is_final(), home, process)
    stop(process)

    assert state(server, run).is_failed()
    logged = logs(server, run.id)
    assert any("crash: ValueError: out of luck" in line for line in logged)
    assert any(line.startswith("report:") for line in logged)
    said = (home / "said.txt").read_text().splitlines()
    printed = [line for line in said if line.startswith(("[", "report:", "results:", "mlflow:"))]
    assert [line for line in logged if line in printed] == printed
    assert any("the job printed" in line for line in logged)


@pytest.mark.slow
def test_updates_of_a_live_model_are_flow_runs(home, server, scheduling):
    world = World(home)
    (home / "conf" / "schedule.yaml").write_text(KEPT)
    process = scheduling()

    def turned():
        run = trigger(server, "sales", "live-update")
        until(lambda: state(server, run).is_final(), home, process)
        return run, state(server, run)

    run, first = turned()
    assert first.is_completed()
    assert first.message.startswith("1 batch: 60 new")
    assert any(line.startswith("000.csv: 60 new") for line in logs(server, run.id))
    assert server.read_flow_run(run.id).parameters == {"file": "sales.yaml", "out": None}
    assert (home / "runs" / "live" / "sales" / "report.html").is_file()
    until(lambda: set(STEPS) <= set(steps(server, run)), home, process)

    world.deliver(1, world.day(1).drop(columns="a"))
    _, second = turned()
    assert second.is_completed()
    assert "1 rejected; " in second.message
    assert "open: leaseboard live status sales.yaml" in second.message

    (home / "contract.yaml").unlink()
    run, third = turned()
    assert third.is_failed()
    assert "contract.yaml" in third.message
    assert logs(server, run.id)[-1] == f"leaseboard: {third.message}"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda world: (world.home / "sales.yaml").unlink(), "cannot read sales.yaml"),
        (lambda world: (world.home / "contract.yaml").unlink(), "contract.yaml"),
    ],
)
def test_a_live_model_that_cannot_be_updated_is_refused_at_once(
    home, monkeypatch, environment, change, said
):
    change(World(home))
    monkeypatch.chdir(home)
    (home / "conf" / "schedule.yaml").write_text(KEPT)
    with pytest.raises(UsageError, match=said) as raised:
        command.schedule(conf=home / "conf")

    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_schedule_that_is_stopped_while_its_server_starts_leaves_nothing(home, zygote, number):
    process = schedule(zygote, home, "--port", str(free_port()))
    log = home / ".prefect" / "server.log"

    def starting():
        below = psutil.Process(process.pid).children()
        return log.exists() and "prefect" in [each.name() for each in below]

    until(starting, home, process)

    assert stop(process, number) == (-number if number == signal.SIGKILL else 0)


TWO = """
schedules:
  - {name: night, cron: "0 0 1 1 *", suite: tiny}
  - {name: noon, cron: "0 0 1 1 *", suite: tiny}
"""


def test_a_schedule_that_was_taken_out_of_the_file_runs_no_more_until_it_returns(home, server):
    conf = home / "conf"

    def start(plan):
        (conf / "schedule.yaml").write_text(plan)
        names = leaseboard.flows.schedule._deployed(server, load_schedule(conf), conf)
        return {name: place for place, name in names.items()}, names

    def crons(place):
        return [each.schedule.cron for each in server.read_deployment(place).schedules]

    places, _ = start(TWO)
    server.pause_deployment(places["night"])
    _, names = start(TWO.partition("  - {name: noon")[0])

    assert leaseboard.flows.schedule._end_others(server, names, home / "other") == []
    assert leaseboard.flows.schedule._end_others(server, names, conf) == ["noon"]
    assert (len(crons(places["night"])), crons(places["noon"])) == (1, [])
    assert not server.get_scheduled_flow_runs_for_deployments([places["noon"]])
    assert leaseboard.flows.schedule._end_others(server, names, conf) == []
    assert start(TWO.replace("0 0 1 1 *", "0 5 1 1 *"))[0] == places
    assert crons(places["noon"]) == ["0 5 1 1 *"]
    assert server.read_deployment(places["night"]).paused, "as users have set it"


def test_a_deployment_of_a_work_pool_is_not_overwritten(home, server):
    conf = home / "conf"
    (conf / "schedule.yaml").write_text(TWO.replace("night", "pooled"))
    flow = server.create_flow(benchmark)
    kept = server.create_deployment(flow, "pooled", pull_steps=[{"prefect.set": {}}])
    with pytest.raises(UsageError, match="prefect deployment delete benchmark/pooled"):
        leaseboard.flows.schedule._deployed(server, load_schedule(conf), conf)
    assert server.read_deployment(kept).pull_steps


def test_a_run_whose_results_would_be_deleted_does_not_begin(tmp_path, monkeypatch):
    worker = tmp_path / "abcprefect"
    worker.mkdir()
    monkeypatch.chdir(worker)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for out in (None, "runs/nightly"):
        with pytest.raises(UsageError, match="which it deletes with all results"):
            check_kept(out)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    with pytest.raises(UsageError, match="MLFLOW_TRACKING_URI"):
        check_kept(str(tmp_path / "runs"))
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:5000")
    check_kept(str(tmp_path / "runs"))
    monkeypatch.chdir(tmp_path)
    check_kept(None)
