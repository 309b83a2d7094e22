"""The drill, tiny: what is reported, and how it is counted."""

import numpy as np
import pandas as pd
import pytest

from benchmarks import drill
from benchmarks.drill_faults import DailyStream
from leaseboard.tasks.live import update as updates
from leaseboard.tasks.models.stream_model import StreamModel


@pytest.fixture
def stream():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"warm": rng.normal(20, 5, 600).round(2), "rain": rng.random(600) < 0.3})
    frame["count"] = (3 * frame["warm"] + 10 * frame["rain"] + rng.normal(size=600)).round(2)
    return DailyStream(frame, "count", "warm", 20)


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
