"""The trend over days, on results small enough to follow by hand."""

import dataclasses

import numpy as np
import pytest

from leaseboard.tasks.jobs.job import Result
from leaseboard.tasks.score.frame import to_frame
from leaseboard.tasks.score.table import Scale
from leaseboard.tasks.score.trend import trend

SCALE = Scale("zero", "one")

LOSSES = {"zero": 4.0, "one": 2.0, "mine": 3.0}


def night(day, losses=LOSSES, data=("x", "y"), at="03:00:00+00:00", **fields):
    return [
        Result(**{
            "key": f"{day}-{label}-{one}-{repetition}", "algorithm": label, "name": label,
            "data": one, "digest": "d", "seed": repetition, "environment_seed": repetition,
            "repetition": repetition, "status": "ok", "score": loss, "metric": "mse",
            "started": f"{day}T{at}",
        } | fields)
        for label, loss in losses.items() for one in data for repetition in (0, 1)
    ]  # fmt: skip


def test_a_single_day_is_not_a_trend():
    assert trend(to_frame(night("2026-11-20")), [], SCALE) is None


def test_jobs_that_did_not_run_again_stay_unchanged():
    now = [r for r in night("2026-11-20") if r.name != "mine"]
    now += night("2026-11-22", {"mine": 2.5})
    earlier = night("2026-11-20", {"mine": 3.0}) + night("2026-11-21", {"mine": 3.5})
    found = trend(to_frame(now), earlier, SCALE)

    assert list(found.scores.index) == ["2026-11-20", "2026-11-21", "2026-11-22"]
    assert found.scores.to_dict("list") == {
        "zero": [0, 0, 0],
        "one": [1, 1, 1],
        "mine": [0.5, 0.25, 0.75],
    }
    assert found.ran == [12, 4, 4]
    assert found.scale == "normalised score: zero is 0, one is 1"


def test_an_algorithm_begins_when_it_had_run_all_its_jobs():
    now = night("2026-11-20", {"zero": 4.0, "one": 2.0}) + night("2026-11-21", {"mine": 3.0})
    late = [dataclasses.replace(now[-1], started="2026-11-22T03:00:00+00:00")]
    found = trend(to_frame(now[:-1] + late), [], SCALE)

    assert found.scores["mine"].tolist() == pytest.approx([np.nan, np.nan, 0.5], nan_ok=True)


def test_other_jobs_of_the_folder_do_not_count():
    now = night("2026-11-22")
    other_seed = night("2026-11-21", seed=77)
    other_data = night("2026-11-21", data=("z",))

    assert trend(to_frame(now), other_seed + other_data) is None


def test_the_mean_score_itself_is_shown_of_one_dataset_and_days_are_those_of_utc():
    now = night("2026-11-22", {"mine": 2.5}, data=("x",))
    earlier = night("2026-11-22", {"mine": 3.0}, data=("x",), at="01:00:00+02:00")
    found = trend(to_frame(now), earlier)

    assert list(found.scores.index) == ["2026-11-21", "2026-11-22"]
    assert found.scores.to_dict("list") == {"mine": [3.0, 2.5]}
    assert (found.scale, found.only) == ("mean score, less is better", "x")


def test_a_job_that_failed_before_it_began_counts_now_and_one_that_was_skipped_never():
    now = night("2026-11-22")
    lost = dataclasses.replace(now[-1], status="crash", score=None, started="")
    skipped = night("2026-11-22", data=("z",), status="skipped", score=None)
    skipped = [dataclasses.replace(each, started="") for each in skipped]
    found = trend(to_frame([*now[:-1], lost, *skipped]), night("2026-11-21"), SCALE)

    assert found.scores["mine"].tolist() == [0.5, 0.375]
