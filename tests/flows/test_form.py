"""A suite from the form of Prefect's page is monitored, cancelled, repeated and read there."""

import json
import os
import re
import shutil
import urllib.request
from pathlib import Path

import pytest
from playwright.sync_api import expect
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import FlowRunFilter
from prefect.settings import PREFECT_API_URL, temporary_settings

from leaseboard.flows.server import PrefectServer
from tests.flows.schedules import make_home, schedule, state, stop, until

pytestmark = pytest.mark.browser

WAITS = '''
"""One that waits until it is let go."""
import time
from pathlib import Path

from leaseboard.algorithms.chacha.baselines import Vanilla


class Waits(Vanilla):
    """Vanilla, when it may."""

    def run(self, env, seed):
        print("I wait")
        while not Path("{home}/go").exists():
            time.sleep(0.1)
        yield from super().run(env, seed)
'''
SUITE = """
title: Waiting
data: [{{data: 'synthetic:fried?rows=300&seed=0', name: small}}]
baselines: false
algorithms: [vanilla, '{home}/waits.py:Waits']
"""
THEIRS = ("/assets/", "[Vue", "Failed to load resource", "GPU stall")
"""Prefect's own: what its scripts say, and what the browser says of what they asked for."""
PLAN = 'schedules: [{{name: slow, cron: "0 0 1 1 *", suite: tiny, out: {home}/runs/tiny}}]'


@pytest.fixture(scope="module")
def home(tmp_path_factory, empty_store):
    made = make_home(tmp_path_factory.mktemp("home"), PLAN)
    (made / "waits.py").write_text(WAITS.replace("{home}", str(made)))
    (made / "conf" / "suites" / "waiting.yaml").write_text(SUITE.format(home=made))
    (made / "mlruns").mkdir()
    shutil.copy(empty_store, made / "mlruns" / "mlflow.db")
    return made


@pytest.fixture(scope="module")
def client(tmp_path_factory, environment, prefect_tables, forked_services):
    prefect_tables(Path(os.environ["PREFECT_HOME"]))
    with (
        PrefectServer(tmp_path_factory.mktemp("server") / "log", scheduling=True) as server,
        temporary_settings({PREFECT_API_URL: server.wait()}),
        get_client(sync_client=True) as made,
    ):
        yield made


@pytest.fixture(scope="module")
def scheduling(home, client, zygote):
    process = schedule(zygote, home, PREFECT_API_URL=str(client.api_url))
    until(lambda: "serving" in (home / "said.txt").read_text(), home, process)
    yield process
    stop(process)


@pytest.fixture
def form(client, scheduling):
    return client.read_deployment_by_name("benchmark/any-suite")


def runs(client, form):
    """Return the flow runs that were asked for by the form."""
    mine = {"deployment_id": {"any_": [str(form.id)]}}
    return client.read_flow_runs(flow_run_filter=FlowRunFilter(**mine))


def behind(client, run):
    """Return the tasks after which each of a run's comes, by their names."""
    body = {"flow_runs": {"id": {"any_": [str(run.id)]}}}
    found = client.request("POST", "/task_runs/filter", json=body).json()
    names = {task["id"]: task["name"] for task in found}
    return {
        task["name"]: {
            names[each["id"]] for given in task["task_inputs"].values() for each in given
        }
        for task in found
    }


def check_chain(after):
    """Check that each task comes after those that made its inputs, also if they share texts."""
    assert after["prepare small for stream"] == {"fetch small"}
    jobs = {name: found for name, found in after.items() if " on small" in name}
    assert list(jobs.values()) == [{"prepare small for stream"}] * 2
    (again,) = after["score"]  # the other job was done before
    assert "Waits on small" in again
    assert after["report"] >= {"score"}
    assert after["record"] >= {"score", "report"}


