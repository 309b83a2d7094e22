"""Pictures of a suite: its report, and its pages in the MLflow UI.

``make screenshots`` runs the suite `quick` and writes them to docs/_build/screenshots. For another
run, use ``python docs/screenshots.py runs/mine --tracking-uri URI``.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from leaseboard.tasks.machine import environment
from leaseboard.tasks.machine.environment import prepare_environment
from leaseboard.tasks.report.build import suite_of

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
SCREEN = {"width": 1280, "height": 900}
PHONE = {"width": 390, "height": 844}
PATIENCE = 90_000
"""Milliseconds until a page that does not come is an error."""


def report(browser: Browser, page_file: Path, out: Path) -> None:
    """Take the report on a screen, on a phone and on paper."""
    for name, size in (("light", SCREEN), ("phone", PHONE)):
        page = browser.new_page(viewport=size)
        page.goto(page_file.resolve().as_uri())
        see_all(page)
        page.screenshot(path=out / f"report-{name}.png")
        page.screenshot(path=out / f"report-{name}-whole.png", full_page=True)
        if name == "light":
            page.pdf(path=out / "report-print.pdf")
        page.close()


def see_all(page: Page) -> None:
    """Scroll past every chart, which is drawn when it is seen."""
    for chart in page.locator(".chart:visible").all():
        chart.scroll_into_view_if_needed()
        chart.locator(".main-svg").first.wait_for()
    page.evaluate("window.scrollTo(0, 0)")


def mlflow(browser: Browser, address: str, suite: str, out: Path) -> None:
    """Take the suite's jobs, its leaderboards over time, five jobs, and a job's run."""
    from mlflow import MlflowClient

    from leaseboard.tasks.track.records import JOBS, NIGHTS, runs_link

    client = MlflowClient(address)
    experiment = client.get_experiment_by_name(suite)
    number = experiment.experiment_id
    jobs = client.search_runs([number], "tags.leaseboard.level = 'job'", max_results=5)
    ids = "[" + ",".join(f'"{job.info.run_id}"' for job in jobs) + "]"
    training = "workflowType=machine_learning"
    for name, place, sign in (
        ("jobs", runs_link(number, JOBS), "text=matching runs"),
        ("charts", runs_link(number, NIGHTS, compareRunsMode="CHART"), ".main-svg"),
        (
            "compare",
            f'#/compare-runs?runs={ids}&experiments=["{number}"]&{training}',
            "text=Comparing",
        ),
        (
            "job",
            f"#/experiments/{number}/runs/{jobs[0].info.run_id}?{training}",
            "text=About this",
        ),
    ):
        page = browser.new_page(viewport={"width": 1600, "height": 1000})
        page.goto(f"{address}/{place}")
        page.locator(sign).first.wait_for(timeout=PATIENCE)
        page.wait_for_timeout(4_000)  # its charts come one by one
        page.screenshot(path=out / f"mlflow-{name}.png")
        page.close()


def prefect(browser: Browser, api: str, suite: str, out: Path) -> None:
    """Write a picture of the last flow run of the suite on the Prefect server at `api`."""
    import httpx

    last = {
        "sort": "EXPECTED_START_TIME_DESC",
        "limit": 1,
        "flow_runs": {"name": {"any_": [suite]}},
    }
    (run,) = httpx.post(f"{api}/flow_runs/filter", json=last).raise_for_status().json()
    page = browser.new_page(viewport={"width": 1280, "height": 900}, color_scheme="light")
    page.goto(f"{api.removesuffix('/api')}/runs/flow-run/{run['id']}")
    page.locator(f"text={run['name']}").first.wait_for(timeout=20_000, state="attached")
    page.wait_for_timeout(6_000)  # its timeline is drawn bit by bit
    page.screenshot(path=out)
    page.close()
    smaller(out, out)


@contextmanager
def server(uri: str) -> Iterator[str]:
    """Start the MLflow UI on the store `uri`, and yield its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        sys.executable,
        "-m",
        "leaseboard",
        "ui",
        "--port",
        str(port),
        "--tracking-uri",
        uri,
    ]
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    try:
        while process.poll() is None:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5).close()
                break
            except OSError:
                time.sleep(0.2)
        yield f"http://127.0.0.1:{port}"
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait()


def smaller(picture: Path, target: Path) -> None:
    """Make a picture for the README: 256 colours are enough for text and lines."""
    from PIL import Image

    with Image.open(picture) as whole:
        whole.convert("RGB").quantize(colors=256, dither=Image.Dither.NONE).save(
            target, optimize=True
        )


def main() -> None:
    """Write all pictures of a run folder."""
    parser = argparse.ArgumentParser(description="Pictures of a suite as people see it.")
    parser.add_argument("run", type=Path, help="folder of a run")
    parser.add_argument("--tracking-uri", help="the MLflow store (default: mlruns/mlflow.db here)")
    parser.add_argument("--to", type=Path, default=Path("docs/_build/screenshots"))
    parser.add_argument("--readme", type=Path, help="also write the small picture of README here")
    parser.add_argument(
        "--prefect", type=Path, help="write only a picture of the flow run in PREFECT_API_URL here"
    )
    given = parser.parse_args()
    program = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    suite = suite_of(given.run)
    if program is None or suite is None:
        what = "no Chromium on the path" if program is None else f"no run in {str(given.run)!r}"
        parser.error(f"{what}: install one first, or run the suite first")
    if given.prefect:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=program, args=["--disable-gpu"])
            prefect(browser, os.environ["PREFECT_API_URL"], suite.name, given.prefect)
        return
    prepare_environment()
    given.to.mkdir(parents=True, exist_ok=True)
    uri = environment.tracking_uri(given.tracking_uri)
    with sync_playwright() as playwright, server(uri) as address:
        browser = playwright.chromium.launch(executable_path=program, args=["--disable-gpu"])
        report(browser, given.run / "report.html", given.to)
        mlflow(browser, address, suite.name, given.to)
    if given.readme:
        smaller(given.to / "report-light.png", given.readme)
    for path in sorted(given.to.iterdir()):
        print(path)


if __name__ == "__main__":
    main()
