"""History of speed: what is recorded, and the page of it."""

from benchmarks import history


def record(commit, day, machine="a", **ratios):
    return {"commit": commit, "committed": f"2026-01-0{day}T00:00:00+00:00",
            "measured": "2026-02-01T00:00:00+00:00", "machine": machine, "python": "3.11.7",
            "runs": 7, "ratios": ratios}  # fmt: skip


def test_the_page_orders_commits_and_marks_what_became_slower_on_the_same_machine():
    page = history.page([
        record("c", 3, learn=1.3, read=1.2), record("a", 1, learn=1.0, read=1.0),
        record("b", 2, "other", learn=9.0), record("d", 4, learn=1.3, new=2.0),
    ])  # fmt: skip
    first, second = page.split("\n## ")[1:]
    lines = [line for line in first.splitlines() if line.startswith("| `")]
    assert [line[3] for line in lines] == ["a", "c", "d"]
    assert "**1.3**" in lines[1]
    assert "**1.2**" not in lines[1]
    assert lines[2].endswith("| 1.3 |  | 2 |")
    assert "9" in second


def test_a_record_has_a_ratio_for_each_way_that_is_timed(monkeypatch):
    monkeypatch.setattr(history, "REPEATS", 1)
    made = history.record(history.ROOT)
    names = {way.name for way in history.ways()} - {history.REFERENCE}
    assert made["ratios"].keys() == names
    assert all(each > 0 for each in made["ratios"].values())
