"""From a suite's run to its report."""

import os

import pytest

from leaseboard.tasks.folder.results import assemble, finish
from leaseboard.tasks.jobs.run import run_job
from leaseboard.tasks.report.build import suite_of

SUITE = """
title: Two learners
data: ["synthetic:fried?rows=600&seed=0"]
baselines: false
algorithms: [vanilla, {algorithm: chacha-literal, name: paper}]
repetitions: 2
environment: {max_rows: 500}
normalise: {zero: vanilla, one: paper}
"""


@pytest.fixture
def finished(tmp_path):
    """Return the run folder of a small suite, as the flow leaves it, with its report."""
    from leaseboard.tasks.jobs.suites.suite import load_suite
    from leaseboard.tasks.report import build

    (tmp_path / "two.yaml").write_text(SUITE)
    suite = load_suite(str(tmp_path / "two.yaml"), tmp_path)
    rows = []
    for job in suite.jobs():
        folder = tmp_path / "run" / "jobs" / "scratch"
        folder.mkdir(parents=True)
        result = run_job(job, folder)
        folder.rename(folder.with_name(result.key))
        finish(tmp_path / "run", result)
        rows.append(result)
    assemble(tmp_path / "run", rows)
    build.build(tmp_path / "run", suite)
    return rows, suite


def test_a_report_is_built_again_by_the_command(finished, call, tmp_path):
    page = tmp_path / "run" / "report.html"
    before = page.read_bytes()
    page.unlink()
    said = call("report", "run")
    assert (said.code, said.out.strip()) == (0, os.fspath(page.relative_to(tmp_path)))
    assert page.read_bytes() == before
    assert suite_of(tmp_path / "run").title == "Two learners"
