"""The leaderboards of a run, task by task, as text."""

import shutil

import pytest

from benchmarks.task_board import main
from leaseboard.tasks.folder import results
from leaseboard.tasks.jobs.job import Job
from leaseboard.tasks.jobs.run import run_job

NUMBERS, CLASSES = "synthetic:fried?rows=300&seed=0", "sklearn:iris"


@pytest.fixture
def run(tmp_path):
    """Run the algorithms on the streams; return the folder."""

    def made(*jobs):
        for name, data, repetition in jobs:
            job = Job(name, data, 1 + repetition, 7, repetition=repetition)
            result, _ = run_job(job, tmp_path)
            folder = results.begin(tmp_path / "run", result.key)
            shutil.copy(tmp_path / "events.jsonl.gz", folder)
            results.finish(tmp_path / "run", result.kept_for(job))
        return tmp_path / "run"

    return made


def reported(capsys, *arguments):
    code = main([*map(str, arguments), "--reference", "last-label"])
    return code, capsys.readouterr().out


def test_tasks_are_ranked_apart_and_losses_are_shares_of_the_means(run, capsys):
    both = "running-mean", "last-label"
    folder = run(*((name, data, 0) for name in both for data in (NUMBERS, CLASSES)))

    code, out = reported(capsys, folder)

    assert code == 0
    numbers, classes = out.split("1 datasets by progressive_error")
    assert "1 datasets by progressive_mse" in numbers
    assert "| `running-mean` | 1.00 | 1/0/0 |" in numbers
    assert "| `running-mean` | 1 |" in numbers
    assert "error rate:" in classes
    assert all(f"`{name}`" in part for part in (numbers, classes) for name in both)


def test_a_repetition_in_which_a_job_is_missing_is_left_out_and_said(run, capsys):
    folder = run(
        ("running-mean", NUMBERS, 0), ("last-label", NUMBERS, 0), ("last-label", NUMBERS, 1)
    )

    _, out = reported(capsys, folder)

    assert "| `last-label` | 2.00 | 0/0/1 |" in out
    assert f"left out, for jobs are missing: {NUMBERS}, repetition 2" in out


def test_a_run_without_scores_has_none(tmp_path, capsys):
    assert reported(capsys, tmp_path)[0] == 1


def test_without_a_reference_the_seconds_of_the_first_are_1(run, capsys):
    folder = run(("running-mean", NUMBERS, 0), ("last-label", NUMBERS, 0))

    main([str(folder)])

    first = next(line for line in capsys.readouterr().out.splitlines() if "| 1.00 |" in line)
    assert first.split(" | ")[4] == "1"
