"""A suite in the MLflow UI, in a real browser: jobs, children, charts, the board, figures."""

from __future__ import annotations

import re
import socket
import time
import urllib.request

import psutil
import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser

SUITE = """
title: Two learners
data: [{data: "synthetic:fried?rows=600&seed=0", name: fried}, "sklearn:diabetes"]
baselines: false
algorithms: [vanilla, {name: chacha-paper, label: paper}]
repetitions: 2
bench: {max_rows: 400}
"""
THEIRS = ("AG Grid", "users/current", "GPU stall", "ResizeObserver")
"""MLflow's own noise: old options of its grid, a user where nobody logs in, slow drawing,
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
    """What `leaseboard run` of the suite prints."""
    (folder / "two.yaml").write_text(SUITE)
    command = ["-m", "leaseboard", "run", folder / "two.yaml", "--local", "--workers", "1"]
    done = zygote.run([*command, "--out", folder / "run", "--tracking-uri", store], cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout.decode()


@pytest.fixture(scope="module")
def server(store, folder, zygote):
    """The address of `leaseboard ui` on the store."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with (folder / "said.txt").open("w") as said:
        command = ["-m", "leaseboard", "ui", "--port", str(port), "--tracking-uri", store]
        process = zygote.start(command, cwd=folder, out=said, err=said)
    address = f"http://127.0.0.1:{port}"
    deadline = time.monotonic() + 180
    try:
        while not _answers(f"{address}/health"):
            assert process.poll() is None, "leaseboard ui ended"
            assert time.monotonic() < deadline, "leaseboard ui did not answer within 180 s"
            time.sleep(0.2)
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
    """The address that the run printed, on this server."""
    place = re.search(r"mlflow: .*/(#\S+)", printed)
    return f"{server}/{place[1]}"


def links(page, words):
    return page.get_by_role("link", name=re.compile(words))


def test_the_printed_address_shows_the_jobs_with_their_scores_and_the_board(page, jobs):
    page.goto(jobs)
    expect(page.get_by_role("heading", name="Runs", exact=True)).to_be_visible()
    expect(links(page, "^(vanilla|paper) · ")).to_have_count(8)
    for column in ("score", "cpu_seconds", "label", "data", "leaseboard.status"):
        expect(page.locator(f"[role=columnheader]:has-text('{column}')").first).to_be_attached()
    expect(page.get_by_role("columnheader", name="95 % interval")).to_be_attached()


def test_the_link_of_a_data_set_draws_the_curves_of_each_algorithm(page, jobs):
    page.goto(jobs)
    with page.expect_popup() as opened:
        links(page, "^fried$").first.dispatch_event("click")
    page = opened.value
    expect(page.get_by_text("Group: vanilla").first).to_be_visible()
    expect(page.get_by_text("Group: paper").first).to_be_visible()
    curve = page.locator("[data-testid*=chart-card]").filter(has_text="progressive_mse").first
    expect(curve.locator(".scatterlayer .trace").nth(1)).to_be_attached()


def test_a_job_leads_to_its_charts_configurations_and_suite(page, jobs):
    page.goto(jobs)
    links(page, "^paper · sklearn:diabetes · 0$").first.click()
    with page.expect_popup() as opened:
        links(page, "^[0-9]+ configurations$").click()
    considered = links(opened.value, "^[0-9]+ · paper · sklearn:diabetes · 0$")
    expect(considered.first).to_be_visible()
    page.get_by_role("tab", name="Model metrics").click()
    expect(page.locator(".main-svg").first).to_be_visible()
    page.get_by_role("tab", name="Overview").click()
    links(page, "^two$").last.click()
    expect(links(page, "^(vanilla|paper) · ").first).to_be_visible()
    page.get_by_role("tab", name="Artifacts").click()
    page.get_by_text("figures.html").click()
    expect(page.frame_locator("iframe").locator(".main-svg").first).to_be_visible()
