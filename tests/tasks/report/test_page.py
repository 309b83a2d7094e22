"""The report of a run folder: whole, silent, true to the results, and built again the same."""

import pandas as pd
import pytest

from leaseboard.tasks.folder.results import load_result, rows, write_result
from leaseboard.tasks.report import build
from leaseboard.tasks.score.summary import ONE_SET_RULE, compared
from tests.page_reader import read_page


@pytest.fixture
def page(built):
    return built / "report.html"


@pytest.fixture
def read(page):
    return read_page(page)


def test_the_page_is_whole_has_unique_ids_and_loads_nothing(read):
    assert len(read.ids) == len(set(read.ids))
    expected = {"summary", "leaderboard", "curves", "data", "jobs"}
    assert expected <= set(read.ids)
    assert all(value.startswith(("#", "data:,")) for value in read.loads)
    assert {value[1:] for value in read.loads if value.startswith("#")} <= set(read.ids)


def test_the_page_holds_the_numbers(read):
    words = read.words
    assert "exhaustive ranks first: mean rank 1.00 among 4 algorithms on 2 datasets." in words
    assert "fried" in words
    assert any("23 of 36 jobs finished (1 failed, 12 skipped)." in each for each in words)
    assert words.count("data not available: no <network>") == 12
    assert "stopped after 60 s" in words


def test_names_are_text_not_markup(page, read):
    content = page.read_text(encoding="utf-8")
    assert "<script>alert" not in content
    assert "<b>configs" not in content
    assert "random <b>configs</b>" in " ".join(read.words)
    for figure in read.figures.values():
        assert not any("<" in trace.get("name", "") for trace in figure["data"])


def test_the_same_run_gives_the_same_page_also_from_the_folder_alone(page, built_folder, suite):
    before = page.read_bytes()
    assert build.suite_of(built_folder) == suite
    for known in (suite, build.suite_of(built_folder)):
        assert build.build(built_folder, known).read_bytes() == before
    assert not list(built_folder.glob("*.part"))


def test_a_page_on_which_one_dataset_alone_has_results_ranks_nothing(tmp_path, suite, make_run):
    """The second dataset is skipped, as one that cannot be downloaded is."""
    suite = suite.model_copy(update={"data": [suite.data[0], suite.data[2]]})
    make_run(tmp_path / "lone", suite)
    read = read_page(build.build(tmp_path / "lone", suite))

    assert any(ONE_SET_RULE in words for words in read.words)
    assert not any("mean rank" in words.lower() for words in read.words)


def test_a_log_that_was_cut_is_shown_as_far_as_it_goes(run_folder, suite):
    path = sorted(run_folder.glob("jobs/*/events.jsonl.gz"))[0]
    path.write_bytes(path.read_bytes()[:200])
    write_result(path.parent, load_result((path.parent / "result.json").read_bytes())[0])
    assert read_page(build.build(run_folder, suite)).words


def test_the_page_links_to_the_runs_in_mlflow_where_it_has_any(built_folder, suite):
    (built_folder / "mlflow.json").write_text('{"ui": "https://ui.example", "jobs": "7"}')
    found = compared(rows(built_folder), suite)
    read = read_page(build.build(built_folder, suite, found))
    links = [link.partition("?")[0] for link in read.loads if link.startswith("https:")]
    assert links == ["https://ui.example/#/experiments/7/runs"] * 2


def test_a_curve_is_the_median_from_where_each_repetition_has_a_value():
    ends = (1.0, 2.0, 9.0)
    middle = build.median_curve([pd.Series({1.0: 4.0, 10.0: end}) for end in ends])
    assert middle.to_dict() == {1.0: 4.0, 10.0: 2.0}
    late = pd.Series({5.0: 8.0})
    assert build.median_curve([pd.Series({1.0: 4.0}), late]).to_dict() == {5.0: 6.0}
