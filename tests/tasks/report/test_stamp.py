"""A run with nothing new leaves its page; whatever can change the page makes it anew."""

import gzip
import shutil
from importlib import import_module

import pytest

from leaseboard.tasks import report
from leaseboard.tasks.folder.results import (
    EVENTS,
    RESULT,
    TABLE,
    look_into,
    read_table,
    shown_at,
    write_result,
)
from leaseboard.tasks.score.compared import compared
from leaseboard.tasks.score.frame import as_frame

BUILD = import_module("leaseboard.tasks.report.build")  # the package has a function of this name
MARK = "<!-- the page of before -->"


@pytest.fixture
def refreshed(built_folder, suite):
    """Whether a refresh builds the page of the folder anew, by a mark in the present one."""
    page = built_folder / "report.html"

    def refresh(with_suite=suite):
        page.write_text(page.read_text(encoding="utf-8") + MARK, encoding="utf-8")
        found = compared(as_frame(shown_at(built_folder)), with_suite)
        assert report.refresh(built_folder, with_suite, found) == page
        return MARK not in page.read_text(encoding="utf-8")

    return refresh


def test_a_page_of_the_same_run_stays(refreshed):
    assert not refreshed()
    assert not refreshed()


def test_another_score_makes_the_page_anew(refreshed, built_folder):
    frame = read_table(built_folder / TABLE)
    frame.loc[0, "score"] += 0.125
    frame.to_parquet(built_folder / TABLE, index=False)
    assert refreshed()
    assert not refreshed()


def test_another_log_of_equal_results_makes_the_page_anew(refreshed, built_folder):
    sealed = sorted(built_folder.glob(f"jobs/*/{RESULT}"))[0]
    result = look_into(sealed.parent)
    with gzip.open(sealed.parent / EVENTS, "at") as log:
        log.write("\n")
    write_result(sealed.parent, result)
    assert refreshed()
    assert not refreshed()


def test_another_text_of_the_suite_makes_the_page_anew(refreshed, suite):
    assert refreshed(suite.model_copy(update={"title": "Another title"}))


def test_other_code_makes_the_page_anew(refreshed, tmp_path, monkeypatch):
    for top in ("algorithms", "tasks"):
        shutil.copytree(BUILD._CODE / top, tmp_path / "code" / top)
    monkeypatch.setattr(BUILD, "_CODE", tmp_path / "code")
    assert not refreshed()
    style = tmp_path / "code" / "tasks" / "report" / "static" / "report.css"
    style.write_text(style.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    assert refreshed()


def test_another_version_of_a_package_makes_the_page_anew(refreshed, monkeypatch):
    monkeypatch.setattr(BUILD, "packages", lambda: {"plotly": "99"})
    assert refreshed()


def test_a_suite_file_of_another_board_is_mended_though_the_page_stays(
    refreshed, built_folder, suite
):
    other = suite.model_copy(update={"metric": "kappa"})
    (built_folder / "suite.json").write_text(other.model_dump_json())

    assert not refreshed()
    assert report.suite_of(built_folder) == suite


def test_a_page_that_is_gone_is_made_anew(built_folder, suite):
    found = compared(as_frame(shown_at(built_folder)), suite)
    page = report.refresh(built_folder, suite, found)
    page.unlink()
    assert report.refresh(built_folder, suite, found).is_file()
