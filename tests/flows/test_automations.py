"""Automations of ``conf/automations`` on a real server, fired by the events of real runs."""

import json
import os
import re
import threading
from functools import partial
from http.server import BaseHTTPRequestHandler, HTTPServer
from operator import itemgetter

import pytest
from prefect.blocks.notifications import CustomWebhookNotificationBlock

from tests.flows.schedules import ROOT, state, trigger, until
from tests.tasks.live.world import World

pytestmark = pytest.mark.slow
OPENED = "leaseboard.incident.opened"
PLAN = """
schedules:
  - {{name: sales, cron: "0 0 1 1 *", live: sales.yaml}}
  - {{name: retrain, cron: "0 0 1 1 *", suite: tiny, out: {home}/runs/tiny, workers: 1}}
  - {{name: gate, cron: "0 0 1 1 *", suite: strict, gate: true, out: {home}/runs/strict}}
"""
STRICT = """
title: T
data: ['synthetic:fried?rows=500&seed=0']
baselines: false
algorithms: [vanilla]
requirements:
  - {algorithm: vanilla, metric: score, at_most: 0.001, reason: "never"}
"""


class Webhook(BaseHTTPRequestHandler):
    """Receiver of notifications."""

    def do_POST(self):
        self.server.got.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass


@pytest.fixture(autouse=True)
def _files(home):
    World(home)
    (home / "conf" / "suites" / "strict.yaml").write_text(STRICT)


@pytest.fixture
def webhook():
    with HTTPServer(("127.0.0.1", 0), Webhook) as server:
        server.got = []
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def create(home, server, zygote):
    """Create the automation of a file as its first lines say, with `values` put in."""

    def run(name, **values):
        text = (ROOT / "conf" / "automations" / f"{name}.yaml").read_text()
        for word, value in values.items():
            text = text.replace(word, str(value))
        (home / f"{name}.yaml").write_text(text)
        command = ["-m", "prefect", "automation", "create", "--from-file", home / f"{name}.yaml"]
        address = {"PREFECT_API_URL": str(server.api_url)}
        done = zygote.run(command, cwd=home, env=os.environ | address)
        assert done.returncode == 0, (done.stdout, done.stderr)

    return run


def block(webhook):
    """Save a block that sends notifications to `webhook`; return its id."""
    made = CustomWebhookNotificationBlock(
        name="alerts", url=f"http://127.0.0.1:{webhook.server_port}/",
        json_data={"subject": "{{subject}}", "body": "{{body}}"},
    )  # fmt: skip
    return made.save("alerts", overwrite=True)


def events(client, resource):
    """Return the events of a resource, the newest first."""
    body = {"filter": {"resource": {"id": [resource]}}}
    return client.request("POST", "/events/filter", json=body).json()["events"]


def runs(client, deployment):
    body = {"deployments": {"name": {"any_": [deployment]}}, "flow_runs": {
        "state": {"type": {"not_any_": ["SCHEDULED"]}}}}  # fmt: skip
    return client.request("POST", "/flow_runs/filter", json=body).json()


def test_incidents_and_regressions_of_real_runs_notify_and_run_a_deployment(
    home, server, scheduling, webhook, create
):
    process = scheduling()
    create("notify", BLOCK_ID=block(webhook))
    deployment = server.read_deployment_by_name("benchmark/retrain")
    create("retrain", DEPLOYMENT_ID=deployment.id, MODEL="sales")

    run = trigger(server, "sales", "live-update")  # of old data, which is an incident
    subjects = partial(map, itemgetter("subject"), webhook.got)
    until(lambda: f"{OPENED}: sales" in subjects(), home, process)
    until(lambda: runs(server, "retrain"), home, process)
    assert "mlflow: http://127.0.0.1:5000/#/models/sales" in webhook.got[0]["body"]

    def found():
        return {each["event"]: each for each in events(server, "leaseboard.model.sales")[::-1]}

    until(lambda: found().keys() >= {"leaseboard.run.ended", OPENED}, home, process)
    assert found()["leaseboard.run.ended"]["payload"]["what"].startswith("1 batch")
    related = found()[OPENED]["related"]
    assert any(str(run.id) in each["prefect.resource.id"] for each in related)

    run = trigger(server, "gate", "gate")
    until(lambda: "leaseboard.regression.found: strict" in subjects(), home, process)
    until(lambda: state(server, run).is_final(), home, process)
    assert re.search(r"Gate failed.*\n.*vanilla.*: broken: ", webhook.got[-1]["body"])
    wanted = {"artifacts": {"key": {"any_": ["strict-gate"]}}}
    (verdict,) = server.request("POST", "/artifacts/filter", json=wanted).json()
    assert verdict["description"] == "a regression was found"
    assert "Gate failed" in verdict["data"]
    assert state(server, run).message == "a regression was found"
    until(lambda: events(server, "leaseboard.suite.strict"), home, process)
    assert re.search(r"vanilla.*broken", str(events(server, "leaseboard.suite.strict")))


def test_the_end_of_a_suite_is_an_event(home, server, scheduling):
    process = scheduling()
    run = trigger(server, "retrain")
    until(lambda: state(server, run).is_completed(), home, process)
    until(lambda: events(server, "leaseboard.suite.tiny"), home, process)
    ended = events(server, "leaseboard.suite.tiny")[0]
    assert ended["payload"]["jobs"] == 1
    assert ended["payload"]["links"]["report"].startswith("http://127.0.0.1:5000/#/experiments/")
