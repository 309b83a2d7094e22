"""A challenger that a person promotes: on evidence, or anyway."""

import pytest

from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.sequential.duel import Duel
from leaseboard.tasks.keep.by_hand import promote_by_hand
from leaseboard.tasks.keep.changes import Changes, in_role
from leaseboard.tasks.keep.comparing import DUELS
from leaseboard.tasks.keep.shadow import CHALLENGER, CHAMPION, PREVIOUS, RETIRED

AT = "2026-02-01T00:00:00+00:00"


def roles(shop):
    return {each.number: each.role for each in shop.kept.state.lineages() if each.name == "chacha"}


def seen(shop, champion, challenger, rows=100):
    """Have the duel see so many rows of these losses, one unit to and fro."""
    losses = [[mean + 0.1 * (i % 3) for i in range(rows)] for mean in (champion, challenger)]
    state = Duel().update_many(*losses).to_dict()
    shop.kept.state.commit(Changes(AT, memory={DUELS: {CHALLENGER: state}}))


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
    assert challenged.kept.state.memory()[DUELS] == {}
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
