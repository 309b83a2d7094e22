"""The command measures every search on the same rows."""

from benchmarks import selection_search


def test_every_search_is_measured_against_the_grids(monkeypatch):
    first = selection_search.grid()[1:3]
    monkeypatch.setattr(selection_search, "grid", lambda: first)
    lines = []

    assert selection_search.main(["--data", "sklearn:wine", "--seeds", "1"], lines.append) == 0
    names = list(selection_search.searches(0))
    assert [line[2:30].strip() for line in lines[1:6]] == names
    assert [line[2:30].strip() for line in lines[7:]] == names
    assert "median  1.00  mean +0.0000" in lines[7]
