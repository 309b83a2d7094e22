"""``prefect.yaml``, deployed as Prefect's users do: work pools, and a run by a real worker."""

import json
import os

import pytest
import yaml
from prefect.states import Cancelling
from prefect.workers.base import BaseJobConfiguration

from leaseboard.tasks.folder.results import read_results
from tests.flows.schedules import ROOT, jobs, state, states, stop, trigger
from tests.flows.waiting import until

pytestmark = pytest.mark.slow
GIVEN = yaml.safe_load((ROOT / "prefect.yaml").read_text())


@pytest.fixture
def prefect(home, server, zygote):
    """Return a function that runs Prefect's command in the folder of a user."""
    store = f"sqlite:///{home / 'mlruns' / 'mlflow.db'}"
    own = {"PREFECT_API_URL": str(server.api_url), "PYTHONPATH": str(ROOT),
           "MLFLOW_TRACKING_URI": store}  # fmt: skip

    def run(*words):
        done = zygote.run(["-m", "prefect", *words], cwd=home, env=os.environ | own)
        assert done.returncode == 0, (done.stdout, done.stderr)
        return done.stdout.decode()

    def start(*words):
        with (home / "said.txt").open("w") as said:
            command = ["-m", "prefect", *words]
            return zygote.start(command, cwd=home, out=said, err=said, env=os.environ | own)

    run.start = start
    return run


@pytest.fixture
def deployed(home, server, prefect):
    """Deploy ``prefect.yaml`` with suites of a test."""
    given = yaml.safe_load((ROOT / "prefect.yaml").read_text())
    nightly = given["deployments"][0]
    nightly["parameters"]["suite"] = "tiny"
    waiting = nightly | {"name": "waiting-on-a-worker", "parameters": {"suite": "waiting"}}
    given["deployments"].append(waiting)
    (home / "prefect.yaml").write_text(yaml.safe_dump(given))
    prefect("work-pool", "create", "leaseboard", "--type", "process", "--overwrite")
    prefect("work-pool", "create", "leaseboard-docker", "--type", "docker", "--overwrite")
    prefect("--no-prompt", "deploy", "--all")


def test_the_deployments_are_those_of_the_file(server, deployed):
    own = yaml.safe_load((ROOT / "conf" / "schedule.yaml").read_text())["schedules"]
    names = {each["name"]: each for each in GIVEN["deployments"]}
    assert not names.keys() & {entry["name"] for entry in own}
    for name, each in names.items():
        flow = {"benchmark": "benchmark", "gate_suite": "gate", "update_live_model": "live-update"}
        found = server.read_deployment_by_name(
            f"{flow[each['entrypoint'].rpartition('.')[2]]}/{name}"
        )
        assert found.global_concurrency_limit.limit == 1
        assert found.work_pool_name == each["work_pool"]["name"]


def test_the_job_of_the_docker_pool_is_valid_without_a_daemon(server, deployed):
    pool = server.request("GET", "/work_pools/leaseboard-docker").json()
    template = pool["base_job_template"]
    given = server.read_deployment_by_name("benchmark/nightly-in-docker").job_variables
    assert not given.keys() - template["variables"]["properties"].keys()
    job = BaseJobConfiguration._get_base_config_defaults(template["variables"]["properties"])
    asked = json.loads(json.dumps(template["job_configuration"]))
    assert {asked[name] for name in given} == {f"{{{{ {name} }}}}" for name in given}
    assert given["image"] == "leaseboard:0.1.0"
    assert given["image_pull_policy"] in template["variables"]["properties"]["image_pull_policy"][
        "enum"]  # fmt: skip
    assert job["auto_remove"] is False
    image = (ROOT / "conf" / "deploy" / "compose.yaml").read_text()
    assert f"image: {given['image']}" in image


def test_a_worker_runs_a_suite_and_cancels_one_without_a_crash(home, server, prefect, deployed):
    worker = prefect.start("worker", "start", "--pool", "leaseboard")
    said = (home / "said.txt").read_text
    try:
        run = trigger(server, "nightly-on-a-worker")
        until(lambda: state(server, run).is_final(), worker, said)
        assert state(server, run).is_completed(), said()
        assert [result.status for result in read_results(home / "runs" / "tiny")] == ["ok"]
        assert server.read_flow_run(run.id).name.startswith("tiny ")

        run = trigger(server, "waiting-on-a-worker")
        until((home / "waits").exists, worker, said)
        server.set_flow_run_state(run.id, Cancelling())
        until(lambda: state(server, run).is_final(), worker, said)
        assert "Crashed" not in states(server, run)
        assert state(server, run).is_cancelled()
        until(lambda: set(jobs(server, run).values()) == {"COMPLETED", "CANCELLED"}, worker, said)
    finally:
        if worker.poll() is None:
            stop(worker)
