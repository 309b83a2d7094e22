"""An accepted file: what it may hold, and that anything else is one line, never a green gate."""

import dataclasses
import json
from pathlib import Path

import pytest

from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.jobs.job import Job, Result
from leaseboard.tasks.jobs.suites.promise import Promise
from leaseboard.tasks.score.frame import as_frame
from leaseboard.tasks.score.gate.baseline import Baseline, accept, read_baseline, write_baseline

ROOT = Path(__file__).resolve().parents[4]


@pytest.fixture
def accepted():
    promise = Promise(algorithm="chacha", data="x", metric="score", at_most=2, reason="proven")
    frame = as_frame(
        Result(
            key=f"{label}-{repetition}", algorithm=label, label=label, data="x", digest="sha",
            seed=repetition, environment_seed=0, repetition=repetition, status="ok",
            score=1.5 + repetition, metric="mse", settings={"b": 3},
        )
        for label in ("chacha", "vanilla") for repetition in range(2)
    )  # fmt: skip
    made = accept(frame, "ci", date="2026-11-21", versions={"leaseboard": "0.1.0"})
    return dataclasses.replace(made, promises=(promise,))


def test_a_baseline_survives_its_file(tmp_path, accepted):
    path = tmp_path / "baselines" / "ci.json"
    assert read_baseline(path) is None
    write_baseline(path, accepted)

    assert read_baseline(path) == accepted
    assert path.read_text() == accepted.to_json()


@pytest.mark.parametrize("path", [*(ROOT / "conf" / "baselines").glob("*.json")], ids=str)
def test_what_is_shipped_is_written_again_byte_for_byte(path):
    assert read_baseline(path).to_json() == path.read_text()


NAN, INFINITY = float("nan"), float("inf")
NOT_ACCEPTED = {
    "label": [None, 1, "", "a\nb", "\x1b[2J", ["chacha"]],
    "data": [None, ""],
    "algorithm": [None, ""],
    "metric": [None, 1],
    "direction": ["sideways", "", None, True],
    "digest": [None, 1],
    "version": [None, 1],
    "cpu_seconds": ["no", -1.0],
    "scores": [
        {}, [], [1.0], None, "0.5", {"0": None}, {"0": "0.5"}, {"0": [1]}, {"0": True},
        {"0": NAN}, {"0": INFINITY}, {"0": 1e308}, {"first": 1.0}, {"-1": 1.0}, {"1.0": 1.0},
        {"01": 1.0}, {"": 1.0}, {"٣": 1.0},
    ],
    "tolerance": ["1", -0.1, 1, 1e9, NAN, INFINITY, True, [0.1]],
    "settings": [None, [], "b=3", {"b": NAN}, {"b": [{"c": INFINITY}]}],
    "bench": [None, [], {"b": -INFINITY}],
    "colour": ["red"],
}  # fmt: skip


@pytest.mark.parametrize(
    ("field", "value"),
    [(name, value) for name, values in NOT_ACCEPTED.items() for value in values],
)
def test_a_scenario_that_accept_cannot_write_is_refused(accepted, field, value):
    payload = json.loads(accepted.to_json())
    payload["scenarios"][1][field] = value

    refused(json.dumps(payload), rf"scenarios\.1\.{field}\b")


@pytest.mark.parametrize(
    "field", sorted({f.name for f in dataclasses.fields(Baseline)} - {"promises"})
)
@pytest.mark.parametrize("value", [None, 1, "sideways\n", [], [1], {"a": 1}])
def test_a_file_of_other_values_is_refused(accepted, field, value):
    payload = json.loads(accepted.to_json()) | {field: value}

    refused(json.dumps(payload), rf"{field}\b")


def test_a_file_whose_scenarios_were_taken_out_is_refused(accepted):
    """Promises that are kept would pass alone."""
    refused(
        json.dumps(json.loads(accepted.to_json()) | {"scenarios": []}), "scenarios: .* at least"
    )


@pytest.mark.parametrize(
    ("field", "name"), [("scenarios", "chacha on x"), ("promises", "score of chacha on x")]
)
def test_what_stands_twice_is_refused(accepted, field, name):
    payload = json.loads(accepted.to_json())
    payload[field].append(payload[field][0])

    refused(json.dumps(payload), f"{name} stands twice")


@pytest.mark.parametrize(
    "text",
    ["", "[]", "null", "{", '{"scenarios": [{"label": 1}]}', '{"suite": "x"}', b"\xff\xfe",
     "[" * 9999],
)  # fmt: skip
def test_what_is_no_baseline_is_refused(text):
    refused(text, "")


def refused(text, why):
    with pytest.raises(UsageError, match=rf"here\.json is no accepted baseline \({why}") as caught:
        Baseline.from_json(text, "here.json")
    assert "\n" not in str(caught.value)
    assert str(caught.value).endswith("move it away and write it with `leaseboard accept`")


def test_what_was_not_accepted_is_known_before_anything_runs(accepted):
    jobs = [
        Job(label, "x", seed, 0, label=label) for label in ("chacha", "new") for seed in range(3)
    ]
    (missing,) = accepted.lacking(jobs)
    assert missing == (
        "chacha on x was accepted with 2 repetitions,"
        " not with seed 2 of the 3 that the suite asks for"
    )
    assert accepted.lacking(jobs[:2]) == []
