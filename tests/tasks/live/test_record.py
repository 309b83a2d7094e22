"""Who had which role, when and why."""

from datetime import UTC, datetime

from leaseboard.tasks.live.record import ModelRecord, Tenure, tenures
from leaseboard.tasks.store.live_model import State
from leaseboard.tasks.store.live_tables import Changes, HistoryEntry, ModelCandidate


def story(*reported):
    history = [
        HistoryEntry(f"2026-01-{day:02}", kind, who, why) for day, kind, who, why in reported
    ]
    numbers = {int(who) for _, _, who, _ in reported if who.isdigit()}
    candidates = {
        n: ModelCandidate(n, "champion", "online-automl", None, 0, "", "") for n in numbers
    }
    return tenures(history, candidates, "2026-02-01")


def test_a_promotion_moves_both():
    assert story(
        (1, "created", "1", "the first"),
        (3, "opened", "1", "an incident of a column called 1"),
        (5, "created", "4", "drift"),
        (9, "previous", "1", "worse"),
        (9, "champion", "4", "better"),
    ) == [
        Tenure(1, "champion", "2026-01-01", "2026-01-09"),
        Tenure(4, "challenger", "2026-01-05", "2026-01-09"),
        Tenure(1, "previous", "2026-01-09", "2026-02-01"),
        Tenure(4, "champion", "2026-01-09", "2026-02-01"),
    ]


def test_who_was_champion_when_a_day_began_was_served(tmp_path):
    sums, at = {"loss": 1.0, "absolute": 1.0, "square": 1.0}, "2026-01-02T03:00:00+00:00"
    days = {(f"2026-01-0{n}", who): (1, sums) for n in range(1, 6) for who in (1, 2)}
    state = State(tmp_path / "state.sqlite", "sales")
    candidates = [ModelCandidate(n, "champion", "online-automl", None, 0, at, "") for n in (1, 2)]
    history = [
        HistoryEntry(at, "created", "1", ""),
        HistoryEntry("2026-01-04T03:00:00+00:00", "champion", "2", ""),
    ]
    state.commit(Changes(at, candidates=candidates, days=days, history=history))
    record = ModelRecord(None, state, datetime(2026, 1, 3, tzinfo=UTC))
    assert record.served == {f"2026-01-0{n}": 1 for n in range(1, 5)}, "the fifth is far ahead"
    record = ModelRecord(None, state, datetime(2026, 2, 1, tzinfo=UTC))
    assert record.served["2026-01-05"] == 2
