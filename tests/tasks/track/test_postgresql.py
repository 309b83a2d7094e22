"""The same record in PostgreSQL, on a server that the test starts for itself."""

import subprocess
import sys

import pytest

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
