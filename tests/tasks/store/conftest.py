import pytest

from leaseboard.tasks.store.live_model import State


@pytest.fixture
def state(state_place):
    return State(state_place, "sales")
