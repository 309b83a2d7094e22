"""The same record in PostgreSQL, on a server that the test starts for itself."""

import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from leaseboard.tasks.archive import prune
from leaseboard.tasks.archive.prune import Rule
from leaseboard.tasks.track import bulk
from leaseboard.tasks.track.store import open_store
from leaseboard.tasks.track.tracker import Tracker

pytestmark = [pytest.mark.postgresql, pytest.mark.slow]


def test_several_processes_that_open_an_empty_store_at_once_all_can_use_it(create_database):
    address = create_database("at_once")
    script = (
        "import sys; from leaseboard.tasks.track.store import open_store; open_store(sys.argv[1])"
    )
    started = [
        subprocess.Popen(
            [sys.executable, "-c", script, address], stderr=subprocess.PIPE, text=True
        )
        for _ in range(4)
    ]
    errors = [process.communicate()[1] for process in started]
    assert [process.returncode for process in started] == [0] * 4, errors
    assert [each.name for each in open_store(address).search_experiments()] == ["Default"]


def test_both_ways_of_writing_read_the_same(database, finished, result, contents):
    jobs = [finished(result("k1"), 40), finished(result("k2", status="crash"), 4)]
    read = []
    for name, through_client in (("in_bulk", False), ("one_by_one", True)):
        address = database(name)
        tracker = Tracker(address, "s", ["k1", "k2"], through_client=through_client)
        assert isinstance(tracker.writer, bulk.BulkWriter) is not through_client
        for made, folder in jobs:
            tracker.log(made, folder)
        tracker.close("FINISHED", {"ok": 1})
        read.append(contents(address, "s"))

    assert len(read[0]) == 2 + 40 + 4
    assert read[0] == read[1]


def test_a_failed_job_gives_way(database, finished, result, contents):
    address = database("again")
    for number, status in enumerate(("crash", "timeout", "ok")):
        started = f"2026-01-0{number + 1}T00:00:00+00:00"
        made, folder = finished(result(status=status, started=started), 30)
        Tracker(address, "s", ["k1"]).log(made, folder)
    read = contents(address, "s")

    assert len(read) == 31
    assert read["k1"]["tags"]["leaseboard.status"] == "ok"


def test_old_runs_go_for_good_with_rows_and_artifacts(database, finished, result, contents):
    address = database("pruned")
    for number, key in enumerate(("k1", "k2"), start=1):
        made = result(key, started=f"2026-0{number}-01T00:00:00+00:00")
        tracker = Tracker(address, "s", [key])
        tracker.log(*finished(made))
        tracker.close("FINISHED", {"ok": 1})
    kept = {key: value for key, value in contents(address, "s").items() if "k1" not in key}
    old = prune.surplus_runs(address, Rule())
    places = [Path(run.info.artifact_uri) for run in old.jobs]

    assert [len(part) for part in (old.suites, old.jobs, old.configurations)] == [1, 1, 5]
    assert all(place.is_dir() for place in places)
    assert prune.remove_runs(address, old)
    assert contents(address, "s") == kept
    assert not any(place.exists() for place in places)
    assert rows(address, "runs") == 7
    assert not prune.surplus_runs(address, Rule()).runs


def test_runs_that_someone_deleted_go_for_good(database, finished, result, runs):
    address = database("deleted")
    tracker = Tracker(address, "s", ["k1"])
    tracker.log(*finished(result("k1")))
    tracker.close("FINISHED", {"ok": 1})
    for run in runs(address, "s"):
        open_store(address).delete_run(run.info.run_id)
    old = prune.surplus_runs(address, Rule())

    assert len(old.deleted) == 2
    assert prune.remove_runs(address, old)
    assert rows(address, "runs") == 5
    assert not prune.surplus_runs(address, Rule()).deleted


def rows(address, table):
    engine = create_engine(address)
    with engine.connect() as connection:
        count = connection.execute(text(f"SELECT count(*) FROM {table}")).scalar()
    engine.dispose()
    return count
