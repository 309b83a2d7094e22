"""What days are expected to cost, with how wrong that was."""

from leaseboard.tasks.keep.lifecycle import DayEstimate
from leaseboard.tasks.keep.page import build, status
from leaseboard.tasks.keep.page.quality import honesty
from leaseboard.tasks.report.page import unpacked
from leaseboard.tasks.store.live_model import State
from tests.page_reader import read_page


def test_page_and_terminal_say_what_is_expected_and_how_wrong_that_was(lived, keep, tmp_path):
    place, now = lived
    state = State(place, "sales")
    told = status(state, keep, now)
    said = "2026-03-01 is expected to come to mae 1.4 (1.1 to 1.7), where the week before came to"
    assert said in told
    assert "the 7 days that wait, to 1.4 on average" in told
    assert "estimated before, " in told
    read = read_page(build(state, keep, tmp_path, now))
    words = " ".join(read.words)
    assert said in words
    assert "cannot see that labels have come to depend on rows otherwise" in words
    (drawn,) = [
        found
        for name, data in read.packed.items()
        if name != "plotly" and (found := unpacked(data))["title"].endswith("expected and come")
    ]
    points, came = drawn["data"]
    assert len(points["x"]) == 35
    assert points["error_y"]["array"][0] == 0.3
    assert points["x"][:3] == came["x"][:3]
    assert len([each for each in came["y"] if each is not None]) == 28


def test_nothing_is_said_where_nothing_is_estimated(state, keep, life, tmp_path):
    now = life(state).live(9)
    assert "expected" not in status(state, keep, now)
    assert "expected" not in read_page(build(state, keep, tmp_path, now)).ids


def test_what_has_not_met_its_labels_is_not_called_good():
    waits = DayEstimate("2026-01-01", 1, 20, 2.0, 1.0, 3.0, 5.0)
    assert honesty([waits]) == "No estimate has met its labels yet."
