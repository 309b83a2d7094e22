"""What days are expected to cost, with how wrong that was."""

from leaseboard.tasks.live.lifecycle import DayEstimate
from leaseboard.tasks.live.page import build, status
from leaseboard.tasks.live.page.quality import accuracy
from leaseboard.tasks.live.record import ModelRecord
from leaseboard.tasks.report.page import unpacked
from leaseboard.tasks.store.live_model import State
from tests.page_reader import read_page


def test_page_and_terminal_say_what_is_expected_and_how_wrong_that_was(lived, keep, tmp_path):
    place, now = lived
    state = State(place, "sales")
    reported = status(ModelRecord(keep, state, now))
    said = "The estimate for 2026-03-01 is MAE 1.4 (1.1 to 1.7), and 1.5 in the week before"
    assert said in reported
    assert "for the 7 days that wait, 1.4 on average" in reported
    assert "earlier days in the 90 % interval" in reported
    read = read_page(build(ModelRecord(keep, state, now), tmp_path))
    words = " ".join(read.words)
    assert said in words
    assert "cannot see that labels have come to depend on rows otherwise" in words
    (drawn,) = [
        found
        for name, data in read.packed.items()
        if name != "plotly" and (found := unpacked(data))["title"].endswith("estimated and known")
    ]
    points, came = drawn["data"]
    assert len(points["x"]) == 35
    assert points["error_y"]["array"][0] == 0.3
    assert points["x"][:3] == came["x"][:3]
    assert len([each for each in came["y"] if each is not None]) == 28


def test_nothing_is_said_where_nothing_is_estimated(state, keep, life, tmp_path):
    now = life(state).live(9)
    assert "estimate" not in status(ModelRecord(keep, state, now))
    assert "estimates" not in read_page(build(ModelRecord(keep, state, now), tmp_path)).ids


def test_what_has_not_met_its_labels_is_not_called_good():
    waits = DayEstimate("2026-01-01", 1, 20, 2.0, 1.0, 3.0, 5.0)
    assert accuracy([waits]) == "No estimate has met its labels yet."
