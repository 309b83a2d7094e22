"""The page of a live model, and the lines for a terminal: whole, quiet, true to the state."""

from datetime import UTC, datetime, timedelta

import pytest

from leaseboard.tasks.live.page import build, status
from leaseboard.tasks.live.page.summary import quality
from leaseboard.tasks.live.record import LossTotal, ModelRecord
from leaseboard.tasks.store.live_model import State
from leaseboard.tasks.store.live_tables import Changes, ModelCandidate
from tests.page_reader import read_page
from tests.tasks.live.shops import Shop

ALL = {"losses", "candidates", "incidents", "quarantine", "drift",
       "calibration", "batches"}  # fmt: skip


@pytest.fixture
def built(lived, tmp_path):
    return build(lived, tmp_path / "runs" / "sales")


def test_the_page_is_whole_and_loads_nothing(built):
    read = read_page(built)
    assert len(read.ids) == len(set(read.ids))
    assert set(read.ids) >= ALL
    assert all(value.startswith(("#", "data:,")) for value in read.loads)
    assert {value[1:] for value in read.loads if value.startswith("#")} <= set(read.ids)
    assert list(read.figures) == [
        "Loss by day", "Inputs", "Labels inside their interval, by week",
    ]  # fmt: skip


def test_names_are_text_not_markup_and_the_head_says_first_what_is_wrong(built, lived):
    content, words = built.read_text(encoding="utf-8"), read_page(built).words
    assert "<b>" not in content
    assert "price has moved <b>" in " ".join(words)
    asked = [word for word in words if word.endswith("?")]
    assert asked[:3] == ["Is anything wrong?", "Who is champion?", "How good is it?"]
    assert words[words.index("Is anything wrong?") + 1] == "1 open incident."
    assert str(lived.settings.contract.parent) not in content


def test_a_dozen_lines_report_the_state(lived):
    lines = status(lived).splitlines()
    assert len(lines) <= 12
    assert lines[1].startswith("  champion   online-automl 4 has been champion since 2026-01-08")
    reported = "\n".join(lines)
    for said in ("(skill", "No labels are missing.", "The last update was 2026-01-13 00:00 UTC",
                 "2026-01-13 00:00 drift: price has moved <b>"):  # fmt: skip
        assert said in reported


def test_a_thousand_days_are_drawn_by_week(tmp_path):
    shop = Shop(tmp_path, b=3).update().update()
    now = datetime(2026, 2, 1, tzinfo=UTC)
    later = [(now + timedelta(days=i)).date().isoformat() for i in range(1, 1000)]
    sums = {"loss": 4.0, "absolute": 2.0, "square": 4.0, "inside": 1.0, "intervals": 1.0}
    days = {(day, number): (1, sums) for day in later for number in (1, 2, 3)}
    shop.live.state.commit(Changes("2028-09-01T03:00:00+00:00", days=days))
    figures = read_page(build(shop.record(now + timedelta(days=1000)), tmp_path)).figures
    assert len(figures["Loss by week"]["data"][0]["x"]) < 150


def test_the_baseline_is_compared_on_the_days_of_the_champion(tmp_path, lived):
    state = State(tmp_path / "s.sqlite", "sales")
    record = ModelRecord(lived.settings, state, datetime(2026, 1, 9, tzinfo=UTC))
    names = {1: ("champion", "chacha"), 2: ("reference", "running-mean")}
    record.candidates = {
        number: ModelCandidate(number, role, name, None, 9, "2026-01-02", "the first")
        for number, (role, name) in names.items()
    }
    easy, hard = ({"loss": n, "absolute": n, "square": n} for n in (4.0, 100.0))
    record.days = {
        "2026-01-01": {2: LossTotal(1, hard)},
        "2026-01-02": {1: LossTotal(1, easy), 2: LossTotal(1, easy)},
    }
    assert "no better than running-mean with 2, " in quality(record)
