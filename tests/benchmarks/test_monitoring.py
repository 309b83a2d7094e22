"""The measure of false alarms and of faults that are noticed, where the answer is known."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from benchmarks.monitoring import (
    LATE,
    LENGTH,
    MonitoredDay,
    estimated,
    incidents,
    noticed,
    replayed,
)


def days(count, classes=False):
    found = []
    for number in range(count):
        generator = np.random.default_rng(number)
        x = pd.DataFrame({"x": generator.normal(5, 1, 50), "z": generator.normal(-5, 1, 50)})
        labels, predictions = x["x"] + generator.normal(0, 0.1, 50), x["x"]
        losses, sure = (labels - predictions).abs(), predictions
        if classes:
            labels = pd.Series(np.where(x["x"] < 4, "low", "high"))
            predictions, losses = labels, pd.Series(generator.random(50) / 4)
            sure = 1 - losses
        reported = pd.DataFrame(
            {name: sure.where(labels == name, losses) for name in ("low", "high")}
        )
        found.append(
            MonitoredDay(
                x, labels, predictions, losses, sure, reported if classes else predictions
            )
        )
    return found


def test_days_without_change_show_nothing():
    found = replayed(days(40))

    assert incidents(found) == 0
    assert sum(bool(seen.drift) for both in found for seen in both) <= 1


def test_a_fault_is_one_incident():
    stream = days(40)
    wrong = replace(stream[30], features=stream[30].features * 9)

    assert incidents(replayed([*stream[:30], wrong, *stream[31:]])) == 1


@pytest.mark.parametrize("classes", [False, True])
def test_every_fault_is_noticed(classes):
    found = noticed(days(31, classes), 30, np.random.default_rng(0))

    assert ("labels flipped" if classes else "labels shuffled") in found
    assert {fault for fault, hits in found.items() if not all(hits)} == set()


def test_the_estimate_is_compared_with_the_last_week():
    stream = days(LENGTH + LATE + 1)
    found = estimated(stream, LENGTH + LATE)

    assert 0 <= found.error < 3 * found.before + 0.1
