"""The drill, tiny: what is reported, and how it is counted."""

import numpy as np
import pandas as pd
import pytest

from benchmarks import drill
from benchmarks.drill_faults import INCIDENTS, DailyStream, Inbox
from leaseboard.flows import live_update as flow


@pytest.fixture
def stream():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"warm": rng.normal(20, 5, 600).round(2), "rain": rng.random(600) < 0.3})
    frame["count"] = (3 * frame["warm"] + 10 * frame["rain"] + rng.normal(size=600)).round(2)
    return DailyStream(frame, "count", "warm", 20)


@pytest.fixture
def inbox(stream, tmp_path):
    return Inbox(tmp_path, stream, 40, 5)


def test_two_incidents_are_notified_once_and_no_row_is_lost(stream, tmp_path, monkeypatch):
    monkeypatch.setattr(flow, "build", lambda *_: None)
    reported = drill.replay(
        stream, 0, tmp_path, drill.DrillPlan(("column gone", "day twice"), 8, 11)
    )

    assert reported.noticed == {"column gone": True, "day twice": True}
    assert reported.messages == {"column gone": 1, "day twice": 1}
    assert (reported.false_alarms, reported.lost, reported.miscounted, reported.worse) == (
        0,
        0,
        0,
        0,
    )


def test_each_fault_changes_the_file_of_its_day(inbox):
    right = inbox.day(6)
    files = {}
    for name, (deliver, _) in INCIDENTS.items():
        deliver(inbox, 6)
        files[name] = pd.read_csv(inbox.folder / "006.csv")

    assert "warm_new" in files["renamed column"]
    assert files["unit changed"]["warm"].tolist() == pytest.approx((right["warm"] * 1000).tolist())
    assert "warm" not in files["column gone"]
    assert files["stale file"]["id"].tolist() == inbox.day(5)["id"].tolist()
    assert files["labels late"]["count"].isna().all()
    assert np.corrcoef(files["labels flipped"]["count"], right["count"])[0, 1] == pytest.approx(-1)
    assert files["day twice"]["count"].equals(files["drift"]["count"]), "from then on"
    assert pd.read_csv(inbox.folder / "006-again.csv")["id"].tolist()[-1] == "r140"


def test_rows_that_are_learned_twice_or_never_are_counted():
    before = drill.LearnedRows(100, {1: 100, 2: 50})

    assert drill._miscounted(before, drill.LearnedRows(120, {1: 120, 2: 70, 3: 20})) == 0
    assert drill._miscounted(before, drill.LearnedRows(120, {1: 125, 2: 70})) == 5
    assert drill._miscounted(before, drill.LearnedRows(120, {2: 50})) == 20


def test_a_message_belongs_to_the_incident_of_its_days_and_else_is_false():
    reported = drill.Reported()
    planned = {10: "column gone", 20: "labels late"}
    for number, kind, status in (
        (10, "contract", "opened"), (12, "contract", "resolved"), (13, "contract", "opened"),
        (15, "contract", "opened"), (23, "labels late", "opened"), (40, "alarm", "opened"),
        (41, "rolled back", "opened"),
    ):  # fmt: skip
        drill._count(reported, planned, number, [{"status": status, "kind": kind, "text": ""}])

    assert reported.messages == {"column gone": 2, "labels late": 1}
    assert reported.noticed == {"column gone": True, "labels late": True}
    assert (reported.false_alarms, reported.roll_backs) == (2, 1)
