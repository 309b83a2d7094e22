"""The lines for a terminal."""

import pytest

from leaseboard.tasks.keep.page import status
from leaseboard.tasks.store.live_model import State


def test_a_dozen_lines_say_how_it_stands(lived, keep):
    place, now = lived
    lines = status(State(place, "sales"), keep, now).splitlines()
    assert len(lines) <= 12
    assert lines[1].startswith("  champion   chacha 6 is champion since 2026-02-25")
    told = "\n".join(lines)
    assert "(skill" in told
    assert "400 rows wait for a label, the oldest since 2026-01-21." in told
    assert "The last turn was 2026-03-01 03:00 UTC" in told
    assert "2026-02-28 03:00 labels late: 40 rows wait" in told
    assert "see leaseboard keep sales.yaml --status" in told


@pytest.mark.parametrize("days", [0, 1, 4])
def test_a_young_keep_has_one(days, state, life, keep):
    told = status(state, keep, life(state).live(days))
    assert ("There is no champion yet" in told) == (days < 3)
    assert ("No turn has been taken yet." in told) == (days == 0)


def test_the_evidence_so_far_is_told(state, life, keep):
    told = status(state, keep, life(state).live(13))
    assert "chacha 4, challenger: evidence" in told
    assert "20 decides" in told
