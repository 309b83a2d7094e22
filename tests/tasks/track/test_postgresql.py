"""The same record in PostgreSQL, on a server that the test starts for itself."""

import pytest

from leaseboard.tasks.track import writers
from leaseboard.tasks.track.tracker import Tracker

pytestmark = pytest.mark.postgresql


def test_both_ways_of_writing_read_the_same(database, finished, result, contents):
    jobs = [finished(result("k1"), 6), finished(result("k2", status="crash"), 5)]
    read = []
    for name, through_client in (("in_bulk", False), ("one_by_one", True)):
        address = database(name)
        tracker = Tracker(address, "s", ["k1", "k2"], through_client=through_client)
        assert isinstance(tracker.writer, writers.BulkWriter) is not through_client
        for made, folder in jobs:
            tracker.log(made, folder)
        tracker.close("FINISHED", {"ok": 1})
        read.append(contents(address, "s"))

    assert len(read[0]) == 2 + 6 + 5
    assert read[0] == read[1]
