import re

import pytest

from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks import report
from leaseboard.tasks.folder.results import shown_at, write_result
from leaseboard.tasks.folder.seal import unseal
from leaseboard.tasks.jobs.job import Job
from leaseboard.tasks.report.page import unpacked
from leaseboard.tasks.report.sections.jobs import race_command
from leaseboard.tasks.score.board import as_csv, latex, markdown, plain
from leaseboard.tasks.score.compared import compared
from leaseboard.tasks.score.leaderboard import ONE_SET_RULE
from tests.page_reader import Reader, read_page


@pytest.fixture
def page(built):
    return built / "report.html"


@pytest.fixture
def read(page):
    return read_page(page)


def test_the_page_is_whole_html_with_unique_ids(read):
    assert len(read.ids) == len(set(read.ids))
    assert {"summary", "leaderboard", "curves", "tests", "data", "published", "jobs",
            "relative-error", "relative-error-0"} <= set(read.ids)  # fmt: skip


def test_the_page_loads_nothing(page, read):
    assert all(value.startswith(("#", "data:,")) for value in read.loads)
    style = re.search(r"<style>(.*?)</style>", page.read_text(), re.DOTALL)[1]
    assert "url(" not in style
    assert "@import" not in style


def test_every_link_in_the_page_leads_somewhere(read):
    goals = {value[1:] for value in read.loads if value.startswith("#")}
    jobs = {goal for goal in goals if goal.startswith("job-")}
    assert {f"payload-{goal[4:]}" for goal in jobs} <= set(read.packed)
    assert goals - jobs <= set(read.ids)


def test_the_page_holds_the_numbers(read):
    words = read.words
    assert "exhaustive ranks first: mean rank 1.00 among 4 algorithms on 2 data sets." in words
    assert "3 ± 0" in words
    assert "fried" in words
    assert "0.41 ± 0.34" in words
    assert "23 of 36 jobs finished (1 failed, 12 skipped)." in words
    assert "not measured" in words or "–" in words


def test_what_a_normalised_score_is_stands_with_every_number_that_is_one(page):
    content = page.read_text(encoding="utf-8")
    said = "A normalised progressive_mse is the share of the way from what vanilla reaches (0)"
    for place in ("summary", "leaderboard", "data", "published"):
        section = re.search(rf'<section id="{place}".*?</section>', content, re.DOTALL)
        assert section is not None, place
        assert said in section[0], place


def test_names_are_text_not_markup(page, read):
    content = page.read_text(encoding="utf-8")
    assert "<script>alert" not in content
    assert "<b>configs" not in content
    assert "random <b>configs</b>" in " ".join(read.words)


def test_failed_and_skipped_jobs_stand_there_with_their_reasons(read):
    assert "13 of 36 jobs did not finish" in read.words
    assert read.words.count("data not available: no <network>") == 12
    assert "stopped after 60 s" in read.words


def test_every_job_has_a_page_with_its_command(read, suite):
    payloads = [
        unpacked(data) for name, data in read.packed.items() if name.startswith("payload-")
    ]
    assert len(payloads) == len(suite.jobs())
    first = payloads[0]
    assert first["command"].startswith("leaseboard race chacha 'synthetic:fried?rows=1000' --seed")
    assert ["Data digest", "sha256-1234"] in first["facts"]
    assert {"Leases", "Bounds of champion and challengers"} <= {
        figure["title"] for figure in first["figures"]
    }
    skipped = [p for p in payloads if "figures" not in p]
    assert len(skipped) == 13


def test_the_same_run_gives_the_same_page(page, run_folder, suite):
    before = page.read_bytes()
    assert report.build(run_folder, suite).read_bytes() == before
    assert not list(run_folder.glob("*.part"))


def test_a_page_can_be_built_again_from_the_folder_alone(page, built_folder, suite):
    before = page.read_bytes()
    assert report.suite_of(built_folder) == suite
    assert report.build(built_folder, report.suite_of(built_folder)).read_bytes() == before


def test_a_folder_without_a_suite_gets_a_page_too(run_folder):
    assert report.suite_of(run_folder) is None
    content = report.build(run_folder).read_text(encoding="utf-8")
    assert "<title>quick · Leaseboard</title>" in content
    assert "scaled progressive_mse" in content


