"""A site of leaderboards: equal ones make equal bytes; a reader finds one by data or algorithm."""

import dataclasses
import shutil

import pytest
from playwright.sync_api import expect

from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.archive import bundle
from leaseboard.tasks.archive.merge import merge
from leaseboard.tasks.folder import results
from leaseboard.tasks.jobs.suites.suite import Suite
from leaseboard.tasks.report import site
from tests.browsing import assert_accessible

pytestmark = pytest.mark.slow


def files(out):
    return {
        str(path.relative_to(out)): path.read_bytes()
        for path in sorted(out.rglob("*"))
        if path.is_file()
    }


def suite_of(data, *algorithms, title="Small <b>table</b>"):
    return Suite(title=title, name="s", data=[data], algorithms=list(algorithms))


@pytest.fixture
def run(tmp_path, put_job):
    """Return a function that makes a run folder of a few jobs."""

    def make(name, suite, *, host="here", **fields):
        made = [
            put_job(
                tmp_path / name, job.key("d", "v"), host=host, algorithm=job.algorithm,
                name=job.name, data=job.data, seed=job.seed, repetition=job.repetition,
                environment_seed=job.environment_seed, events=results.EVENTS,
                environment="stream", unit="examples", **fields,
            )
            for job in suite.jobs()
        ]  # fmt: skip
        results.assemble(tmp_path / name, made)
        (tmp_path / name / results.SUITE_FILE).write_text(suite.model_dump_json())
        return tmp_path / name

    return make


def test_archives_of_two_machines_make_equal_bytes_in_either_order(run, tmp_path):
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


def test_leaderboards_in_any_order_at_once_or_one_by_one_make_equal_bytes(run, tmp_path):
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


def test_another_score_is_another_leaderboard_and_the_earlier_one_stays(run, tmp_path):
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
    with pytest.raises(UsageError, match="is required"):
        site.publish([folder], tmp_path / "x")


@pytest.fixture
def shown(run, tmp_path):
    """Return the folder of a site of three leaderboards."""
    boards = (
        ("synthetic:fried", ["vanilla", "chacha"], "Small <b>table</b>"),
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
    names = [
        {"algorithm": "vanilla", "name": f"v{i}"} | {"settings": {"b": i + 8}} for i in range(10)
    ]
    data = {"data": "synthetic:fried", "name": "Friedman"}
    site.publish([run("a", suite_of(data, *names))], tmp_path / "x")
    text = (tmp_path / "x" / site.INDEX).read_text()

    assert "<td>v0, v1, v2, v3, v4, v5, v6, v7 and 2 more</td>" in text
    assert 'data-algorithms="v0\nv1\nv2\nv3\nv4\nv5\nv6\nv7\nv8\nv9"' in text
    assert 'data-data="Friedman\nsynthetic:fried"' in text


def test_a_matrix_has_every_algorithm_on_every_dataset_with_rank_and_job(run, tmp_path):
    """Relative losses, where a baseline has a loss; a job that failed has a dash and no rank."""
    data = ["synthetic:fried", {"data": "synthetic:mv", "name": "mv"}]
    suite = Suite(title="M", name="s", data=data, algorithms=["chacha", "vanilla"])
    folder = run("m", suite, metric="progressive_mse", direction="min",
                 started="2026-03-01T00:00:00Z")  # fmt: skip
    rows = []
    for row in results.read_results(folder):
        score = {"chacha": 2.0, "vanilla": 8.0}[row.name]
        lost = row.name == "chacha" and row.data == "synthetic:mv"
        changed = {"status": "crash", "score": None} if lost else {"score": score}
        day = "2026-03-04" if row.name == "vanilla" else "2026-03-01"
        rows.append(dataclasses.replace(row, **changed, baseline=row.name == "vanilla",
                                        started=f"{day}T00:00:00Z"))  # fmt: skip
        results.finish(folder, rows[-1])
    results.assemble(folder, rows)
    (board,) = site.publish([folder], tmp_path / "x").new

    assert (board.since, board.date) == ("2026-03-01", "2026-03-04")
    assert board.measure.startswith("Relative loss: progressive mean squared error over that of")
    assert board.columns == ["synthetic:fried", "mv"]
    cells = {name: [(cell.text, cell.shade) for cell in row] for name, row in board.matrix}
    assert cells == {"chacha": [("0.250", 1), ("–", 0)], "vanilla": [("1.00", 5), ("1.00", 1)]}
    assert dict(board.about)["Command"] == "leaseboard run s"
    keys = {row.key for row in rows}
    assert {cell.job for _, row in board.matrix for cell in row} == keys
    content = (tmp_path / "x" / "boards" / f"{board.id}.html").read_text()
    assert all(f'href="boards/{board.id}.html#job-{key}"' in
               (tmp_path / "x" / site.INDEX).read_text() for key in keys)  # fmt: skip
    assert 'href="../index.html"' in content


def titles(page):
    return page.locator("#boards-table tbody tr:visible th a").all_text_contents()


@pytest.mark.browser
def test_leaderboards_are_found_by_data_and_by_algorithm_from_disk(silent_page, shown):
    page = silent_page("file:")
    page.goto(f"file://{shown / site.INDEX}")
    assert sorted(titles(page)) == ["Second", "Small <b>table</b>", "Third"]
    page.get_by_label("Algorithm", exact=True).fill("chacha")
    assert sorted(titles(page)) == ["Small <b>table</b>", "Third"]
    page.get_by_label("Data", exact=True).fill("FRIED")
    expect(page.locator("#count")).to_have_text("1 of 3")
    page.reload()
    assert titles(page) == ["Small <b>table</b>"]
    expect(page.locator("#matrices h3:visible")).to_have_text("Small <b>table</b>")
    page.locator("#boards-table").get_by_role("link", name="Small <b>table</b>").click()
    expect(page.locator("h1").first).to_have_text("Small <b>table</b>")
    page.get_by_role("link", name="All leaderboards").click()
    expect(page.locator("#count")).to_have_text("3 of 3")


@pytest.mark.browser
def test_axe_finds_nothing_on_the_index_and_it_fits_a_phone(silent_page, shown):
    page = silent_page("file:", viewport={"width": 400, "height": 800})
    page.goto(f"file://{shown / site.INDEX}")
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        assert_accessible(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
