"""Who takes whose place, by the evidence of their losses, or by hand."""

import pytest

from leaseboard.algorithms.sequential_test import SequentialTest
from leaseboard.tasks.live.candidates import (
    CHALLENGER,
    CHAMPION,
    PREVIOUS,
    ROLLED_BACK,
    change_by_hand,
)
from leaseboard.tasks.live.incidents import LifecycleState
from leaseboard.tasks.live.update import Work
from leaseboard.tasks.store.live_tables import Changes

pytestmark = pytest.mark.usefixtures("without_pages")


class TestRoles:
    """Changes of roles."""

    @pytest.fixture
    def update(self, world):
        world.live(0, 6)
        state = world.state
        with state.update_lock():
            update = world.open_update(state)
            update.lifecycle.tests = {}
            yield update

    def test_a_better_challenger_takes_the_place_and_the_champion_becomes_previous(self, update):
        compare(update, champion=4.0, challenger=1.0)
        roles = {each.number: each.role for each in update.shadow.predicting}
        assert (roles[1], roles[4]) == ("previous", "champion")
        assert update.test_of("previous").rows == 0

    def test_a_new_champion_that_is_worse_gives_the_place_back(self, update):
        compare(update, champion=4.0, challenger=1.0)
        compare(update, champion=9.0, previous=1.0)
        roles = {each.number: each.role for each in update.shadow.candidates.values()}
        assert (roles[1], roles[4]) == ("champion", "retired")
        assert [each.kind for each in update.found] == ["rolled back"]
        kinds = (CHAMPION, ROLLED_BACK)
        changes = [each for each in update.shadow.happened if each.kind in kinds]
        assert [each.kind for each in changes] == [CHAMPION, ROLLED_BACK, CHAMPION]
        assert all("evidence " in each.what for each in changes)


def compare(update, **losses):
    """Compare on labels, by which roles have these losses, one unit to and fro."""
    work = Work(None, None)
    numbers = {update.shadow.in_role(role).number: loss for role, loss in losses.items()}
    work.losses = [
        {number: {"loss": loss + 0.1 * (i % 3)} for number, loss in numbers.items()}
        for i in range(150)
    ]
    update.evaluate(work)
    update.promote(work)


AT = "2026-02-01T00:00:00+00:00"


def roles(shop):
    return {
        each.number: each.role
        for each in shop.live.state.candidates()
        if each.name == "online-automl"
    }


def seen(shop, champion, challenger, rows=100):
    """Have the sequential test see so many rows of these losses, one unit to and fro."""
    losses = [[mean + 0.1 * (i % 3) for i in range(rows)] for mean in (champion, challenger)]
    tests = {CHALLENGER: SequentialTest().update_many(*losses)}
    changes = Changes(AT, lifecycle={"tests": LifecycleState(tests=tests).dump()["tests"]})
    shop.live.state.commit(changes)


@pytest.fixture
def challenged(shop):
    """Return a world with a champion and a challenger."""
    return shop.update(bear=True)


@pytest.mark.parametrize("losses", [(1.0, 4.0), (2.0, 2.0)])
def test_evidence_that_is_against_it_or_not_enough_does_not_but_anyway_does(challenged, losses):
    seen(challenged, *losses)
    before = challenged.live.state.lifecycle()
    assert change_by_hand(challenged.live, AT, CHAMPION)[0] is False
    assert roles(challenged) == {1: CHAMPION, 4: CHALLENGER}
    assert challenged.live.state.lifecycle() == before
    assert change_by_hand(challenged.live, AT, CHAMPION, anyway=True)[0] is True
    assert roles(challenged) == {1: PREVIOUS, 4: CHAMPION}
    assert "by hand in spite of the evidence" in challenged.live.state.history()[-1].what


def test_promotions_and_rollbacks_by_hand_are_events_each_once(challenged, monkeypatch):
    from leaseboard.flows import live_update
    from leaseboard.flows.live_update import announce_news

    sent = []
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:1/api")
    monkeypatch.setattr(live_update, "emit", lambda *event: sent.append(event))
    state = challenged.live.state
    seen(challenged, champion=4.0, challenger=1.0)
    change_by_hand(challenged.live, AT, CHAMPION)
    for _ in range(2):
        announce_news(state, "sales", AT, "http://mlflow", by_hand=True)
    ((event, kind, name, payload, _once),) = sent
    assert (event, kind, name) == ("leaseboard.model.promoted", "leaseboard.model", "sales")
    assert "evidence " in payload["what"]
    assert payload["links"] == {"mlflow": "http://mlflow/#/models/sales"}

    sent.clear()
    change_by_hand(challenged.live, AT, ROLLED_BACK)
    for _ in range(2):  # a command that was killed before it noted that it had sent the event
        announce_news(state, "sales", AT, "http://mlflow", by_hand=True)
        state.commit(Changes(AT, lifecycle={"announced": len(state.history()) - 3}))
    (event, _, _, payload, once), (*_, again) = sent
    assert once == again
    assert event == "leaseboard.model.rolled-back"
    assert payload["title"] == "candidate 4 was rolled back"


def test_a_change_by_hand_is_finished_before_another_one_of_its_kind(challenged):
    state = challenged.live.state
    _, what = change_by_hand(challenged.live, AT, CHAMPION, anyway=True)
    assert what.startswith("no label of a row")
    before = state.history()
    assert change_by_hand(challenged.live, AT, CHAMPION) == (True, what)
    assert state.history() == before
    for _ in range(2):  # another kind is another wish
        change_by_hand(challenged.live, AT, ROLLED_BACK)
    assert roles(challenged) == {1: CHAMPION, 4: PREVIOUS}
    state.commit(Changes(AT, lifecycle={"by_hand": None}))
    change_by_hand(challenged.live, AT, ROLLED_BACK)
    assert roles(challenged) == {1: PREVIOUS, 4: CHAMPION}
