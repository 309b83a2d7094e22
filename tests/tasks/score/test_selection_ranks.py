"""Ranks of selections by loss and seconds, on made-up results."""

import math

import pandas as pd
import pytest

from leaseboard.tasks.score.selection import standings

AT = ["rank at 0.01", "rank at 0.05"]
TRUTH = [("full-run", data, 0, 0.9, 100.0) for data in ("d", "e")]


def as_runs(*rows, **changes):
    """A frame of (algorithm, data, repetition, score, seconds); of no score it is a crash."""
    return pd.DataFrame(
        {
            "label": name,
            "algorithm": name,
            "data": data,
            "repetition": repetition,
            "status": "crash" if score is None else "ok",
            "complete": True,
            "score": score,
            "bench": "" if score is None else "samples",
            "metrics": {
                "configurations": 20.0,
                "selection_cpu_seconds": seconds,
                "selection_wall_seconds": 2 * seconds,
            },
        }
        | changes
        for name, data, repetition, score, seconds in rows
    )


def ranks(*rows):
    return {label: tuple(each[AT]) for label, each in standings(as_runs(*rows)).iterrows()}


def test_who_loses_little_ranks_by_seconds_and_who_loses_more_after_it_by_loss():
    rows = [
        *TRUTH,
        *(("exact", data, 0, 0.9, 50.0) for data in "de"),
        *(("near", data, 0, 0.891, 10.0) for data in "de"),
        *(("far", data, 0, 0.86, 1.0) for data in "de"),
        *(("out", data, 0, 0.7, 0.1) for data in "de"),
    ]
    assert ranks(*rows) == {
        "near": (1.0, 2.0), "exact": (2.0, 3.0), "full-run": (3.0, 4.0),
        "far": (4.0, 1.0), "out": (5.0, 5.0),
    }  # fmt: skip


def test_one_repetition_above_epsilon_is_too_many_on_its_data_set():
    rows = [
        *TRUTH, ("full-run", "d", 1, 0.8, 100.0), ("full-run", "e", 1, 0.9, 100.0),
        *(("lucky", data, 0, 0.9, 1.0) for data in "de"),
        ("lucky", "d", 1, 0.78, 1.0), ("lucky", "e", 1, 0.9, 1.0),
    ]  # fmt: skip
    found = dict(standings(as_runs(*rows)).iterrows())

    assert tuple(found["lucky"][AT]) == (1.5, 1.0)
    assert tuple(found["lucky"][["above 0.01", "above 0.05"]]) == (1, 0)
    assert found["lucky"]["loss"] == pytest.approx(0.005)
    assert found["lucky"]["worst"] == pytest.approx(0.02)
    assert (found["lucky"]["rank by loss"], found["lucky"]["rank by seconds"]) == (1.75, 1.0)


def test_a_failure_is_last_and_no_cheap_run():
    rows = [*TRUTH, ("weak", "d", 0, 0.5, 10.0), ("broken", "d", 0, None, 0.0)]
    found = dict(standings(as_runs(*rows)).iterrows())

    assert tuple(found["broken"][AT]) == (3.0, 3.0)
    assert found["broken"]["rank by seconds"] == found["broken"]["rank by loss"] == 3.0
    assert (found["broken"]["finished"], found["broken"]["failed"]) == (0, 1)
    assert math.isnan(found["broken"]["loss"])
    assert math.isnan(found["broken"]["speedup"])


def test_who_fails_once_is_behind_who_loses_more():
    rows = [
        *TRUTH, ("full-run", "d", 1, 0.9, 100.0),
        ("weak", "d", 0, 0.5, 10.0), ("weak", "d", 1, 0.5, 10.0),
        ("half", "d", 0, 0.9, 1.0), ("half", "d", 1, None, 0.0),
    ]  # fmt: skip
    assert ranks(*rows)["half"] == (3.0, 3.0)


def test_a_skipped_one_has_no_rank_there_and_shifts_nobody():
    rows = as_runs(*TRUTH, ("abc", "d", 0, 0.9, 1.0), ("peer", "d", 0, None, 0.0))
    rows.loc[rows["label"] == "peer", "status"] = "skipped"
    found = dict(standings(rows).iterrows())

    assert math.isnan(found["peer"][AT[0]])
    assert (found["peer"]["failed"], found["peer"]["skipped"]) == (0, 1)
    assert tuple(found["full-run"][AT]) == (1.5, 1.5)
    assert list(found) == ["abc", "full-run", "peer"]


def test_equal_seconds_share_a_rank():
    rows = [*TRUTH, ("a", "d", 0, 0.9, 5.0), ("b", "d", 0, 0.899, 5.0)]
    assert ranks(*rows) == {"a": (1.5, 1.5), "b": (1.5, 1.5), "full-run": (2.0, 2.0)}


def test_the_speed_up_is_a_geometric_mean_and_of_nothing_infinite():
    rows = [
        *TRUTH, ("abc", "d", 0, 0.9, 50.0), ("abc", "e", 0, 0.9, 12.5),
        ("random-configuration", "d", 0, 0.9, 0.0),
    ]  # fmt: skip
    found = standings(as_runs(*rows))["speedup"]

    assert found["abc"] == pytest.approx(4.0)
    assert found["random-configuration"] == math.inf


@pytest.mark.parametrize(
    "frame",
    [
        as_runs(("abc", "d", 0, 0.9, 1.0), ("daub", "d", 0, 0.9, 1.0)),
        as_runs(*TRUTH),
        as_runs(*TRUTH, ("chacha", "d", 0, 0.1, 1.0), bench="stream"),
        as_runs(("full-run", "d", 0, None, 0.0), ("abc", "d", 0, None, 0.0)),
        pd.concat([as_runs(*TRUTH), as_runs(("abc", "d", 0, 0.9, 1.0),
                                            metrics={"configurations": 5.0})]),
    ],
    ids=["no Full-run", "nobody beside it", "a stream", "nothing finished", "other sizes"],
)  # fmt: skip
def test_what_cannot_be_compared_is_not(frame):
    assert standings(frame).empty
