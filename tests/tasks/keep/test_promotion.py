"""Who takes whose place, by the evidence of their losses, or by hand."""

from __future__ import annotations

import pytest

from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.sequential.duel import Duel
from leaseboard.tasks.keep import cycle
from leaseboard.tasks.keep.promotion import duel_of, promote_by_hand
from leaseboard.tasks.keep.shadow import CHALLENGER, CHAMPION, PREVIOUS, RETIRED
from leaseboard.tasks.keep.update import Work
from leaseboard.tasks.store.live_tables import Changes, in_role

pytestmark = pytest.mark.usefixtures("without_pages")


class TestRoles:
    """Who takes whose place."""

    @pytest.fixture
    def update(self, world):
        world.live(0, 6)
        state = world.state
        with state.turn():
            update = world.opened_update(state)
            update.lifecycle.duels = {}
            yield update

    def test_a_better_challenger_takes_the_place_and_the_champion_watches(self, update):
        compare(update, champion=4.0, challenger=1.0)
        roles = {each.number: each.role for each in update.shadow.alive}
        assert (roles[1], roles[4]) == ("previous", "champion")
        assert duel_of(update, "previous").rows == 0

    def test_a_new_champion_that_is_worse_gives_the_place_back(self, update):
        compare(update, champion=4.0, challenger=1.0)
        compare(update, champion=9.0, previous=1.0)
        roles = {each.number: each.role for each in update.shadow.lineages.values()}
        assert (roles[1], roles[4]) == ("champion", "retired")
        assert [each.kind for each in update.found] == ["rolled back"]

    def test_a_worse_challenger_is_retired(self, update):
        compare(update, champion=1.0, challenger=4.0)
        assert update.shadow.of_role("challenger") is None
        assert update.shadow.of_role("champion").number == 1

    def test_alike_is_undecided(self, update):
        compare(update, champion=2.0, challenger=2.0)
        assert update.shadow.of_role("challenger") is not None


def compare(update, **losses):
    """Labels, by which roles have these losses, one unit to and fro."""
    work = Work(None, None)
    numbers = {update.shadow.of_role(role).number: loss for role, loss in losses.items()}
    work.losses = [
        {number: {"loss": loss + 0.1 * (i % 3)} for number, loss in numbers.items()}
        for i in range(150)
    ]
    cycle.evaluate(update, work)
    cycle.promote(update, work)


AT = "2026-02-01T00:00:00+00:00"


def roles(shop):
    return {each.number: each.role for each in shop.kept.state.lineages() if each.name == "chacha"}


def seen(shop, champion, challenger, rows=100):
    """Have the duel see so many rows of these losses, one unit to and fro."""
    losses = [[mean + 0.1 * (i % 3) for i in range(rows)] for mean in (champion, challenger)]
    state = Duel().update_many(*losses).to_dict()
    shop.kept.state.commit(Changes(AT, memory={"duels": {CHALLENGER: state}}))


@pytest.fixture
def challenged(shop):
    """With a champion and a challenger."""
    return shop.turn(bear=True)


def test_evidence_promotes_and_the_champion_watches(challenged):
    seen(challenged, champion=4.0, challenger=1.0)
    done, words = promote_by_hand(challenged.kept.state, 0.05, AT)
    assert done
    assert "against it after 100 labels, 20 decides; it loses 3 less a row (" in words
    assert roles(challenged) == {1: PREVIOUS, 4: CHAMPION}
    assert challenged.kept.state.memory()["duels"] == {}
    last = challenged.kept.state.history()[-1]
    assert (last.kind, last.subject) == (CHAMPION, "4")
    assert "by hand" in last.what


@pytest.mark.parametrize("losses", [(1.0, 4.0), (2.0, 2.0)])
def test_evidence_that_is_against_it_or_not_enough_does_not_but_anyway_does(challenged, losses):
    seen(challenged, *losses)
    before = challenged.kept.state.memory()
    assert promote_by_hand(challenged.kept.state, 0.05, AT)[0] is False
    assert roles(challenged) == {1: CHAMPION, 4: CHALLENGER}
    assert challenged.kept.state.memory() == before
    assert promote_by_hand(challenged.kept.state, 0.05, AT, anyway=True)[0] is True
    assert roles(challenged) == {1: PREVIOUS, 4: CHAMPION}


def test_without_a_row_that_both_forecast_there_is_no_evidence(challenged):
    done, words = promote_by_hand(challenged.kept.state, 0.05, AT)
    assert (done, words) == (False, "no label of a row that both have forecast has come")


def test_the_one_before_the_champion_retires(challenged):
    promote_by_hand(challenged.kept.state, 0.05, AT, anyway=True)
    challenged.turn(bear=True)
    promote_by_hand(challenged.kept.state, 0.05, AT, anyway=True)
    assert roles(challenged) == {1: RETIRED, 4: PREVIOUS, 5: CHAMPION}
    assert in_role(challenged.kept.state.lineages(), RETIRED).model is None
    challenged.turn()


def test_without_a_challenger_it_is_one_line(shop):
    shop.turn()
    with pytest.raises(UsageError, match="'sales' has no challenger: a turn makes one"):
        promote_by_hand(shop.kept.state, 0.05, AT)
