"""Panels of one figure."""

from __future__ import annotations

import pytest

from leaseboard.tasks.report import charts as facets


@pytest.mark.parametrize("panels", [1, 2, 3, 4, 5, 7])
def test_panels_have_axes_of_their_own_that_do_not_overlap(panels):
    made = facets.panels([str(i) for i in range(panels)], {"type": "log"}, {}, "x", "y")
    boxes = []
    for index in range(panels):
        name = facets._suffix(index)
        x, y = made[f"xaxis{name}"], made[f"yaxis{name}"]
        assert (x["anchor"], y["anchor"], x["type"]) == (f"y{name}", f"x{name}", "log")
        boxes.append((*x["domain"], *y["domain"]))
    for i, (left, right, bottom, top) in enumerate(boxes):
        assert 0 <= left < right <= 1
        assert 0 <= bottom < top <= 1
        for other in boxes[:i]:
            apart_x = right <= other[0] or other[1] <= left
            assert apart_x or top <= other[2] or other[3] <= bottom
    assert [note["text"] for note in made["annotations"]] == [str(i) for i in range(panels)]


def test_titles_stand_at_the_lowest_panel_of_a_column_and_the_first_of_a_row():
    made = facets.panels(list("abcde"), {}, {}, "rows", "loss")
    below = [made[f"xaxis{facets._suffix(i)}"]["title"]["text"] for i in range(5)]
    beside = [made[f"yaxis{facets._suffix(i)}"]["title"]["text"] for i in range(5)]
    assert below == ["", "", "rows", "rows", "rows"]
    assert beside == ["loss", "", "", "loss", ""]
