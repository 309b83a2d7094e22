import json
import re

import pytest

from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.folder.checksums import load_result
from leaseboard.tasks.folder.results import shown_at, write_result
from leaseboard.tasks.jobs.job import Job, Result
from leaseboard.tasks.report import build, pictures
from leaseboard.tasks.report.build import render
from leaseboard.tasks.report.material import Material
from leaseboard.tasks.report.page import unpacked
from leaseboard.tasks.report.sections import READERS, jobs
from leaseboard.tasks.report.sections.jobs import (
    MOST_CHARACTERS_OF_LISTS,
    race_command,
)
from leaseboard.tasks.score.board import as_csv, latex, markdown, plain
from leaseboard.tasks.score.frame import as_frame
from leaseboard.tasks.score.leaderboard import ONE_SET_RULE
from leaseboard.tasks.score.summary import compared
from tests.page_reader import job_pages, read_page


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
    assert {goal[4:] for goal in jobs} <= set(job_pages(read))
    assert len(jobs) == 13
    assert goals - jobs <= set(read.ids)


def test_the_page_holds_the_numbers(read):
    words = read.words
    assert "exhaustive ranks first: mean rank 1.00 among 4 algorithms on 2 datasets." in words
    assert "3.000" in words
    assert "fried" in words
    assert "0.41 ± 0.34" in words
    assert "23 of 36 jobs finished (1 failed, 12 skipped)." in words
    assert "not measured" in words or "–" in words


def test_the_meaning_of_a_normalised_score_is_next_to_every_one(page):
    content = page.read_text(encoding="utf-8")
    said = "A normalised progressive mean squared error is the share of the way from what vanilla"
    for place in ("summary", "leaderboard", "data", "published"):
        section = re.search(rf'<section id="{place}".*?</section>', content, re.DOTALL)
        assert section is not None, place
        assert said in section[0], place


def test_the_page_links_to_the_runs_in_mlflow_where_it_has_any(built_folder, suite, page):
    place = {"ui": "https://ui.example", "jobs": "7", "configurations": "8"}
    (built_folder / "mlflow.json").write_text(json.dumps(place))
    read = read_page(build.refresh(built_folder, suite, compared(shown_at(built_folder), suite)))

    links = [link.partition("?")[0] for link in read.loads if link.startswith("https:")]
    assert links == ["https://ui.example/#/experiments/7/runs"] * 2
    assert unpacked(read.packed["mlflow"]) == place
    assert not [link for link in read_page(page).loads if link.startswith("http")]


def test_names_are_text_not_markup(page, read):
    content = page.read_text(encoding="utf-8")
    assert "<script>alert" not in content
    assert "<b>configs" not in content
    assert "random <b>configs</b>" in " ".join(read.words)


def test_failed_and_skipped_jobs_are_there_with_their_reasons(read):
    assert "13 of 36 jobs did not finish" in read.words
    assert (
        read.words.count("data not available: no <network>") == 24
    )  # below the summary, and on their pages
    assert "stopped after 60 s" in read.words


def test_every_job_has_a_page_with_its_command(read, suite):
    pages = list(job_pages(read).values())
    assert len(pages) == len(suite.jobs())
    first = pages[0]
    assert first["command"].startswith(
        "leaseboard race chacha 'synthetic:fried?rows=1000' --seed {Seed}"
    )
    assert first["Data digest"] == "sha256-1234"
    assert (first["Models that learn an example, on average"], first["CPU seconds"]) == (
        "2.5",
        "0.25",
    )
    assert {"Leases", "Bounds of champion and challengers"} <= {
        figure["title"] for figure in first["log"]["figures"]
    }
    assert sum(not page["log"] for page in pages) == 13


def test_the_leaderboard_is_repeated_by_a_command_with_its_seeds(read, suite):
    job = suite.jobs()[0]
    assert race_command(job) in read.words


def test_the_same_run_gives_the_same_page_also_from_the_folder_alone(page, built_folder, suite):
    before = page.read_bytes()
    assert build.suite_of(built_folder) == suite
    for known in (suite, build.suite_of(built_folder)):
        assert build.build(built_folder, known).read_bytes() == before
    assert not list(built_folder.glob("*.part"))


def test_a_folder_without_a_suite_gets_a_page_too(run_folder):
    assert build.suite_of(run_folder) is None
    content = build.build(run_folder).read_text(encoding="utf-8")
    assert "<title>quick · Leaseboard</title>" in content
    assert "scaled progressive mean squared error" in content


def test_a_page_on_which_one_dataset_alone_has_results_ranks_nothing(tmp_path, suite, make_run):
    """The second dataset is skipped, as one that cannot be downloaded is."""
    suite = suite.model_copy(update={"data": [suite.data[0], suite.data[2]], "published": []})
    make_run(tmp_path / "lone", suite, rounds=2)
    page = build.build(tmp_path / "lone", suite)
    found = compared(shown_at(tmp_path / "lone"), suite)

    assert ONE_SET_RULE in page.read_text(encoding="utf-8")
    texts = (pictures.figures(found), plain(found), markdown(found), as_csv(found), latex(found))
    for text in (*read_page(page).words, *texts):
        assert "mean rank" not in text.lower()
        assert "w/t/l" not in text
        assert "Wins / ties / losses" not in text
        assert "Nemenyi" not in text
    assert "tests" not in read_page(page).ids


