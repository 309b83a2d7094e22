"""The lines for a terminal."""

from datetime import UTC, datetime

from leaseboard.tasks.live.page import status
from leaseboard.tasks.live.page.summary import quality
from leaseboard.tasks.live.record import LossTotal, ModelRecord
from leaseboard.tasks.store.live_model import State
from leaseboard.tasks.store.live_tables import ModelCandidate


def test_a_dozen_lines_report_the_state(lived, keep):
    place, now = lived
    lines = status(ModelRecord(keep, State(place, "sales"), now)).splitlines()
    assert len(lines) <= 12
    assert lines[1].startswith("  champion   chacha 6 has been champion since 2026-02-25")
    reported = "\n".join(lines)
    assert "(skill" in reported
    assert "400 rows wait for a label, the oldest since 2026-01-21." in reported
    assert "The last update was 2026-03-01 03:00 UTC" in reported
    assert "2026-02-28 03:00 labels late: 40 rows wait" in reported


def test_the_baseline_is_compared_on_the_days_of_the_champion(tmp_path, keep):
    record = ModelRecord(
        keep, State(tmp_path / "s.sqlite", "sales"), datetime(2026, 1, 9, tzinfo=UTC)
    )
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
