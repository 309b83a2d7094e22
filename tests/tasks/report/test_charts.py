"""Panels of one figure."""

from __future__ import annotations

from leaseboard.tasks.report.charts import panels


def test_panels_have_axes_of_their_own_that_do_not_overlap():
    for n in (1, 2, 4, 7):
        made = panels([str(i) for i in range(n)], {"type": "log"}, {}, "rows", "<loss>")
        names = ["", *map(str, range(2, n + 1))]
        boxes = [(*made[f"xaxis{name}"]["domain"], *made[f"yaxis{name}"]["domain"])
                 for name in names]  # fmt: skip
        assert {made[f"xaxis{name}"]["type"] for name in names} == {"log"}
        for i, (left, right, bottom, top) in enumerate(boxes):
            assert 0 <= left < right <= 1
            assert 0 <= bottom < top <= 1
            for other in boxes[:i]:
                apart = right <= other[0] or other[1] <= left
                assert apart or top <= other[2] or other[3] <= bottom
        titles = [*map(str, range(n)), "rows", "&lt;loss&gt;"]
        assert [note["text"] for note in made["annotations"]] == titles
