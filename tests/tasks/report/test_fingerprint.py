"""A run with nothing new leaves its page; everything that can change the page builds it again."""

import gzip
import shutil

import pytest

from leaseboard.tasks.folder.results import (
    EVENTS,
    RESULT,
    TABLE,
    look,
    read_table,
    shown_at,
    write_result,
)
from leaseboard.tasks.report import build
from leaseboard.tasks.score.frame import as_frame
from leaseboard.tasks.score.summary import compared


@pytest.fixture
def refreshed(built_folder, suite):
    """Return whether a refresh builds the folder's page again: it is another file then."""
    page = built_folder / "report.html"

    def refresh(with_suite=suite):
        before = page.stat().st_ino
        found = compared(as_frame(shown_at(built_folder)), with_suite)
        assert build.refresh(built_folder, with_suite, found) == page
        return page.stat().st_ino != before

    return refresh


def test_other_results_logs_or_suites_build_the_page_again(refreshed, built_folder, suite):
    assert not refreshed()

    frame = read_table(built_folder / TABLE)
    frame.loc[0, "score"] += 0.125
    frame.to_parquet(built_folder / TABLE, index=False)
    assert refreshed()

    path = sorted(built_folder.glob(f"jobs/*/{RESULT}"))[0]
    result = look(path.parent)
    with gzip.open(path.parent / EVENTS, "at") as log:
        log.write("\n")
    write_result(path.parent, result)
    assert refreshed()
    assert not refreshed()

    assert refreshed(suite.model_copy(update={"title": "Another title"}))
    (built_folder / "report.html").write_text("")
    assert refreshed()


@pytest.mark.parametrize("name", [build.PAGE, build.DIAGNOSTICS])
@pytest.mark.parametrize("change", [lambda text: text[:-1], lambda text: text.replace("b", "c"),
                                    lambda _: "[]", lambda _: "no JSON"])  # fmt: skip
def test_a_changed_page_and_changed_diagnostics_are_made_again(
    refreshed, built_folder, name, change
):
    assert not refreshed()
    ours = (built_folder / name).read_text(encoding="utf-8")
    (built_folder / name).write_text(change(ours), encoding="utf-8")
    assert refreshed()
    assert (built_folder / name).read_text(encoding="utf-8") == ours


def test_other_code_or_packages_build_the_page_again(refreshed, tmp_path, monkeypatch):
    for top in ("algorithms", "tasks"):
        shutil.copytree(build._CODE / top, tmp_path / "code" / top)
    monkeypatch.setattr(build, "_CODE", tmp_path / "code")
    assert not refreshed()
    style = tmp_path / "code" / "tasks" / "report" / "static" / "report.css"
    style.write_text(style.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    assert refreshed()
    monkeypatch.setattr(build, "packages", lambda: {"plotly": "99"})
    assert refreshed()


def test_a_suite_file_of_another_leaderboard_is_fixed_though_the_page_stays(
    refreshed, built_folder, suite
):
    other = suite.model_copy(update={"metric": "kappa"})
    (built_folder / "suite.json").write_text(other.model_dump_json())

    assert not refreshed()
    assert build.suite_of(built_folder) == suite
