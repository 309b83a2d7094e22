import pytest

from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.events import Measured
from leaseboard.algorithms.log_format import LogWriter
from leaseboard.tasks.archive import runs as prune
from leaseboard.tasks.folder import results
from leaseboard.tasks.jobs.job import Result


def result(key="k1", status="ok", **fields):
    base = {
        "key": key, "algorithm": "vanilla", "name": "vanilla", "data": "d", "digest": "x",
        "seed": 1, "environment_seed": 2, "repetition": 0, "status": status,
    }  # fmt: skip
    return Result(**(base | fields))


def finished(out, **fields):
    made = result(**fields)
    folder = results.begin(out, made.key)
    with LogWriter(folder / results.EVENTS) as log:
        log(Measured(at=1, value=0.5))
    results.finish(out, made)
    return made


def is_done(out, key):
    """Return whether a run would not repeat the job: its result is ok, and whole with its log."""
    found = results.look(results.job_folder(out, key), key, whole_log=True)
    return isinstance(found, Result) and found.status == "ok"


def test_a_result_of_another_key_is_not_a_result(tmp_path):
    finished(tmp_path)
    results.job_folder(tmp_path, "k1").rename(results.job_folder(tmp_path, "k2"))
    assert not is_done(tmp_path, "k2")

    path = results.job_folder(tmp_path, "k2") / results.RESULT
    path.write_text(path.read_text().replace('"k1"', '"../../victim"'))
    assert isinstance(results.look(results.job_folder(tmp_path, "k2"), "k2"), results.Damage)
    assert results.read_results(tmp_path) == []


def test_jobs_that_were_cut_off_are_discarded_and_the_rest_kept(tmp_path):
    finished(tmp_path)
    (results.begin(tmp_path, "cut") / results.EVENTS).write_bytes(b"")
    (results.job_folder(tmp_path, "k1") / "result.json.99.part").write_text("{")

    assert results.discard_unfinished(tmp_path) == ["cut"]
    assert [path.name for path in (tmp_path / "jobs").iterdir()] == ["k1"]
    assert not list(tmp_path.rglob("*.part"))


def test_what_others_leave_in_the_folder_is_left_alone(tmp_path):
    """A file manager's index, a note: files where folders are, and the reverse."""
    made = finished(tmp_path)
    stray = [
        tmp_path / ".DS_Store", tmp_path / ".new-note", tmp_path / "jobs" / ".DS_Store",
        tmp_path / "jobs" / "note.part", tmp_path / "jobs" / "k1" / ".DS_Store",
    ]  # fmt: skip
    for path in stray:
        path.write_bytes(b"\0")
    (tmp_path / "jobs" / "k1" / "mine.part").mkdir()
    results.begin(tmp_path, "cut")

    assert results.discard_unfinished(tmp_path) == ["cut"]
    assert results.read_results(tmp_path) == results.current(tmp_path) == [made]
    assert results.damaged(tmp_path) == []
    assert prune.run_folders([tmp_path]) == [tmp_path]
    assert prune.surplus_jobs(tmp_path) == []
    assert all(path.exists() for path in stray)


def test_two_runs_cannot_share_a_folder(tmp_path):
    with (
        results.locked(tmp_path),
        pytest.raises(UsageError, match="another run is working"),
        results.locked(tmp_path),
    ):
        pass
    with results.locked(tmp_path):
        pass