def ask(page, site, form, suite):
    """Fill the form in and send it; once the server has the run, the page shows all of the form.

    Now and then Prefect's page says "Oops. Something went wrong." and sends nothing, of which its
    server knows nothing either: then the form is opened again, as people do, at most twice.
    """
    refused = []
    page.on(
        "response",
        lambda answer: answer.ok or refused.append(f"{answer.status} {answer.url}"),
    )
    sent, oops = re.compile(rf"{form.id}(\?|$)"), page.get_by_text("Oops").first
    for tries in range(3):
        page.goto(f"{site}/deployments/deployment/{form.id}/run")
        field = page.locator(".p-select").first
        field.click()
        page.keyboard.press("ArrowDown")
        page.locator(".p-select-option").get_by_text(suite, exact=True).click()
        expect(field).to_have_text(suite)
        expect(page.locator(".p-select-option")).to_have_count(0)
        page.get_by_role("button", name="Submit").click()
        page.wait_for_function(
            "!location.pathname.endsWith('/run') || document.body.innerText.includes('Oops')"
        )
        if oops.count() == 0 or sent.search(page.url):
            break
        print(f"try {tries + 1}: Oops, after the answers {refused}")
    expect(page).to_have_url(sent)


def leave(page):
    """Look away while the run works: the moving picture of its tasks takes a whole core."""
    page.goto("about:blank")


@pytest.mark.parametrize(
    ("asked", "rule"),
    [
        ({"suite": "waiting", "workers": 0}, "workers"),
        ({"suite": "none-such"}, "suite"),
        ({}, "suite"),
    ],
)
def test_what_the_form_does_not_allow_is_refused_before_anything_runs(client, form, asked, rule):
    before = runs(client, form)
    url = f"{str(client.api_url).rstrip('/')}/deployments/{form.id}/create_flow_run"
    request = urllib.request.Request(
        url, json.dumps({"parameters": asked}).encode(), {"content-type": "application/json"}
    )
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request)

    assert refused.value.code == 409
    assert re.search(rule, refused.value.read().decode())
    assert runs(client, form) == before


@pytest.mark.slow
def test_a_suite_is_run_cancelled_repeated_and_read_in_the_browser(
    home, client, scheduling, form, silent_page
):
    site = str(client.api_url).rstrip("/").removesuffix("/api")
    page = silent_page(site, theirs=THEIRS, viewport={"width": 1400, "height": 1200})
    ask(page, site, form, "waiting")

    leave(page)
    (run,) = runs(client, form)
    assert run.parameters["suite"] == "waiting"
    finished = home / "runs" / "waiting" / "jobs"
    until(lambda: len(list(finished.glob("*/result.json"))) == 1, home, scheduling)
    (kept,) = finished.glob("*/result.json")
    stamp = kept.stat().st_mtime_ns
    page.goto(f"{site}/runs/flow-run/{run.id}")
    expect(page.get_by_text("Running").first).to_be_visible()
    expect(page.get_by_text("fetch small").first).to_be_visible()

    page.get_by_role("button", name="Cancel", exact=True).first.click()
    page.get_by_role("button", name="Confirm").click()
    until(lambda: not state(client, run).is_running(), home, scheduling)
    leave(page)
    until(lambda: state(client, run).is_cancelled(), home, scheduling)  # once all has ended
    assert not list(home.glob("runs/waiting/.data-*"))

    (home / "go").touch()
    page.goto(f"{site}/runs/flow-run/{run.id}")
    page.get_by_role("button", name="Retry").click()
    expect(page.get_by_role("button", name="Retry")).to_have_count(2)  # one in the dialog
    page.get_by_role("button", name="Retry").last.click()
    until(lambda: not state(client, run).is_cancelled(), home, scheduling)
    leave(page)
    until(lambda: state(client, run).is_completed(), home, scheduling)
    assert kept.stat().st_mtime_ns == stamp
    assert len(list(finished.glob("*/result.json"))) == 2
    until(lambda: "record" in behind(client, run), home, scheduling)
    check_chain(behind(client, run))

    page.goto(f"{site}/runs/flow-run/{run.id}")
    expect(page.get_by_text("I wait").first).to_be_visible()
    page.get_by_text("Artifacts", exact=True).click()
    page.get_by_text("waiting-leaderboard", exact=True).last.click()
    expect(page.get_by_text("Waits").first).to_be_visible()
