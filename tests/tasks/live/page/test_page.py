"""The page of a live model: whole, quiet, true to the state, and bounded."""

from datetime import timedelta

import pytest

from leaseboard.tasks.live.page import build
from leaseboard.tasks.live.record import ModelRecord
from leaseboard.tasks.store.live_model import State
from leaseboard.tasks.store.live_tables import Changes
from tests.page_reader import read_page

ALL = {"losses", "candidates", "incidents", "quarantine", "drift",
       "calibration", "batches"}  # fmt: skip


@pytest.fixture
def built(lived, keep, tmp_path):
    place, now = lived
    return build(ModelRecord(keep, State(place, "sales"), now), tmp_path / "runs" / "sales")


def test_the_page_is_whole_and_loads_nothing(built):
    read = read_page(built)
    assert len(read.ids) == len(set(read.ids))
    assert set(read.ids) >= ALL
    assert all(value.startswith(("#", "data:,")) for value in read.loads)
    assert {value[1:] for value in read.loads if value.startswith("#")} <= set(read.ids)


def test_names_are_text_not_markup(built):
    content = built.read_text(encoding="utf-8")
    assert "<b>" not in content
    assert "price has moved <b>" in " ".join(read_page(built).words)
    for figure in read_page(built).figures.values():
        for trace in figure["data"]:
            for words in [trace["name"], *trace.get("hovertext", [])]:
                assert "<" not in words.replace("<br>", "")


def test_each_part_is_drawn(built):
    assert list(read_page(built).figures) == [
        "Loss by day", "Inputs", "Labels inside their interval, by week",
    ]  # fmt: skip


def test_the_head_says_first_what_is_wrong_and_gives_away_no_folder(state, life, keep, tmp_path):
    source = f"folder:{tmp_path}/inbox/*.csv"
    settings = keep.model_copy(update={"data": keep.data.model_copy(update={"source": source})})
    words = read_page(
        build(ModelRecord(settings, state, life(state).live(9)), tmp_path / "page")
    ).words
    asked = [word for word in words if word.endswith("?")]
    assert asked[:3] == ["Is anything wrong?", "Who is champion?", "How good is it?"]
    assert words[words.index("Is anything wrong?") + 1 :][:3].count("No open incidents.") == 1
    assert str(tmp_path) not in " ".join(words)
    assert "from inbox/*.csv" in " ".join(words)


def test_a_thousand_days_are_drawn_by_week(state, life, keep, tmp_path, lived):
    now = life(state).live(9)
    later = [(now + timedelta(days=i)).date().isoformat() for i in range(1, 1000)]
    sums = {"loss": 4.0, "absolute": 2.0, "square": 4.0, "inside": 1.0, "intervals": 1.0}
    days = {(day, number): (1, sums) for day in later for number in (1, 2, 3)}
    state.commit(Changes("2028-09-01T03:00:00+00:00", days=days))
    path = build(ModelRecord(keep, state, now + timedelta(days=1000)), tmp_path)
    figures = read_page(path).figures
    assert len(figures["Loss by week"]["data"][0]["x"]) < 150
