"""The charts of a job, from its events alone."""

import json

from leaseboard.algorithms.configurations import configurations
from leaseboard.tasks.report.leases import figures


def test_each_environment_gets_the_charts_that_explain_it(logs):
    found = {}
    for kind, make in logs.items():
        events = make()
        drawn = figures(configurations(events), events)
        found[kind] = [figure.title for figure in drawn]
        json.dumps([figure.data for figure in drawn], allow_nan=False)
    assert found == {
        "stream": ["Leases", "Bounds"], "pulls": ["Pulls of the arms"],
        "samples": ["Leases", "Bounds"], "holdout": ["Leases"],
    }  # fmt: skip


def test_a_lease_is_a_bar_in_the_row_of_its_slot(logs):
    events = logs["stream"]()
    records = configurations(events)
    leases, _ = figures(records, events)
    bars, stars = leases.data
    assert set(bars["y"]) == {0, 1, 2}
    assert len(bars["x"]) == sum(len(record.leases) for record in records)
    assert len(stars["x"]) == 3


def test_charts_come_of_unfinished_logs_too(logs):
    for make in logs.values():
        events = make()
        for stop in (1, 2, 3, len(events) // 2, len(events) - 1):
            figures(configurations(events[:stop]), events[:stop])
