"""The drill, tiny: what is reported, and how it is counted."""

import numpy as np
import pandas as pd
import pytest

from benchmarks import drill
from benchmarks.drill_faults import INCIDENTS, DailyStream, Inbox
from leaseboard.tasks.live import update as updates
from leaseboard.tasks.models.stream_model import StreamModel


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
    monkeypatch.setattr(updates, "build", lambda *_: None)
    monkeypatch.setattr(StreamModel, "learn", StreamModel.learn)  # to be undone
    drill.record_learned_rows()
    reported = drill.replay(
        stream, 0, tmp_path, drill.DrillPlan(("column gone", "day twice"), 8, 11)
    )

    assert reported.noticed == {"column gone": True, "day twice": True}
    assert reported.messages == {"column gone": 1, "day twice": 1}
    assert (reported.false_alarms, reported.lost, reported.miscounted) == (0, 0, 0)


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
