"""The page of a live model, and the lines for a terminal: whole, quiet, true to the state."""

from datetime import UTC, datetime

import pytest

from leaseboard.tasks.live.page import build, quality, status
from leaseboard.tasks.live.record import ModelRecord
from leaseboard.tasks.store.live_model import State
from leaseboard.tasks.store.live_tables import ModelCandidate
from tests.page_reader import read_page

ALL = {"history", "quarantine"}


@pytest.fixture
def built(lived, tmp_path):
    return build(lived, tmp_path / "runs" / "sales")


def test_the_page_is_whole_loads_nothing_and_says_first_what_is_wrong(built, lived):
    read, content = read_page(built), built.read_text(encoding="utf-8")
    assert len(read.ids) == len(set(read.ids))
    assert set(read.ids) >= ALL
    assert all(value.startswith(("#", "data:,")) for value in read.loads)
    assert {value[1:] for value in read.loads if value.startswith("#")} <= set(read.ids)
    assert "<b>" not in content, "names are text, not markup"
    assert "Plotly" not in content, "it has no chart"
    assert "price has moved <b>" in " ".join(read.words)
    assert read.words[read.words.index("incidents") + 1].startswith("1 open incident: since ")
    assert str(lived.settings.contract.parent) not in content


def test_a_dozen_lines_report_the_state(lived):
    lines = status(lived).splitlines()
    assert len(lines) <= 12
    assert lines[2].startswith("  champion   online-automl 4 has been champion since 2026-01-08")
    reported = "\n".join(lines)
    for said in ("(skill", "of labels were inside", "No labels are missing.",
                 "The last update was 2026-01-13 00:00 UTC: 40 new",
                 "2026-01-13 00:00 drift: price has moved <b>"):  # fmt: skip
        assert said in reported


def test_the_baseline_is_compared_on_the_days_of_the_champion(tmp_path, lived):
    state = State(tmp_path / "s.sqlite", "sales")
    record = ModelRecord(lived.settings, state, datetime(2026, 1, 9, tzinfo=UTC))
    names = {1: ("champion", "chacha"), 2: ("reference", "running-mean")}
    record.candidates = {
        number: ModelCandidate(number, role, name, None, 9, "2026-01-02", "the first")
        for number, (role, name) in names.items()
    }
    easy, hard = ({"rows": 1.0, "loss": n, "absolute": n} for n in (4.0, 100.0))
    record.days = {"2026-01-01": {2: hard}, "2026-01-02": {1: easy, 2: easy}}
    assert "no better than running-mean with 2, " in quality(record)
