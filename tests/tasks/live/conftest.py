import shutil

import pytest

from leaseboard.tasks.live import update as updates
from tests.tasks.live.shops import Shop
from tests.tasks.live.world import World


class Taken:
    """Batches that were taken in, in the form of a live model's state."""

    def __init__(self):
        self.digests, self.names, self.mark = set(), set(), None

    def knows(self, digest):
        return digest in self.digests

    def watermark(self):
        return self.mark

    def had_batch(self, name):
        return name in self.names

    def take(self, batch):
        self.digests.add(batch.digest)
        self.names.add(batch.name)
        self.mark = batch.watermark or self.mark


@pytest.fixture(scope="session")
def nothing_taken():
    """Return a function that makes what knows nothing yet."""
    return Taken


@pytest.fixture
def taken():
    return Taken()


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
