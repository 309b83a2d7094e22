import shutil
from datetime import timedelta

import pytest

from leaseboard.tasks.live import update as updates
from leaseboard.tasks.live.candidates import CHALLENGER, CHAMPION, PREVIOUS
from leaseboard.tasks.live.incidents import Incident, LifecycleState
from leaseboard.tasks.live.record import ModelRecord
from leaseboard.tasks.store.live_tables import BatchRows, Changes, HistoryEntry
from tests.tasks.live.shops import BEGAN, Shop
from tests.tasks.live.world import World


@pytest.fixture
def uri(tmp_path, empty_store):
    (tmp_path / "mlruns").mkdir()
    shutil.copy(empty_store, tmp_path / "mlruns" / "mlflow.db")
    return f"sqlite:///{tmp_path / 'mlruns' / 'mlflow.db'}"


@pytest.fixture
def shop(tmp_path):
    return Shop(tmp_path, b=3)


@pytest.fixture
def world(tmp_path):
    """Return a world at its first day."""
    return World(tmp_path)


@pytest.fixture
def make_world(tmp_path):
    """Return worlds, each in a folder of its own."""
    return lambda name, **given: World(tmp_path / name, **given)


@pytest.fixture
def without_pages(monkeypatch):
    """Skip steps that have tests of their own and take most of an update."""
    monkeypatch.setattr(updates, "build", lambda *_: None)


@pytest.fixture(scope="session")
def lived(tmp_path_factory):
    """Return the record of a live model of twelve days, to be read only."""
    shop = Shop(tmp_path_factory.mktemp("lived"), b=3)
    for day in range(12):
        moves = [(CHAMPION, PREVIOUS), (CHALLENGER, CHAMPION)] if day == 7 else ()
        shop.update(bear=day == 3, move=moves)
    now, what = BEGAN + timedelta(days=12), "price has moved <b>"
    lifecycle = LifecycleState.read(shop.live.state.lifecycle())
    found = Incident("drift", "price", what, now, "leaseboard live status", now)
    lifecycle.incidents = [found]
    at, state = now.isoformat(), shop.live.state
    state.commit(Changes(
        at, ("last.csv", "last"),
        BatchRows(quarantined=[("x", "price 9000 is above 120", "{}")]),
        window=500, lifecycle=lifecycle.dump(),
        history=[HistoryEntry(at, "opened", "price", what)],
    ))  # fmt: skip
    state.begin_update(at)
    state.end_update(at, {"new": 40})
    return ModelRecord(shop.live.settings, state, now + timedelta(hours=1))
