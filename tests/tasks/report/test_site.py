"""A site of boards: equal boards make equal bytes, and a reader finds one by data or algorithm."""

import dataclasses
import shutil

import pytest
from playwright.sync_api import expect

from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.folder import results
from leaseboard.tasks.jobs.suites.suite import Suite
from leaseboard.tasks.report import site
from leaseboard.tasks.tend import bundle
from leaseboard.tasks.tend.merge import merge
from tests.browsing import assert_accessible


def files(out):
    return {
        str(path.relative_to(out)): path.read_bytes()
        for path in sorted(out.rglob("*"))
        if path.is_file()
    }


def suite_of(data, *algorithms, title="Small <b>board</b>"):
    return Suite(title=title, name="s", data=[data], algorithms=list(algorithms))


@pytest.fixture
def run(tmp_path, put_job):
    """A function that makes a run folder of a few jobs."""

    def make(name, suite, *, host="here", **fields):
        made = [
            put_job(
                tmp_path / name, job.key("d", "v"), host=host, algorithm=job.algorithm,
                label=job.label, data=job.data, seed=job.seed, repetition=job.repetition,
                environment_seed=job.environment_seed, events=results.EVENTS,
                bench="stream", unit="examples", **fields,
            )
            for job in suite.jobs()
        ]  # fmt: skip
        results.assemble(tmp_path / name, made)
        (tmp_path / name / results.SUITE_FILE).write_text(suite.model_dump_json())
        return tmp_path / name

    return make


def test_bundles_of_two_machines_make_equal_bytes_in_either_order(run, tmp_path):
    here = run("here", suite_of("synthetic:fried", "vanilla", "chacha"), cpu_seconds=1.0)
    there = run("there", suite_of("synthetic:fried", "apple", "vanilla"), cpu_seconds=2.0,
                host="there", started="2026-02-01T00:00:00+00:00")  # fmt: skip
    bundles = []
    for folder in (here, there):
        bundle.export(folder, folder.with_suffix(".zip"))
        bundles.append(bundle.read(folder.with_suffix(".zip")))
    for name, order in (("one", bundles), ("other", bundles[::-1])):
        (tmp_path / name).mkdir()
        merge(order, tmp_path / name)
        site.publish([tmp_path / name], tmp_path / f"site-{name}")

    one, other = files(tmp_path / "site-one"), files(tmp_path / "site-other")
    assert one == other
    assert len(one) == 3


def test_boards_in_any_order_at_once_or_one_by_one_make_equal_bytes(run, tmp_path):
    runs = [
        run("a", suite_of("synthetic:fried", "vanilla", title="A")),
        run("b", suite_of("synthetic:mv", "chacha", title="B"), started="2026-03-01T00:00:00Z"),
    ]
    site.publish(runs, tmp_path / "x")
    site.publish(runs[1:], tmp_path / "y")
    listed = site.publish(runs[:1], tmp_path / "y").listed

    assert files(tmp_path / "x") == files(tmp_path / "y")
    assert [(board.title, board.date) for board in listed] == [
        ("B", "2026-03-01"), ("A", "2026-01-01"),
    ]  # fmt: skip


def test_another_score_is_another_board_and_the_earlier_one_stays(run, tmp_path):
    folder = run("a", suite_of("synthetic:fried", "vanilla"))
    (before,) = site.publish([folder], tmp_path / "x").new
    (row,) = results.read_results(folder)
    results.finish(folder, dataclasses.replace(row, score=0.25))
    results.assemble(folder, results.read_results(folder))
    (after,) = site.publish([folder], tmp_path / "x").new

    assert before.id != after.id
    assert len(files(tmp_path / "x")) == 5


def test_a_record_that_is_not_ours_is_named(run, tmp_path):
    folder = run("a", suite_of("synthetic:fried", "vanilla"))
    (board,) = site.publish([folder], tmp_path / "x").new
    record = tmp_path / "x" / site.BOARDS / f"{board.id}.json"
    shutil.copy(record, record.with_stem("0" * 16))
    with pytest.raises(UsageError, match=f"is the record of {board.id}: give it that name"):
        site.publish([folder], tmp_path / "x")
    record.with_stem("0" * 16).write_text("{}")
    with pytest.raises(UsageError, match="Field required"):
        site.publish([folder], tmp_path / "x")


@pytest.fixture
def shown(run, tmp_path):
    """The folder of a site of three boards."""
    boards = (
        ("synthetic:fried", ["vanilla", "chacha"], "Small <b>board</b>"),
        ("synthetic:mv", ["vanilla", "apple"], "Second"),
        ("sklearn:digits", ["apple", "chacha"], "Third"),
    )
    runs = [
        run(f"run{i}", suite_of(data, *names, title=title))
        for i, (data, names, title) in enumerate(boards)
    ]
    site.publish(runs, tmp_path / "site")
    return tmp_path / "site"


def test_a_long_list_is_cut_in_the_index_and_searched_whole(run, tmp_path):
    names = [{"name": "vanilla", "label": f"v{i}"} | {"settings": {"b": i + 8}} for i in range(10)]
    data = {"data": "synthetic:fried", "name": "Friedman"}
    site.publish([run("a", suite_of(data, *names))], tmp_path / "x")
    text = (tmp_path / "x" / site.INDEX).read_text()

    assert "<td>v0, v1, v2, v3, v4, v5, v6, v7 and 2 more</td>" in text
    assert 'data-algorithms="v0\nv1\nv2\nv3\nv4\nv5\nv6\nv7\nv8\nv9"' in text
    assert 'data-data="Friedman\nsynthetic:fried"' in text


def titles(page):
    return page.locator("#boards-table tbody tr:visible th a").all_text_contents()


@pytest.mark.browser
def test_boards_are_found_by_data_and_by_algorithm_from_disk(silent_page, shown):
    page = silent_page("file:")
    page.goto(f"file://{shown / site.INDEX}")
    assert sorted(titles(page)) == ["Second", "Small <b>board</b>", "Third"]
    page.get_by_label("Algorithm").fill("chacha")
    assert sorted(titles(page)) == ["Small <b>board</b>", "Third"]
    page.get_by_label("Data").fill("FRIED")
    expect(page.locator("#count")).to_have_text("1 of 3")
    page.reload()
    assert titles(page) == ["Small <b>board</b>"]
    page.get_by_role("link", name="Small <b>board</b>").click()
    expect(page.locator("h1").first).to_have_text("Small <b>board</b>")
    page.get_by_role("link", name="All boards").click()
    expect(page.locator("#count")).to_have_text("3 of 3")


@pytest.mark.browser
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_on_the_index_and_it_is_no_wider_than_a_phone(silent_page, shown, theme):
    page = silent_page("file:", viewport={"width": 400, "height": 800}, color_scheme=theme)
    page.goto(f"file://{shown / site.INDEX}")
    assert_accessible(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
