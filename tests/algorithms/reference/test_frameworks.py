from dataclasses import replace

import numpy as np

from leaseboard.algorithms import registry
from leaseboard.algorithms.base import Cost, play
from leaseboard.algorithms.checks import Tiny, schema_of, tiny_environment
from leaseboard.algorithms.environments.samples import ProbeAsked, SamplesEnvironment
from leaseboard.algorithms.environments.stream import BLOCK, Stream, StreamEnvironment
from leaseboard.algorithms.events import Eliminated, ProbeFinished, of
from tests.algorithms import outside
from tests.algorithms.played import audited
from tests.selections import SimulatedLearners

__all__ = ["outside"]  # in place of the other libraries

ROWS = BLOCK + 5


class Reporting:
    """Session whose predictions are the numbers of the examples, and what it was asked."""

    def __init__(self):
        self.said = []

    def __call__(self, system, learner, stream, seed):
        self.said.append((system, learner, seed))
        return self

    def learn_many(self, examples, labels):
        self.said.append(len(labels))
        return labels - 1.0

    def finish(self):
        self.said.append("finished")
        return Cost(cpu_seconds=2.0, wall_seconds=3.0, peak_memory_mb=40.0)

    def close(self):
        self.said.append("closed")


def test_the_environment_scores_the_predictions_that_it_gets():
    outside, labels = Reporting(), np.arange(1, ROWS + 1, dtype=np.float32)
    stream = Stream(np.ones((ROWS, 2), np.float32), labels, schema_of("a", "b"))
    env = StreamEnvironment(stream, outside=outside)

    log = list(play("x", registry.build("river-arf"), env, 7))

    assert log[-1].score == 1.0
    assert outside.said == [("river", "arf", 7), BLOCK, 5, "finished", "closed"]
    assert env.cost == Cost(cpu_seconds=2.0, wall_seconds=3.0, peak_memory_mb=40.0)


def test_who_cannot_do_a_task_is_barred_from_it():
    numbers = tiny_environment("stream")
    two = StreamEnvironment(replace(numbers.stream, task="classification"))
    many = tiny_environment("stream", Tiny(classes=3))
    every, regression, classes = [True] * 3, [True, False, False], [False, True, True]
    can = {
        "river-linear": every, "river-amrules": regression, "river-alma": [False, True, False],
        "flaml-autovw": regression, "capymoa-arf": every, "capymoa-srp": classes,
    }  # fmt: skip
    found = {
        name: [not each.bars(registry.build(name)) for each in (numbers, two, many)]
        for name in can
    }
    assert found == can


LEARNERS = SimulatedLearners((0.6, 0.9, 0.7), 2000, 500, seed=0)


class Saying:
    """A search that says what it is reported to say, and keeps what it hears."""

    def __init__(self, *says):
        self.says = list(says)
        self.heard = []

    def __call__(self, system, order, seed):
        self.heard.append((system, order, seed))
        return self

    def hear(self):
        return self.says.pop(0)

    def report(self, accuracy):
        self.heard.append(accuracy)

    def close(self):
        self.heard.append("closed")


def run(saying, name="optuna-median"):
    env = SamplesEnvironment(LEARNERS, initial_rows=100, deciders=saying)
    return env, audited(name, registry.build(name), env, 7)


def test_it_probes_what_is_asked_and_chooses_what_is_chosen():
    saying = Saying(ProbeAsked(0, 400), ProbeAsked(1, 400), ProbeAsked(1, 2000), 1)
    env, log = run(saying)

    probes = of(log, ProbeFinished)
    assert [(each.configuration, each.rows) for each in probes] == [(0, 400), (1, 400), (1, 2000)]
    assert saying.heard[1:4] == [each.test_accuracy for each in probes]
    assert saying.heard[-1] == "closed"
    assert env.champion == 1
    assert [(each.configuration, each.reason) for each in of(log, Eliminated)] == [
        (0, f"{probes[0].test_accuracy:.4f} at 400 rows is not enough"), (2, "was never tried"),
    ]  # fmt: skip
    assert log[-1].score == LEARNERS.real_accuracy(1)
