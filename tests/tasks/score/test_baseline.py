"""An accepted file: what it may hold, and that anything else is one line, never a green gate."""

import json
from pathlib import Path

import pytest

from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.jobs.job import Result
from leaseboard.tasks.score.baseline import accept, read_baseline, write_baseline
from leaseboard.tasks.score.frame import as_frame

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def accepted():
    frame = as_frame(
        Result(
            key=f"{label}-{repetition}", algorithm=label, name=label, data="x", digest="sha",
            seed=repetition, environment_seed=0, repetition=repetition, status="ok",
            score=1.5 + repetition, metric="mse", settings={"b": 3},
        )
        for label in ("chacha", "vanilla") for repetition in range(2)
    )  # fmt: skip
    return accept(frame, "ci", date="2026-11-21", versions={"leaseboard": "0.1.0"})


def test_a_baseline_survives_its_file(tmp_path, accepted):
    path = tmp_path / "baselines" / "ci.json"
    assert read_baseline(path) is None
    write_baseline(path, accepted)

    assert read_baseline(path) == accepted
    assert path.read_text() == accepted.to_json()


def test_what_is_shipped_is_written_again_byte_for_byte():
    shipped = [*(ROOT / "conf" / "baselines").glob("*.json")]
    assert [path for path in shipped if read_baseline(path).to_json() != path.read_text()] == []


def test_a_file_that_accept_cannot_write_is_refused(tmp_path, accepted):
    payload = json.loads(accepted.to_json())
    for field in ("suite", "date", "versions", "scenarios"):
        refused(tmp_path, payload | {field: None}, rf"{field}\b")
    twice = [*payload["scenarios"], payload["scenarios"][0]]
    refused(tmp_path, payload | {"scenarios": twice}, "a scenario occurs twice")
    refused(tmp_path, [], "")


def refused(tmp_path, content, why):
    path = tmp_path / "here.json"
    path.write_text(json.dumps(content))
    with pytest.raises(UsageError, match=rf"here\.json is not an accepted .*\({why}") as caught:
        read_baseline(path)
    assert "\n" not in str(caught.value)
