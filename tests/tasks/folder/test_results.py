"""A result that was changed after it was written is found, for any change."""

import dataclasses
import fcntl
import gzip
import itertools
import json
import math

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from leaseboard.algorithms.errors import LeaseboardError, UsageError
from leaseboard.algorithms.events import LogWriter, Measured, Started, read_log
from leaseboard.tasks.archive import runs as prune
from leaseboard.tasks.folder import results
from leaseboard.tasks.folder.results import DamagedError, dump_result, load_result, rows
from leaseboard.tasks.jobs.job import MOST_SCORE, Job, Result, plain, plain_value
from leaseboard.tasks.pool.workers import run_unplanned
from leaseboard.tasks.processes.child import Limits
from leaseboard.tasks.score.frame import as_frame


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
    found = results.look(results.job_folder(out, key), key)
    return isinstance(found, Result) and found.status == "ok"


def test_a_result_of_another_key_is_not_a_result(tmp_path):
    finished(tmp_path)
    results.job_folder(tmp_path, "k1").rename(results.job_folder(tmp_path, "k2"))
    assert not is_done(tmp_path, "k2")

    path = results.job_folder(tmp_path, "k2") / results.RESULT
    path.write_text(path.read_text().replace('"k1"', '"../../victim"'))
    assert isinstance(results.look(results.job_folder(tmp_path, "k2"), "k2"), str)
    assert results.read_results(tmp_path) == []


def test_jobs_that_were_cut_off_are_discarded_and_the_rest_kept(tmp_path):
    finished(tmp_path)
    (results.begin(tmp_path, "cut") / results.EVENTS).write_bytes(b"")
    (results.job_folder(tmp_path, "k1") / "result.json.99.part").write_text("{")

    results.discard_unfinished(tmp_path)
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

    results.discard_unfinished(tmp_path)
    assert results.read_results(tmp_path) == results.current(tmp_path) == [made]
    assert results.damaged(tmp_path) == []
    assert prune.run_folders([tmp_path]) == [tmp_path]
    assert prune.surplus_jobs(tmp_path) == []
    assert all(path.exists() for path in stray)


def test_two_runs_cannot_share_a_folder(tmp_path, monkeypatch):
    lock = fcntl.flock

    def locked_as_on_nfs(file, how):
        assert file.readable() if how & fcntl.LOCK_SH else file.writable()
        lock(file, how)

    monkeypatch.setattr(fcntl, "flock", locked_as_on_nfs)
    job = Job("vanilla", "synthetic:fried?rows=100", 1, 1)
    with results.locked(tmp_path), pytest.raises(UsageError, match="another run is working"):
        run_unplanned(Limits(), tmp_path, job, None)
    with results.locked(tmp_path, shared=True):
        assert run_unplanned(Limits(), tmp_path, job, None).result.status == "ok"
        with pytest.raises(UsageError), results.locked(tmp_path):
            pass


START = Started(at=0, algorithm="a", environment="stream", unit="examples", budget=200,
                capacity=None,
                seed=1, settings={})  # fmt: skip


def cut(tmp_path, events=100, keep=0.7):
    path = tmp_path / results.EVENTS
    with LogWriter(path) as log:
        log(START)
        for at in range(1, events):
            log(Measured(at=at, value=at / 7))
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * keep)])
    return path


def test_whole_lines_survive_a_cut(tmp_path):
    path = cut(tmp_path)
    kept = results.events_left(path)

    assert 32 <= len(kept) < 100
    assert kept == list(itertools.islice(read_log(cut(tmp_path, keep=1)), len(kept)))


def test_a_log_stays_and_an_empty_or_absent_one_has_no_events(tmp_path):
    path = cut(tmp_path, keep=1)
    before = path.read_bytes()

    assert len(results.events_left(path)) == 100
    assert path.read_bytes() == before
    assert results.events_left(tmp_path / "absent") == []
    assert results.events_left(cut(tmp_path, keep=0)) == []
    assert not path.exists()


def test_something_else_is_not_taken_for_a_log(tmp_path):
    path = tmp_path / results.EVENTS
    path.write_bytes(b"not gzip at all")

    with pytest.raises(LeaseboardError, match="is not an event log"):
        results.read_partial_log(path)
    assert results.events_left(path) == []
    assert not path.exists()


@pytest.mark.parametrize("tail", [b"no gzip", gzip.compress(b"hello\n", mtime=0)])
def test_events_before_the_damage_are_kept(tmp_path, tail):
    path = cut(tmp_path, keep=1)
    path.write_bytes(path.read_bytes() + tail)

    assert len(results.events_left(path)) == 100


NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | NUMBERS | st.text(),
    lambda inner: st.lists(inner, max_size=3),
)
MADE = st.builds(
    Result,
    key=st.from_regex(r"\A[a-f0-9]{20}\Z"),
    algorithm=st.just("a"),
    name=st.just("α"),
    data=st.just("d"),
    digest=st.just("x"),
    seed=st.integers(0, 2**31 - 1),
    environment_seed=st.just(0),
    repetition=st.integers(0, 9),
    status=st.just("ok"),
    score=st.floats(-MOST_SCORE, MOST_SCORE),
    reason=st.text(),
    metrics=st.dictionaries(st.sampled_from("mn"), NUMBERS),
    settings=st.dictionaries(st.text(), VALUES, max_size=3),
)


MADE_OF = Result(key="k", algorithm="a", name="a", data="d", digest="", seed=0,
                 environment_seed=0, repetition=0, status="ok", score=0.1)  # fmt: skip


TEXTS = st.text(st.characters(exclude_categories=()), max_size=8)
"""Signs of which UTF-8 has none, too: halves of surrogate pairs, as in names of files."""
ANYTHING = st.dictionaries(
    TEXTS,
    st.recursive(
        TEXTS | st.floats() | st.integers() | st.none(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
        max_leaves=6,
    ),
    max_size=3,
)


@example(MADE_OF, {"a": "\udc80"}, {}, {})
@example(MADE_OF, {}, {"a": ["\ud800x"]}, {"\udfff": "\\udfff", "\ud83d\ude00": 1})
@given(st.just(MADE_OF), ANYTHING, ANYTHING, ANYTHING)
def test_any_result_is_read_back(made, champion, options, settings):
    made = dataclasses.replace(
        made,
        champion=champion,
        environment_options=options,
        settings=settings,
        reason=str(settings),
    )
    found, _ = load_result(dump_result(made, None))

    assert repr(plain(found)) == repr(plain(made))  # by their texts: a NaN equals nothing
    assert repr(plain_value(found.settings)) == repr(plain_value(settings))


@settings(max_examples=30)
@given(MADE, st.data())
def test_a_change_of_any_field_breaks_the_checksum(made, data):
    fields = json.loads(dump_result(made, None))
    name = data.draw(st.sampled_from(sorted(fields)))
    value = data.draw(VALUES | st.just(math.nan))
    changed = json.dumps(fields | {name: value})
    if changed != json.dumps(fields):
        with pytest.raises(DamagedError):
            load_result(changed.encode())
    del fields[name]
    with pytest.raises(DamagedError):
        load_result(json.dumps(fields).encode())


def test_anything_else_is_not_a_checked_result():
    for content in (b"", b"{", b"[]", b"{}", b"\xff", b"[" * 10_000, b"null"):
        with pytest.raises(DamagedError):
            load_result(content)


def edited_log(folder):
    path = folder / results.EVENTS
    content = bytearray(path.read_bytes())
    content[-6] ^= 1  # of the same length
    path.write_bytes(content)
    return path


def lost_log(folder):
    (folder / results.EVENTS).unlink()
    return folder / results.EVENTS


def test_an_edited_job_is_not_done_and_named(put_job, tmp_path):
    for edit in (edited_log, lost_log):
        out = tmp_path / edit.__name__
        put_job(out, "k1")
        whole = put_job(out, "k2", repetition=1)
        results.assemble(out, results.read_results(out))
        assert results.damaged(out) == []
        path = edit(results.job_folder(out, "k1"))

        assert not is_done(out, "k1")
        assert is_done(out, "k2")
        (damage,) = results.damaged(out)
        assert damage.startswith(f"{path} ")
        assert "\n" not in damage
        assert "its job is not done; run its suite again" in damage
        frame = as_frame(rows(out)).set_index("key")
        assert frame.loc["k1", "status"] == "not done"
        assert str(path) in frame.loc["k1", "reason"]
        assert math.isnan(frame.loc["k1", "score"])
        assert frame.loc["k2", "score"] == whole.score


def test_a_score_that_was_edited_in_the_table_alone_is_not_believed(put_job, tmp_path):
    put_job(tmp_path, "k1")
    results.assemble(tmp_path, results.read_results(tmp_path))
    table = results.read_table(tmp_path / results.TABLE)
    table["score"] = 0.0001
    table.to_parquet(tmp_path / results.TABLE, index=False)

    assert list(as_frame(rows(tmp_path))["score"]) == [0.25]
