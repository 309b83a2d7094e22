from dataclasses import replace

import numpy as np
import pytest

from leaseboard.algorithms import registry
from leaseboard.algorithms.base import play
from leaseboard.algorithms.benches.stream import BLOCK, Stream, StreamBench, StreamToll
from leaseboard.algorithms.errors import SkipError
from leaseboard.algorithms.events import Finished
from leaseboard.algorithms.reference.frameworks import StreamFramework
from leaseboard.algorithms.tiny import Tiny, tiny_bench

NAMES = [
    name
    for name in registry.names()
    if issubclass(registry.algorithm_class(name), StreamFramework)
]
ROWS = BLOCK + 5
CALLED = {"stock": ["flaml-autovw"], "patched": ["flaml-autovw-patched"],
          "squared": ["flaml-autovw-squared"]}  # fmt: skip
"""Learners whose names do not begin with their environment's."""


class Telling:
    """Where a forecaster tells the numbers of the examples, and what it was asked for."""

    def __init__(self, told=None):
        self.told = np.arange(ROWS, dtype=float) if told is None else told
        self.said = []

    def start(self, which, stream, seed):
        self.said.append((which.system, which.learner, seed))
        return self

    def learn_many(self, examples, labels):
        self.said.append(len(labels))
        given, self.told = np.split(self.told, [len(labels)])
        return given

    def finish(self):
        self.said.append("finished")
        return StreamToll(cpu_seconds=2.0, wall_seconds=3.0, peak_memory_mb=40.0)

    def close(self):
        self.said.append("closed")


@pytest.fixture
def bench():
    """Makes a bench of labels that grow by one."""

    def make(outside):
        grown = Stream(
            np.ones((ROWS, 2), np.float32),
            np.arange(1, ROWS + 1, dtype=np.float32),
            (),
            ("a", "b"),
        )
        return StreamBench(grown, outside=outside)

    return make


def test_the_bench_scores_what_it_was_told(bench):
    outside = Telling()
    tried = bench(outside)

    log = list(play("x", registry.build("river-arf"), tried, 7))

    assert log[-1].score == 1.0
    assert outside.said == [("river", "arf", 7), BLOCK, 5, "finished", "closed"]
    assert (tried.cost.cpu_seconds, tried.cost.wall_seconds) == (2.0, 3.0)
    assert tried.cost.peak_memory_mb == 40.0


def test_one_that_is_broken_off_is_closed_and_costs_nothing(bench):
    outside = Telling()
    tried = bench(outside)
    run = play("x", registry.build("river-srp"), tried, 0)
    next(run), next(run)
    run.close()

    assert outside.said == [("river", "srp", 0), "closed"]
    assert tried.cost is None


def test_one_that_tells_no_number_is_closed(bench):
    outside = Telling(np.full(ROWS, np.nan))

    with pytest.raises(Exception, match="the prediction of example 0 is nan"):
        list(play("x", registry.build("river-linear"), bench(outside), 0))

    assert outside.said[-1] == "closed"


def test_without_a_place_to_run_it_is_skipped(bench):
    with pytest.raises(SkipError, match="river runs on jobs alone"):
        list(play("x", registry.build("river-linear"), bench(None), 0))


@pytest.mark.parametrize("name", NAMES)
def test_every_name_is_the_learner_that_it_says(name):
    log = list(play("x", registry.build(name), tiny_bench("stream"), 0))

    said = log[1].parameters
    assert name in {f"{said['system']}-{said['learner']}", *CALLED.get(said["learner"], ())}
    assert isinstance(log[-1], Finished)


@pytest.mark.parametrize(
    ("name", "regression", "binary", "classes"),
    [
        ("river-linear", True, True, True),
        ("river-amrules", True, False, False),
        ("river-alma", False, True, False),
        ("samlb-evolutionary", True, True, True),
        ("samlb-oaml", False, True, True),
        ("samlb-chacha", True, False, False),
        ("flaml-autovw", True, False, False),
        ("capymoa-arf", True, True, True),
        ("capymoa-autoclass", False, True, True),
        ("capymoa-soknl", True, False, False),
    ],
)
def test_who_cannot_do_a_task_is_barred_from_it(name, regression, binary, classes):
    numbers = tiny_bench("stream")
    two = StreamBench(replace(numbers.stream, task="classification"))
    many = tiny_bench("stream", Tiny(classes=3))
    algorithm = registry.build(name)

    found = [not each.bars(algorithm) for each in (numbers, two, many)]

    assert found == [regression, binary, classes]
