"""Who takes whose place, by the duels of their losses."""

from __future__ import annotations

import pytest

from leaseboard.tasks.keep import comparing, turn

pytestmark = pytest.mark.usefixtures("without_pages")


class TestRoles:
    """Who takes whose place."""

    @pytest.fixture
    def keeping(self, world):
        world.live(0, 6)
        state = world.state
        with state.turn():
            keeping = world.opened_turn(state)
            keeping.memory[comparing.DUELS] = {}
            yield keeping

    def test_a_better_challenger_takes_the_place_and_the_champion_watches(self, keeping):
        settle(keeping, champion=4.0, challenger=1.0)
        roles = {each.number: each.role for each in keeping.shadow.alive}
        assert (roles[1], roles[4]) == ("previous", "champion")
        assert comparing.duel_of(keeping, "previous").rows == 0

    def test_a_new_champion_that_is_worse_gives_the_place_back(self, keeping):
        settle(keeping, champion=4.0, challenger=1.0)
        settle(keeping, champion=9.0, previous=1.0)
        roles = {each.number: each.role for each in keeping.shadow.lineages.values()}
        assert (roles[1], roles[4]) == ("champion", "retired")
        assert [each.kind for each in keeping.found] == ["rolled back"]

    def test_a_worse_challenger_is_retired(self, keeping):
        settle(keeping, champion=1.0, challenger=4.0)
        assert keeping.shadow.of_role("challenger") is None
        assert keeping.shadow.of_role("champion").number == 1

    def test_alike_is_undecided(self, keeping):
        settle(keeping, champion=2.0, challenger=2.0)
        assert keeping.shadow.of_role("challenger") is not None


def settle(keeping, **losses):
    """Labels, by which roles have these losses, one unit to and fro."""
    work = turn.Work(None, None)
    numbers = {keeping.shadow.of_role(role).number: loss for role, loss in losses.items()}
    work.losses = [
        {number: {"loss": loss + 0.1 * (i % 3)} for number, loss in numbers.items()}
        for i in range(150)
    ]
    comparing.compare(keeping, work)
    comparing.promote(keeping, work)
