"""Flow runs are ended when their process is gone, and only then; one of a deployment at a time."""

import platform
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from prefect import flow, task
from prefect.client.orchestration import get_client
from prefect.flows import EntrypointType
from prefect.states import Cancelling, Completed, Crashed, Pending, Running

from leaseboard.flows import flow_runs
from leaseboard.flows.flow_runs import (
    TAG,
    claim,
    dead_runs,
    end,
    end_dead_runs,
    in_the_way,
    take,
    taken,
)
from leaseboard.tasks.machine.owners import owner

ROOT = Path(__file__).resolve().parents[2]


def test_a_run_that_has_ended_waits_for_its_server_for_a_while(monkeypatch):
    asked = []

    def healthcheck():
        asked.append(1)
        return OSError() if len(asked) < answers else None

    client = SimpleNamespace(api_healthcheck=healthcheck)
    monkeypatch.setattr(flow_runs, "WATCH_SECONDS", 0)
    answers = 4
    flow_runs.await_answer(client)
    assert len(asked) == 4

    answers = 1e9
    monkeypatch.setattr(flow_runs, "AWAY_SECONDS", 0)
    flow_runs.await_answer(client)
    assert len(asked) == 5


@flow(name="left-behind")
def left_behind():
    """Do nothing; this flow is only registered."""


@task(task_run_name="of a dead run")
def begun():
    """Do nothing; this flow is only registered."""


@pytest.fixture
def client(url):
    with get_client(sync_client=True) as made:
        yield made


@pytest.fixture(scope="module")
def dead():
    """Return the owner of a process that has ended."""
    code = "from leaseboard.tasks.machine.owners import owner; print(owner())"
    answer = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return answer.stdout.strip()


def running(client, owner_, state=None, **options):
    """Return a flow run in `state` that `owner_` has claimed."""
    run = client.create_flow_run(left_behind, state=Pending(), **options)
    client.update_flow_run(run.id, tags=["mine", "leaseboard", f"owner:{owner_}"])
    client.set_flow_run_state(run.id, state or Running(), force=True)
    return client.read_flow_run(run.id)


def started(client, deployment):
    """Return a run of `deployment` that this process has claimed, running if Prefect lets it."""
    run = client.create_flow_run_from_deployment(deployment)
    client.set_flow_run_state(run.id, Pending())
    answer = client.set_flow_run_state(run.id, Running())
    claim(client, run)
    return client.read_flow_run(run.id), answer.state.type.value


@pytest.mark.slow
def test_a_run_whose_process_is_gone_is_ended_with_its_tasks(client, dead):
    for state in (Pending(), Running(), Cancelling()):
        run = running(client, dead, state)
        begun_task = client.create_task_run(begun, run.id, dynamic_key="0", state=Running())

        assert [found.id for found in dead_runs(client)] == [run.id]
        assert [found.id for found in end_dead_runs(client)] == [run.id]
        ended = client.read_flow_run(run.id).state
        said = f"its process is gone (process {dead.split()[1]} on {platform.node()}):"
        if cancelled := state.is_cancelling():
            said = "cancelled in Prefect"
        assert ended.message.startswith(said)
        assert (ended.is_cancelled(), ended.is_crashed()) == (cancelled, not cancelled)
        assert client.read_task_run(begun_task.id).state.type == ended.type
    assert end_dead_runs(client) == []


def test_a_run_that_lives_or_is_of_another_host_or_not_ours_is_left_alone(client, dead):
    elsewhere = f"elsewhere {dead.split(maxsplit=1)[1]} machine"
    theirs = client.create_flow_run(left_behind, state=Pending())
    kept = [running(client, owner()), running(client, elsewhere), theirs]

    assert end_dead_runs(client) == []
    for run in kept:
        assert not client.read_flow_run(run.id).state.is_final()
        client.set_flow_run_state(run.id, Completed(), force=True)


