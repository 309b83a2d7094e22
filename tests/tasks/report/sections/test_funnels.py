"""The pictures of one run of selection, from a real log of simulated learners."""

from __future__ import annotations

import pytest

from leaseboard.algorithms import registry
from leaseboard.algorithms.abc_selection.simulation import SimulatedLearners
from leaseboard.algorithms.base import play
from leaseboard.algorithms.benches.samples import SamplesBench
from leaseboard.algorithms.events import BoundsUpdated
from leaseboard.tasks.report.charts import colour
from leaseboard.tasks.report.sections.selections import funnels, verdicts

LEARNERS = SimulatedLearners((0.6, 0.9, 0.7, 0.8, 0.5), 20_000, 5_000, seed=0)
REAL = {number: LEARNERS.real_accuracy(number) for number in range(5)}


def log(name):
    bench = SamplesBench(LEARNERS, initial_rows=100)
    return list(play(name, registry.build(name), bench, seed=1))


def drawn(figure, **wanted):
    return [trace for trace in figure.data if all(trace[k] == v for k, v in wanted.items())]


def test_every_funnel_has_a_panel_with_the_real_accuracy():
    events = log("abc")
    figure = funnels(events, REAL)
    truths = drawn(figure, mode="lines")
    assert [trace["y"][0] for trace in truths] == pytest.approx(
        [REAL[int(note["text"].split(":")[0])] for note in figure.layout["annotations"]], abs=1e-4
    )
    assert figure.layout["annotations"][0]["text"].endswith("champion")
    bars = sum(len(trace["x"]) for trace in drawn(figure, mode="markers"))
    assert bars == sum(isinstance(event, BoundsUpdated) for event in events)


def test_an_interval_that_misses_the_truth_stands_out():
    events = log("abc")
    last = {e.configuration: e for e in events if isinstance(e, BoundsUpdated)}
    told = {n: (event.lower + event.upper) / 2 for n, event in last.items()} | {1: 0.2}
    (broken,) = [
        trace for trace in drawn(funnels(events, told), mode="markers", xaxis="x")
        if trace["error_y"]["color"] == colour(3, 0.75)
    ]  # fmt: skip
    assert min(broken["y"]) > 0.2
    _, held, missed = verdicts(events, told).data
    assert len(held["y"]) == 4
    assert [name.split(":")[0] for name in missed["y"]] == ["1"]


def test_without_bounds_or_truth_there_are_no_funnels():
    assert funnels(log("abc"), {}) is None
    assert funnels(log("full-run"), REAL) is None


def test_verdicts_list_everyone_in_the_order_of_pruning():
    bars, *truths = verdicts(log("abc"), REAL).data
    assert len(bars["y"]) == 5
    assert bars["y"][-1].startswith("1: ")  # the champion remained
    assert {name for trace in truths for name in trace["y"]} == set(bars["y"])


def test_verdicts_need_no_truth():
    assert len(verdicts(log("abc"), {}).data) == 1