def test_a_suite_file_of_another_version_is_named(run_folder):
    (run_folder / "suite.json").write_text('{"title": 3}')
    with pytest.raises(UsageError, match=r"suite\.json is of another version"):
        build.suite_of(run_folder)


@pytest.mark.parametrize("checked", [False, True])
def test_a_damaged_log_is_reported_and_the_rest_is_shown(run_folder, suite, checked):
    """It was changed after it was written, or written so: then it gives what it holds."""
    path = sorted(run_folder.glob("jobs/*/events.jsonl.gz"))[0]
    path.write_bytes(path.read_bytes()[:200])
    if checked:
        write_result(path.parent, load_result((path.parent / "result.json").read_bytes())[0])
    page = job_pages(read_page(build.build(run_folder, suite)))[path.parent.name]
    if checked:
        assert page["Trouble"].startswith("the event log is damaged")
    else:
        assert page["Reason"].startswith(f"{path} was changed after it was written")
        assert (page["Status"], page["Score"], page["log"]) == ("not done", "–", {})


def test_a_command_repeats_settings_budget_and_both_seeds():
    job = Job(algorithm="chacha", data="openml:215", seed=7, environment_seed=9, budget=500,
              settings={"b": 5, "rates": [0.1, 0.5]},
              environment={"log_target": False})  # fmt: skip
    assert race_command(job) == (
        "leaseboard race chacha openml:215 --seed 7 --environment-seed 9 --budget 500"
        " --set b=5 --set 'rates=[0.1, 0.5]' --set log_target=false"
    )


def test_every_configuration_is_in_the_page_while_there_is_room(run_folder, suite, monkeypatch):
    monkeypatch.setattr(jobs, "SHORT", 5)

    def lists():
        read = read_page(build.build(run_folder, suite))
        found = {key: unpacked(data) for key, data in read.packed.items()
                 if key.startswith("configurations-")}  # fmt: skip
        return read, found

    read, whole = lists()
    logs = {key: page["log"]["configurations"] for key, page in job_pages(read).items()
            if page["log"]}  # fmt: skip
    lengths = {key.removeprefix("configurations-"): len(cells[0]) for key, cells in whole.items()}
    totals = {key: each["total"] for key, each in logs.items()}
    assert lengths == {key: total for key, total in totals.items() if total > 5}
    assert len(whole) > 1
    assert f"{sum(totals.values()):,} in all" in " ".join(read.words)
    assert "There is no room" not in " ".join(read.words)

    monkeypatch.setattr(jobs, "MOST_CHARACTERS_OF_LISTS", 1 + min(map(len, whole.values())))
    read, fewer = lists()
    assert len(fewer) <= 1
    assert "There is no room for all" in " ".join(read.words)


@pytest.mark.slow
def test_jobs_take_little_space(tmp_path, suite, make_run):
    """A thousand with the largest logs would fit into 15 MB, ten thousand without any into 3."""
    suite = suite.model_copy(update={"data": suite.data[:1], "repetitions": 1})
    make_run(tmp_path / "big", suite, rounds=1500, failures=False)
    made = read_page(build.build(tmp_path / "big", suite))
    logs = sum(len(data) for name, data in made.packed.items() if name.startswith("logs-"))
    rest = len(made.packed["plotly"]) + MOST_CHARACTERS_OF_LISTS
    assert 1000 * logs / len(suite.jobs()) + rest < 15e6

    many = suite.model_copy(update={"repetitions": 500})
    results = [
        Result(key=job.key("sha", "v"), algorithm=job.algorithm, name=job.name, data=job.data,
               digest="sha256-1234", seed=job.seed, environment_seed=job.environment_seed,
               repetition=job.repetition, status="ok", score=1 / (1 + job.seed), unit="examples",
               metrics={"r2": 1 / (2 + job.seed)}, cpu_seconds=job.seed % 997 / 13,
               environment="stream")
        for job in many.jobs()
    ]  # fmt: skip
    frame = as_frame(results)
    read = dict.fromkeys(READERS, ())
    content = render(Material("", frame, many, compared(frame, many), read, {}), made_from="")
    rest = len(content) - len(made.packed["plotly"])
    assert rest / len(results) < 100


def test_a_speed_suite_shows_what_a_unit_costs(run_folder, suite):
    path = build.build(run_folder, suite.model_copy(update={"kind": "speed"}))
    reader = read_page(path)

    # 0.25 CPU seconds over 20,000 examples, the same for all
    assert "12.5 (× 1)" in reader.words
    assert "CPU time of a unit" in reader.words


def test_the_still_pictures_are_drawn_once_for_a_page(built_folder, monkeypatch):
    found, drawn = compared(as_frame(shown_at(built_folder))), []
    monkeypatch.setattr(pictures, "figures", lambda _: drawn.append(1) or "<!doctype html>")
    for _ in range(2):
        file = build.draw(built_folder, found)
    assert len(drawn) == 1
    drawn_then = file.read_text()
    assert "--><!doctype html>\n<!--" in drawn_then
    file.write_text(drawn_then.replace("html", "text"))
    build.draw(built_folder, found)
    assert (len(drawn), file.read_text()) == (2, drawn_then)
    with (built_folder / "report.html").open("a") as page:
        page.write("<!-- another -->")
    build.draw(built_folder, found)
    assert len(drawn) == 3
