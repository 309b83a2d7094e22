"""The pages that a newcomer follows, followed literally in an empty folder."""

import json
import os
import shutil
import subprocess

import pytest

from tests.docs import pages
from tests.flows.waiting import free_port

SMALLER = {
    "range(3000)": "range(120)",
    "rows=2000": "rows=120",
    "repetitions: 2": "repetitions: 1",
    "--update-baseline": "--update-baseline --repetitions 1",
}
"""Sizes of the pages, and those with which the same commands are cheap here."""


@pytest.fixture
def shell(tmp_path, programs, empty_store):
    """Run a block as `sh` does, with `leaseboard` and `python` on the path."""
    home = tmp_path / "home"
    (home / "mlruns").mkdir(parents=True)
    shutil.copy(empty_store, home / "mlruns" / "mlflow.db")
    environment = {
        **os.environ,
        "PATH": programs,
        "PYTHONPATH": str(pages.ROOT),
        "LEASEBOARD_CACHE": str(tmp_path / "cache"),
        "COLUMNS": "120",
    }
    for name in ("LEASEBOARD_MIRROR", "LEASEBOARD_CONF", "MLFLOW_TRACKING_URI", "PREFECT_HOME"):
        environment.pop(name, None)

    def run(script):
        done = subprocess.run(
            ["sh", "-e", "-c", script], cwd=home, env=environment, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{script}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    run.home = home
    return run


def follow(page, shell):
    """Write the files and run the `sh` blocks of a page in order; what they printed."""
    printed = []
    for block in pages.blocks(pages.DOCS / page):
        text = block.text
        for size, instead in SMALLER.items():
            text = text.replace(size, instead)
        if block.language == "sh":
            printed.append(shell(text))
        elif block.file:
            path = shell.home / block.file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    return "\n".join(printed)


def test_a_suite_is_run_and_gated_as_written(shell):
    printed = follow("guides/gate.md", shell)
    left = {str(path.relative_to(shell.home)) for path in shell.home.rglob("*.*")}

    assert "14 jobs: 0 done, 14 to run" in printed
    assert "All 14 jobs finished." in printed
    comment = (shell.home / "comment.md").read_text(encoding="utf-8")
    assert "Gate passed: 14 scenarios compared (14 same)" in comment
    assert {
        "runs/my-suite/report.html",
        "runs/my-suite/results.parquet",
        "mlruns/mlflow.db",
        "baselines/my-suite.json",
        "comment.md",
    } <= left


def test_the_stream_of_the_first_page_prints_what_it_says(shell):
    (shell.home / "conf").symlink_to(pages.ROOT / "conf")
    (block,) = [
        block.text.splitlines()
        for block in pages.blocks(pages.ROOT / "README.md")
        if "leaseboard learn" in block.text
    ]
    printed = [
        line
        for command in block
        if command.startswith("$ ")
        for line in shell(command[2:]).splitlines()
    ]

    said = [line for line in block if not line.startswith("$ ") and line != "..."]
    assert len(said) > 3
    assert [line for line in printed if line in said] == said


def test_a_stream_is_learned_and_predicted_as_written(shell):
    printed = follow("guides/stream.md", shell).splitlines()
    (said,) = [
        block.text.splitlines()
        for block in pages.blocks(pages.DOCS / "guides/stream.md")
        if block.language == "text"
    ]

    assert len(said) > 8
    assert [line for line in printed if line in said] == [line for line in said if line != "..."]


def test_an_algorithm_a_learner_of_river_and_a_policy_are_added_as_written(shell):
    printed = follow("guides/extend.md", shell)
    lines = (shell.home / "mine.py").read_text().splitlines()

    assert printed.count("checks passed, 0 failed") == 2
    race = next(line for line in printed.splitlines() if line.startswith("{"))
    assert json.loads(race)["metrics"]["drift"] > 0
    assert "rivers.py:Rivers on synthetic:fried" in printed
    assert "patient.py:Patient on sklearn:iris" in printed
    assert len(lines) < 26


def test_a_dataset_is_added_as_written(shell):
    printed = follow("guides/data.md", shell)
    lines = (shell.home / "conf/data/tumours.yaml").read_text().splitlines()

    assert "linear on tumours" in printed
    assert len([line for line in lines if not line.startswith("#")]) == 4


def test_a_live_model_comes_from_an_empty_folder_to_an_alert_as_written(shell):
    """In one shell, as its variables are of one, and without Prefect."""
    found = pages.blocks(pages.DOCS / "guides/live-model.md")
    text = "\n".join(block.text for block in found if block.language == "sh")
    text = text.replace("9000", str(free_port()))
    text = text.replace("live update sales.yaml", "live update --local sales.yaml")
    printed = shell(text)
    heard = [json.loads(line) for line in (shell.home / "heard.txt").read_text().splitlines()]

    assert "first.csv: 1770 new, 1770 labels" in printed
    assert printed.count("exit code 1") == 1
    assert [each["status"] for each in heard] == ["opened", "resolved"]
    alert = "second.csv: no column 'price': 'prize' is new, rename it back, or fix the contract"
    assert alert in (pages.DOCS / "guides/live-model.md").read_text()
    assert alert in [each["what"] for each in heard]
    assert "second.csv: 30 new, 30 labels" in printed
    assert "has learned 1,800 rows" in printed
    assert (shell.home / "runs" / "live" / "sales" / "report.html").is_file()
