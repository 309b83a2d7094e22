"""Who was what, when and why."""

from leaseboard.tasks.keep.page.story import Stay, stays
from leaseboard.tasks.store.live_tables import Happened, Lineage


def story(*told):
    history = [Happened(f"2026-01-{day:02}", kind, who, why) for day, kind, who, why in told]
    numbers = {int(who) for _, _, who, _ in told if who.isdigit()}
    lineages = {n: Lineage(n, "champion", "chacha", None, 0, "", "") for n in numbers}
    return stays(history, lineages, "2026-02-01")


def test_a_promotion_moves_both():
    assert story(
        (1, "born", "1", "the first"),
        (3, "opened", "1", "an incident of a column called 1"),
        (5, "born", "4", "drift"),
        (9, "previous", "1", "worse"),
        (9, "champion", "4", "better"),
    ) == [
        Stay(1, "champion", "2026-01-01", "2026-01-09", "the first", "worse"),
        Stay(4, "challenger", "2026-01-05", "2026-01-09", "drift", "better"),
        Stay(1, "previous", "2026-01-09", "2026-02-01", "worse"),
        Stay(4, "champion", "2026-01-09", "2026-02-01", "better"),
    ]


def test_a_roll_back_ends_a_reign():
    found = story(
        (1, "born", "1", "the first"),
        (5, "born", "4", "drift"),
        (9, "previous", "1", "worse"),
        (9, "champion", "4", "better"),
        (12, "rolled back", "4", "worse after all"),
        (12, "champion", "1", "again"),
    )
    assert [(each.lineage, each.role, each.stop) for each in found[2:]] == [
        (1, "previous", "2026-01-12"),
        (4, "champion", "2026-01-12"),
        (1, "champion", "2026-02-01"),
    ]


def test_who_was_retired_is_nothing_more():
    found = story((1, "born", "1", "a"), (2, "born", "2", "b"), (3, "retired", "2", "c"))
    assert found[1] == Stay(2, "challenger", "2026-01-02", "2026-01-03", "b", "c")


def test_a_length_is_in_milliseconds():
    assert Stay(1, "champion", "2026-01-01", "2026-01-02", "").milliseconds == 86_400_000
