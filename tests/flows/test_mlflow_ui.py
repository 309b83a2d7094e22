"""A suite in the MLflow UI, in a real browser: jobs, children, charts, leaderboard, figures."""

from __future__ import annotations

import re
import urllib.request

import psutil
import pytest
from mlflow.tracking import MlflowClient
from playwright.sync_api import expect

from tests.flows.waiting import free_port, until

pytestmark = [pytest.mark.browser, pytest.mark.slow]

SUITE = """
title: Two learners
data: [{data: "synthetic:fried?rows=600&seed=0", name: fried}, "sklearn:diabetes"]
baselines: false
algorithms: [vanilla, {algorithm: chacha-literal, name: paper}]
repetitions: 2
environment: {max_rows: 400}
"""
THEIRS = ("AG Grid", "users/current", "GPU stall", "ResizeObserver")
"""MLflow's own noise: old options of its grid, a user where no one logs in, slow drawing,
observers that lag behind."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("ui")


@pytest.fixture(scope="module")
def store(folder, empty_store):
    (folder / "mlflow.db").write_bytes(empty_store.read_bytes())
    return f"sqlite:///{folder / 'mlflow.db'}"


@pytest.fixture(scope="module")
def printed(folder, store, zygote):
    """Return what `leaseboard run` of the suite prints."""
    (folder / "two.yaml").write_text(SUITE)
    command = ["-m", "leaseboard", "run", folder / "two.yaml", "--local", "--workers", "1"]
    done = zygote.run([*command, "--run-dir", folder / "run", "--tracking-uri", store], cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout.decode()


@pytest.fixture(scope="module")
def server(store, folder, zygote):
    """Yield the address of `leaseboard ui` on the store."""
    port = free_port()
    with (folder / "said.txt").open("w") as said:
        command = ["-m", "leaseboard", "ui", "--port", str(port), "--tracking-uri", store]
        process = zygote.start(command, cwd=folder, out=said, err=said)
    address = f"http://127.0.0.1:{port}"
    try:
        until(lambda: _answers(f"{address}/health"), process)
        yield address
    finally:
        family = psutil.Process(process.pid).children(recursive=True)
        process.terminate()
        process.wait(timeout=240)
        _, alive = psutil.wait_procs(family, timeout=240)
        assert not alive


def _answers(address):
    try:
        with urllib.request.urlopen(address, timeout=5) as answer:
            return answer.status == 200
    except OSError:
        return False


@pytest.fixture
def page(silent_page, server):
    return silent_page(server, theirs=THEIRS, viewport={"width": 1600, "height": 1000})


@pytest.fixture
def jobs(printed, server):
    """Return the address that the run printed, on this server."""
    place = re.search(r"mlflow: .*/(#\S+)", printed)
    return f"{server}/{place[1]}"


def links(page, words):
    return page.get_by_role("link", name=re.compile(words))


def test_the_printed_address_shows_the_jobs_with_their_scores_and_the_leaderboard(page, jobs):
    page.goto(jobs)
    expect(page.get_by_role("heading", name="Runs", exact=True)).to_be_visible()
    expect(links(page, "^(vanilla|paper) · ")).to_have_count(8)
    for column in ("score", "cpu_seconds", "name", "data", "leaseboard.status"):
        expect(page.locator(f"[role=columnheader]:has-text('{column}')").first).to_be_attached()
    expect(page.get_by_role("columnheader", name="95 % interval")).to_be_attached()


def considered_in(page):
    return links(page, "^[0-9]+ · paper · sklearn:diabetes · 0$").first


def test_the_leaderboards_of_all_runs_are_lines_of_their_algorithms(page, jobs):
    page.goto(jobs)
    with page.expect_popup() as opened:
        links(page, "^over time$").first.dispatch_event("click")
    chart = opened.value.locator("[data-testid*=chart-card]").filter(
        has_text="cpu_seconds/vanilla"
    )
    expect(chart.first).to_be_visible()
    expect(opened.value.get_by_text("Group: two").first).to_be_visible()


def test_the_report_opens(page, jobs):
    page.goto(jobs.replace("jobs", "nights"))
    links(page, "^two 20").first.click()
    with page.expect_popup() as opened:
        links(page, "^The report$").first.click()
    report = opened.value.frame_locator("iframe")
    expect(report.get_by_role("heading", name="Two learners").first).to_be_visible()


def test_a_job_leads_to_its_configurations_and_suite(page, jobs):
    page.goto(jobs)
    links(page, "^paper · sklearn:diabetes · 0$").first.click()
    with page.expect_popup() as opened:
        links(page, "^[0-9]+ configurations$").click()
    expect(considered_in(opened.value)).to_be_visible()
    with page.expect_popup() as opened:
        links(page, "^[0-9]+ that held a lease$").click()
    expect(considered_in(opened.value)).to_be_visible()
    page.get_by_role("tab", name="Model metrics").click()
    expect(page.locator(".main-svg").first).to_be_visible()
    page.get_by_role("tab", name="Overview").click()
    links(page, "^two 20").last.click()
    expect(links(page, "^(vanilla|paper) · ").first).to_be_visible()


def test_what_is_logged_through_the_server_is_in_the_store_of_its_machine(server, store):
    client = MlflowClient(server)
    run = client.create_run(client.create_experiment("through the server")).info.run_id
    client.log_text(run, "x", "said.txt")
    assert [each.path for each in MlflowClient(store).list_artifacts(run)] == ["said.txt"]
