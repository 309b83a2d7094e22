"""The picture of the house is true: every room is in it, and nothing that is gone."""

import re

import pytest

from tests.docs import pages

FLOORS = ("algorithms", "tasks", "flows")
NAMED = re.compile(r"`([\w/.-]+/[\w/.-]*)`")


@pytest.mark.parametrize("page", ["docs/architecture.md", "CONTRIBUTING.md"])
def test_every_place_that_is_named_is_there(page):
    named = NAMED.findall((pages.ROOT / page).read_text())

    assert named
    assert [place for place in named if not (pages.ROOT / place).exists()] == []


def test_every_room_is_named():
    rooms = {
        folder.parent.relative_to(pages.ROOT).as_posix()
        for floor in FLOORS
        for folder in (pages.ROOT / floor).glob("*/__init__.py")
    }
    named = set(NAMED.findall((pages.DOCS / "architecture.md").read_text()))

    assert rooms - named == set()
