"""Merging: in any order, as often as one likes; nothing is lost, and two are not shown as one."""

import pytest

from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.archive.runs import merge
from leaseboard.tasks.folder import results
from leaseboard.tasks.folder.results import rows
from leaseboard.tasks.score.frame import as_frame


@pytest.fixture
def machine(tmp_path, put_job):
    """Return a function that makes a machine's run folder of a few jobs."""

    def make(name, *jobs, suite=None):
        out = tmp_path / name
        for job in jobs:
            put_job(out, **{"host": name, **job})
        if suite is not None:
            (out / results.SUITE_FILE).write_text(suite.model_dump_json())
        return out

    return make


@pytest.fixture
def out(tmp_path):
    (tmp_path / "merged").mkdir()
    return tmp_path / "merged"


def contents(out):
    files = {
        str(path.relative_to(out)): path.read_bytes()
        for path in out.rglob("*")
        if path.is_file() and path.suffix != ".parquet"
    }
    return files, as_frame(rows(out)).to_json()


def test_one_that_is_ok_wins_then_the_older_one(machine, out):
    late = {"key": "k1", "started": "2026-02-01T00:00:00+00:00"}
    folders = [machine("a", {"key": "k1", "status": "crash"}), machine("b", late),
               machine("c", {"key": "k1"})]  # fmt: skip
    merged = merge(folders[:2], out)
    assert [row.host for row in merged.results] == ["b"]
    merged = merge(folders[2:], out)
    assert [row.host for row in merged.results] == ["c"]
    assert results.look(results.job_folder(out, "k1")).host == "c"


def test_a_job_without_data_gives_way_to_one_with(machine, out):
    a = machine("a", {"key": "k0", "status": "skipped", "digest": ""})
    assert [row.status for row in merge([a], out).results] == ["skipped"]

    assert [row.status for row in merge([machine("b", {"key": "k1"})], out).results] == ["ok"]
    assert not results.job_folder(out, "k0").exists()


@pytest.mark.parametrize("other", [{"settings": {"b": 3}}, {"version": "2" * 12}])
def test_what_cannot_be_distinguished_is_refused_and_nothing_is_written(machine, out, other):
    a, b = machine("a", {"key": "k1"}), machine("b", {"key": "k2", **other})

    with pytest.raises(UsageError, match="two results of other code, data or settings"):
        merge([a, b], out)
    assert list(out.iterdir()) == []


def test_neither_order_nor_repetition_matters(machine, tmp_path):
    other = {"key": "k2", "name": "chacha"}
    folders = [
        machine("a", {"key": "k1", "started": "2026-02-01T00:00:00+00:00"}, other),
        machine("b", {"key": "k1"}, {**other, "status": "crash", "score": None}),
        machine("c", {"key": "k1", "status": "timeout", "score": None}),
    ]
    made = []
    for number, steps in enumerate(([folders], [[one] for one in folders[::-1]], [folders] * 2)):
        out = tmp_path / f"out{number}"
        out.mkdir()
        for some in steps:
            merge(some, out)
        made.append(contents(out))

    assert made[1:] == made[:1] * 2


def test_a_damaged_job_stays_on_the_leaderboard_as_not_done_until_another_folder_has_it(
    machine, out, put_job
):
    merge([machine("a", {"key": "k1"}, {"key": "k2", "name": "chacha"})], out)
    with (out / "jobs" / "k2" / results.EVENTS).open("a") as log:
        log.write("{}\n")
    other = machine("b", {"key": "k3", "name": "apple"})

    merged = merge([other], out)

    assert sorted(result.key for result in merged.results) == ["k1", "k3"]
    shown = {row.key: row.status for row in results.rows(out)}
    assert shown == {"k1": "ok", "k2": "not done", "k3": "ok"}
    assert ["k2" in damage for damage in results.damaged(out)] == [True]

    merge([machine("c", {"key": "k2", "name": "chacha"})], out)
    assert {row.status for row in results.rows(out)} == {"ok"}
    assert results.damaged(out) == []
