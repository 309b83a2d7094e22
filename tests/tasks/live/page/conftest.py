"""A live model that has lived for some days, with all that its page shows."""

from datetime import timedelta

import pytest

from leaseboard.tasks.live.candidates import CHALLENGER, CHAMPION, PREVIOUS
from leaseboard.tasks.live.drift.monitor import MonitoredDays, StreamMonitor
from leaseboard.tasks.live.incidents import Case, Incident
from leaseboard.tasks.live.lifecycle import LifecycleState
from leaseboard.tasks.live.record import ModelRecord
from leaseboard.tasks.store.live_tables import BatchEntry, Changes, HistoryEntry
from tests.tasks.live.shops import BEGAN, Shop

DAYS = 12


@pytest.fixture(scope="session")
def lived(tmp_path_factory):
    """Return the record of a live model, to be read only."""
    shop = Shop(tmp_path_factory.mktemp("lived"), b=3)
    for day in range(DAYS):
        moves = [(CHAMPION, PREVIOUS), (CHALLENGER, CHAMPION)] if day == 7 else ()
        shop.update(bear=day == 3, move=moves)
    now, what = BEGAN + timedelta(days=DAYS), "price has moved <b>"
    days = [str((BEGAN + timedelta(days=day)).date()) for day in range(DAYS)]
    lifecycle = LifecycleState.read(shop.live.state.lifecycle())
    values = {"price: middle": [float(n % 5) for n in range(DAYS)]}
    alarmed = [["price: middle"] * (n == 9) for n in range(DAYS)]
    part = MonitoredDays(days, [40] * DAYS, alarmed, values=values)
    lifecycle.monitored = StreamMonitor(part)
    lifecycle.cases = [Case(Incident("drift", "price", what, now, "leaseboard live status"), now)]
    at, state = now.isoformat(), shop.live.state
    state.commit(Changes(
        at, BatchEntry("last.csv", "last", {"quarantined": 1}), window=500,
        quarantined=[("x", "price 9000 is above 120", "{}")], lifecycle=lifecycle.dump(),
        history=[HistoryEntry(at, "opened", "price", what)],
    ))  # fmt: skip
    state.end_update(state.begin_update(at), at, {"new": 40})
    return ModelRecord(shop.live.settings, state, now + timedelta(hours=1))
