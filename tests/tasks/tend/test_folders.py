from datetime import UTC, datetime, timedelta

import pytest

from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.folder import results
from leaseboard.tasks.folder.results import shown_at
from leaseboard.tasks.score.frame import as_frame
from leaseboard.tasks.tend import folders
from leaseboard.tasks.tend.folders import Aged, Rule

DAY = datetime(2026, 1, 1, tzinfo=UTC)


def aged(*days, held=()):
    return [Aged(f"a{d}", ("s",), DAY + timedelta(days=d), d in held) for d in days]


@pytest.mark.parametrize(
    ("rule", "held", "gone"),
    [
        (Rule(), (), ["a0", "a1", "a2"]),
        (Rule(keep=2), (), ["a0", "a1"]),
        (Rule(keep=9), (), []),
        (Rule(keep=0), (), ["a0", "a1", "a2", "a3"]),
        (Rule(before=DAY + timedelta(days=1)), (), ["a0"]),
        (Rule(), (0,), ["a1", "a2"]),
        (Rule(), (0, 3), ["a1", "a2"]),
        (Rule(keep=0), (0,), ["a0", "a1", "a2", "a3"]),
    ],
)
def test_what_goes(rule, held, gone):
    assert [one.name for one in rule.surplus(aged(2, 0, 3, 1, held=held))] == gone


def test_scenarios_do_not_count_for_each_other():
    others = [Aged("b", ("t",), DAY)]

    assert [one.name for one in Rule().surplus([*aged(5, 6), *others])] == ["a5"]


@pytest.fixture
def run(tmp_path, put_job):
    """Two jobs, of which one has two results of older code."""
    out = tmp_path / "runs" / "s"
    for i in range(3):
        put_job(out, f"k{i}", started=f"2026-01-0{i + 1}T00:00:00+00:00", version=f"v{i}")
    put_job(out, "other", label="chacha", started="2025-01-01T00:00:00+00:00")
    results.assemble(out, [r for r in results.read_results(out) if r.key in ("k2", "other")])
    for name in (results.SUITE_FILE, folders.PAGE):
        (out / name).write_text("{}")
    return out


def test_results_of_older_code_go_and_the_board_stays(run):
    before = list(as_frame(shown_at(run))["key"])
    old = folders.surplus(run, Rule())
    assert ([job.key for job in old.jobs], old.of) == (["k0", "k1"], 4)
    assert old.size > 1000

    folders.remove(old)
    assert sorted(path.name for path in (run / "jobs").iterdir()) == ["k2", "other"]
    assert list(as_frame(shown_at(run))["key"]) == before
    assert folders.surplus(run, Rule()).jobs == []


def test_rows_go_with_their_jobs(run):
    folders.remove(folders.surplus(run, Rule(keep=0, before=datetime(2026, 1, 2, tzinfo=UTC))))

    assert list(as_frame(shown_at(run))["key"]) == ["k2"]
    assert [r.key for r in results.read_results(run)] == ["k1", "k2"]


def test_a_run_without_any_job_goes_whole(run):
    folders.remove(folders.surplus(run, Rule(keep=0)))

    assert [path.name for path in run.iterdir()] == ["jobs"]
    assert list((run / "jobs").iterdir()) == []


def test_run_folders_are_found_below_a_place(run, tmp_path):
    (tmp_path / "runs" / "empty" / "jobs").mkdir(parents=True)

    assert folders.run_folders([tmp_path / "runs"]) == folders.run_folders([run]) == [run]
    with pytest.raises(UsageError, match="is no folder"):
        folders.run_folders([tmp_path / "nowhere"])


def test_a_job_that_never_began_is_as_old_as_its_result(run, put_job):
    put_job(run, "never", "skipped", started="", label="x")
    soon = datetime.now(UTC) + timedelta(hours=1)

    assert "never" not in {j.key for j in folders.surplus(run, Rule(0, DAY)).jobs}
    assert "never" in {j.key for j in folders.surplus(run, Rule(0, soon)).jobs}


@pytest.fixture
def races(tmp_path, put_job):
    """Folders as `leaseboard race` leaves them: twice the same by other code, and others."""

    def put(name, **fields):
        made = put_job(tmp_path / "made", name, **fields)
        (tmp_path / "runs" / "race").mkdir(parents=True, exist_ok=True)
        results.job_folder(tmp_path / "made", name).rename(tmp_path / "runs" / "race" / name)
        return made

    put("old")
    put("new", started="2026-02-01T00:00:00+00:00")
    put("settings", started="2025-01-01T00:00:00+00:00", settings={"b": 3})
    put("seed", started="2025-01-01T00:00:00+00:00", seed=9)
    return tmp_path / "runs"


def test_a_race_goes_when_other_code_ran_it_again(races, run):
    old = folders.race_surplus([races], Rule())
    assert ([folder.name for folder in old.folders], old.of) == (["old"], 4)
    assert old.size > 100

    folders.remove_races(old)
    assert sorted(folder.name for folder in (races / "race").iterdir()) == [
        "new", "seed", "settings",
    ]  # fmt: skip
    assert len(results.read_results(run)) == 4


def test_races_are_moved_into_the_archive(races, tmp_path):
    (tmp_path / "archive").mkdir()
    folders.remove_races(folders.race_surplus([races], Rule(keep=0)), tmp_path / "archive")

    assert not list((races / "race").iterdir())
    assert results.look_into(tmp_path / "archive" / "old").key == "old"
