"""Deployments on a real server: what users set in Prefect lasts until the file changes it."""

import pytest
from prefect.client.schemas.actions import DeploymentUpdate
from prefect.client.schemas.schedules import CronSchedule, IntervalSchedule
from prefect.states import Completed, Failed

import leaseboard.flows.schedule
from leaseboard.algorithms.errors import UsageError
from leaseboard.flows import cli, deployments
from leaseboard.flows.schedule import ALONE, Scheduler, resume
from leaseboard.tasks.jobs.suites.timetable import load_schedule
from tests.flows.schedules import trigger

PLAN = """
schedules:
  - {{name: night, cron: "0 3 * * *", suite: tiny, workers: 1}}
"""


@pytest.fixture
def start(home, server, capsys):
    """Start the schedule, serving nothing; return the deployment and what was printed of it."""

    def run(**changes):
        conf = home / "conf"
        file = conf / "schedule.yaml"
        for old, new in changes.values():
            file.write_text(file.read_text().replace(old, new))
        capsys.readouterr()
        names, most = leaseboard.flows.schedule._deployed(server, load_schedule(conf), conf)
        leaseboard.flows.schedule._pause_others(server, names, conf)
        found = server.read_deployment_by_name("benchmark/night")
        lines = [line.removeprefix("night: ") for line in capsys.readouterr().out.splitlines()]
        return found, lines, most

    yield run
    server.delete_deployment(server.read_deployment_by_name("benchmark/night").id)


def crons(found):
    return sorted(str(getattr(each.schedule, "cron", "interval")) for each in found.schedules)


@pytest.mark.slow
def test_what_users_set_in_prefect_survives_a_restart(server, start):
    made, lines, _ = start()
    assert (crons(made), lines) == (["0 3 * * *"], [])
    assert made.schedules[0].slug is None  # Prefect would show it in place of the cron
    server.pause_deployment(made.id)
    server.update_deployment_schedule(
        made.id, made.schedules[0].id, schedule=CronSchedule(cron="0 5 * * *")
    )
    server.create_deployment_schedules(made.id, [(IntervalSchedule(interval=86400), True)])
    tags = sorted({*made.tags, "team-a"} - {ALONE})
    server.update_deployment(
        made.id,
        DeploymentUpdate(
            tags=tags, parameters=made.parameters | {"workers": 2}, concurrency_limit=3
        ),
    )

    found, lines, _ = start()
    assert found.paused
    assert crons(found) == ["0 5 * * *", "interval"]
    assert sorted(found.tags) == tags
    assert found.parameters["workers"] == 2
    assert found.global_concurrency_limit.limit == 3
    assert lines == [
        "parameter workers: 2 (Prefect) stays; the file has 1",
        "schedule: 0 5 * * * UTC (Prefect) stays; the file has 0 3 * * * UTC",
        "tag one at a time: none (Prefect) stays; the file has yes",
        "tag team-a: yes (Prefect) stays; the file has none",
        "schedules in addition: 1 (Prefect) stays; the file has none",
        "concurrency limit: 3 (Prefect) stays; the file has none",
        "paused in Prefect; `leaseboard schedule resume night` resumes it",
    ]  # fmt: skip

    found, lines, _ = start(cron=("0 3 * * *", "0 4 * * *"))
    assert crons(found) == ["0 4 * * *", "interval"]
    assert found.parameters["workers"] == 2
    assert found.paused
    assert lines[1] == (
        "schedule: 0 5 * * * UTC (Prefect) is replaced; the file now has 0 4 * * * UTC"
    )


def test_a_schedule_that_was_deleted_in_prefect_stays_deleted_until_the_file_changes_it(
    server, start
):
    made, _, _ = start()
    server.delete_deployment_schedule(made.id, made.schedules[0].id)
    found, lines, _ = start()
    assert found.schedules == []
    assert lines == ["schedule: none (Prefect) stays; the file has 0 3 * * * UTC"]
    found, _, _ = start(cron=("0 3 * * *", "0 4 * * *"))
    assert crons(found) == ["0 4 * * *"]


def test_a_schedule_that_left_the_file_and_returns_is_resumed(server, start):
    start()
    found, _, _ = start(name=("night", "noon"))
    assert found.paused
    found, lines, _ = start(name=("noon", "night"))
    assert not found.paused
    assert lines == ["resumed: the file has it again"]


def end(client, scheduler, *states):
    for each in states:
        run = trigger(client, "night")
        client.set_flow_run_state(run.id, each, force=True)
        run = client.read_flow_run(run.id)
        scheduler._pause_failing(run, run.deployment_id, 2)


def test_a_schedule_whose_runs_fail_is_paused_and_resumed_by_its_name(
    server, start, monkeypatch, capsys
):
    sent, said = [], []
    monkeypatch.setattr(leaseboard.flows.schedule, "emit", lambda *event: sent.append(event))
    made, _, most = start(after=("workers: 1", "workers: 1, pause_after: 2"))
    assert most == {made.id: 2}
    scheduler = Scheduler(server, {made.id: "night"}, said.append, most)
    end(server, scheduler, Failed(), Completed(), Failed())
    assert not server.read_deployment(made.id).paused
    end(server, scheduler, Failed())
    assert server.read_deployment(made.id).paused
    line = "paused after 2 failed runs: `leaseboard schedule resume night` resumes it"
    assert said == [f"night: {line}"]
    assert sent == [("leaseboard.schedule.paused", "leaseboard.schedule", "night", {"what": line})]

    monkeypatch.setenv("PREFECT_API_URL", str(server.api_url))
    with pytest.raises(SystemExit) as ended:
        cli.main(["schedule", "resume", "night"])
    assert ended.value.code == 0
    assert not server.read_deployment(made.id).paused
    assert capsys.readouterr().out.splitlines()[-1] == "night: resumed"
    end(server, scheduler, Failed())
    assert not server.read_deployment(made.id).paused, "counted again from 0"
    with pytest.raises(UsageError, match="'nigth'"):
        resume("nigth")


def test_what_was_applied_is_recorded_in_prefect(server, start):
    made, _, _ = start()
    assert deployments.recorded(server, made.id)["file"]["schedule"] == "0 3 * * * UTC"
