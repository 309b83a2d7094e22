"""The page's section on past nights, made from what newer results superseded."""

from leaseboard.tasks.report import build
from leaseboard.tasks.report.page import unpacked
from tests.page_reader import read_page


def test_a_run_of_one_day_has_no_nights(built):
    assert "trend" not in read_page(built / "report.html").ids


def test_a_folder_with_results_of_earlier_code_shows_a_line_an_algorithm(with_a_night, suite):
    page = read_page(build.build(with_a_night, suite))
    figure = unpacked(page.packed["trend-0"])

    assert {"trend", "trend-table"} <= set(page.ids)
    lines = {trace["name"]: trace["y"] for trace in figure["data"]}
    assert list(lines)[:2] == ["exhaustive", "chacha"]
    assert lines["exhaustive"] == [1, 1]
    before, after = lines["random &lt;b&gt;configs&lt;/b&gt;"]
    assert before < after
    assert lines["chacha"][0] is None  # one of its jobs had not run then
    assert all(trace["x"] == ["2026-11-19", "2026-11-21"] for trace in figure["data"])
    said = " ".join(page.words)
    assert "a scheduled suite that no one changed adds no day" in said
    assert "A normalised score is the share of the way from what vanilla reaches (0)" in said
