"""The page's section on past nights, made from what newer results superseded."""

import dataclasses
import shutil

from tasks import report
from tasks.folder.results import finish, read_results
from tasks.report.pack import unpacked
from tests.page_reader import read_page


def test_a_folder_with_results_of_earlier_code_shows_a_line_an_algorithm(run_folder, suite):
    assert "trend" not in read_page(report.build(run_folder, suite)).ids
    for result in read_results(run_folder):
        if result.status == "ok":
            score = result.score + 0.2 * result.label.startswith("random")
            old = dataclasses.replace(
                result, key=result.key[::-1], started="2026-11-19T03:00:00+00:00", score=score
            )
            shutil.copytree(run_folder / "jobs" / result.key, run_folder / "jobs" / old.key)
            finish(run_folder, old)
    page = read_page(report.build(run_folder, suite))
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
    assert "a scheduled suite that nobody touched adds no day" in said
    assert "A normalised score is the share of the way from what vanilla reaches (0)" in said