def test_a_page_on_which_one_data_set_alone_has_results_ranks_nothing(tmp_path, suite, make_run):
    """The second data set is skipped, as one that cannot be downloaded is."""
    suite = suite.model_copy(update={"data": [suite.data[0], suite.data[2]], "published": []})
    make_run(tmp_path / "lone", suite, rounds=2)
    page = report.build(tmp_path / "lone", suite)
    found = compared(shown_at(tmp_path / "lone"), suite)

    assert ONE_SET_RULE in page.read_text(encoding="utf-8")
    texts = (report.figures(found), plain(found), markdown(found), as_csv(found), latex(found))
    for text in (*read_page(page).words, *texts):
        assert "mean rank" not in text.lower()
        assert "w/t/l" not in text
        assert "Wins / ties / losses" not in text
        assert "Nemenyi" not in text
    assert "tests" not in read_page(page).ids


def test_a_suite_file_of_another_version_is_named(run_folder):
    (run_folder / "suite.json").write_text('{"title": 3}')
    with pytest.raises(UsageError, match=r"suite\.json is of another version"):
        report.suite_of(run_folder)


def test_a_damaged_log_is_told_and_the_rest_is_shown(run_folder, suite):
    path = sorted(run_folder.glob("jobs/*/events.jsonl.gz"))[0]
    path.write_bytes(path.read_bytes()[:200])
    reader = Reader()
    reader.feed(report.build(run_folder, suite).read_text(encoding="utf-8"))
    payload = unpacked(reader.packed[f"payload-{path.parent.name}"])
    facts = dict(map(tuple, payload["facts"]))
    assert facts["Status"].startswith(f"crash: {path} was changed after it was written")
    assert facts["Score"] == "–"
    assert "figures" not in payload


def test_a_log_that_was_written_damaged_gives_what_it_holds(run_folder, suite):
    path = sorted(run_folder.glob("jobs/*/events.jsonl.gz"))[0]
    path.write_bytes(path.read_bytes()[:200])
    write_result(path.parent, unseal((path.parent / "result.json").read_bytes())[0])
    reader = Reader()
    reader.feed(report.build(run_folder, suite).read_text(encoding="utf-8"))
    payload = unpacked(reader.packed[f"payload-{path.parent.name}"])
    trouble = dict(map(tuple, payload["facts"]))["Trouble"]
    assert trouble.startswith("the event log is damaged")


def test_a_command_repeats_settings_budget_and_both_seeds():
    job = Job(algorithm="chacha", data="openml:215", seed=7, environment_seed=9, budget=500,
              settings={"b": 5, "rates": [0.1, 0.5]}, bench={"log_target": False})  # fmt: skip
    assert race_command(job) == (
        "leaseboard race chacha openml:215 --seed 7 --environment-seed 9 --budget 500"
        " --set b=5 --set 'rates=[0.1, 0.5]' --set log_target=false"
    )


def test_a_thousand_jobs_stay_below_15_mb(tmp_path, suite, make_run):
    """Measured on four jobs of the largest size, a thousand of which would have to fit."""
    suite = suite.model_copy(update={"data": suite.data[:1], "repetitions": 1})
    make_run(tmp_path / "big", suite, rounds=1500, failures=False)
    content = report.build(tmp_path / "big", suite).read_text(encoding="utf-8")
    reader = Reader()
    reader.feed(content)
    payloads = [len(d) for name, d in reader.packed.items() if name.startswith("payload-")]
    rest = len(content) - sum(payloads)
    row = 700  # of the table of jobs
    assert rest + 1000 * (sum(payloads) / len(payloads) + row) < 15e6


def test_a_speed_suite_shows_what_a_unit_costs(run_folder, suite):
    path = report.build(run_folder, suite.model_copy(update={"kind": "speed"}))
    reader = Reader()
    reader.feed(path.read_text(encoding="utf-8"))

    # 0.25 CPU seconds over 20,000 examples, the same for all
    assert "12.5 (× 1)" in reader.words
    assert "CPU time of a unit" in reader.words