def test_the_dead_behind_a_page_of_the_living_are_found(client, dead, monkeypatch):
    monkeypatch.setattr(flow_runs, "_PAGE", 2)
    alive = [running(client, owner()) for _ in range(3)]
    gone = [running(client, dead) for _ in range(3)]
    alive += [running(client, owner()) for _ in range(3)]

    assert {run.id for run in end_dead_runs(client)} == {run.id for run in gone}
    for run in alive:
        assert client.read_flow_run(run.id).state.is_running()
        client.set_flow_run_state(run.id, Completed(), force=True)


def test_a_claim_takes_over_and_keeps_the_tags_of_others(client, dead):
    run = running(client, dead)
    claim(client, run)

    tags = client.read_flow_run(run.id).tags
    assert sorted(tags) == sorted(["mine", "leaseboard", f"owner:{owner()}"])
    assert end_dead_runs(client) == []
    client.set_flow_run_state(run.id, Completed(), force=True)


class TestTaking:
    @pytest.fixture
    def deployment(self, client):
        kind = EntrypointType.MODULE_PATH
        return left_behind.to_deployment("taken", tags=[TAG], entrypoint_type=kind).apply()

    def test_the_quicker_of_two_has_it(self, client, deployment, dead, monkeypatch):
        run = client.create_flow_run_from_deployment(deployment)
        take(client, run)
        monkeypatch.setattr(flow_runs, "owner", lambda: dead)
        take(client, run)

        assert taken(client, [deployment]) == []
        assert dead_runs(client) == []
        monkeypatch.undo()
        assert [found.id for found in taken(client, [deployment])] == [run.id]
        client.set_flow_run_state(run.id, Completed(), force=True)

    def test_one_that_was_taken_by_a_process_that_is_gone_is_dead(
        self, client, deployment, dead, monkeypatch
    ):
        run = client.create_flow_run_from_deployment(deployment)
        monkeypatch.setattr(flow_runs, "owner", lambda: dead)
        take(client, run)

        (ended,) = end_dead_runs(client)
        assert ended.id == run.id
        assert dead.split()[1] in client.read_flow_run(run.id).state.message


class TestOneAtATime:
    @pytest.fixture
    def deployment(self, client):
        made = left_behind.to_deployment("free", entrypoint_type=EntrypointType.MODULE_PATH)
        return made.apply()

    def test_the_later_gives_way_and_names_the_earlier(self, client, deployment):
        first, _ = started(client, deployment)
        second, _ = started(client, deployment)

        assert not in_the_way(client, first)
        assert in_the_way(client, second) == (
            f"not started: run {first.name!r} {first.id} still runs"
            f" (process {owner().split()[1]} on {platform.node()})"
        )
        for run in (first, second):
            client.set_flow_run_state(run.id, Completed(), force=True)
        assert not in_the_way(client, second)

    def test_one_that_has_not_begun_gives_way_too(self, client, deployment):
        first, _ = started(client, deployment)
        waiting = client.create_flow_run_from_deployment(deployment)

        assert str(first.id) in in_the_way(client, waiting)
        assert not in_the_way(client, first)
        for run in (first, waiting):
            client.set_flow_run_state(run.id, Completed(), force=True)

    def test_a_dead_one_is_ended_instead(self, client, deployment, dead):
        first, _ = started(client, deployment)
        client.update_flow_run(first.id, tags=["leaseboard", f"owner:{dead}"])
        second, _ = started(client, deployment)

        assert not in_the_way(client, second)
        assert client.read_flow_run(first.id).state.is_crashed()
        client.set_flow_run_state(second.id, Completed(), force=True)

    def test_one_on_another_host_lives(self, client, deployment, dead):
        first, _ = started(client, deployment)
        there = f"elsewhere {dead.split(maxsplit=1)[1]} machine"
        client.update_flow_run(first.id, tags=["leaseboard", f"owner:{there}"])
        second, _ = started(client, deployment)

        assert "on elsewhere)" in in_the_way(client, second)
        for run in (first, second):
            client.set_flow_run_state(run.id, Completed(), force=True)


def test_a_run_that_was_deleted_since_it_was_read_needs_no_end(client, dead):
    run = running(client, dead)
    client.delete_flow_run(run.id)

    end(client, run, Crashed(message="late"))
    assert end_dead_runs(client) == []
