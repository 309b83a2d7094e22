from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from leaseboard.algorithms import registry
from leaseboard.algorithms.abc_selection.simulation import SimulatedLearners
from leaseboard.algorithms.base import Cost, play
from leaseboard.algorithms.environments.samples import (
    Decided,
    Probe,
    ProbeAsked,
    SamplesEnvironment,
)
from leaseboard.algorithms.environments.stream import BLOCK, Stream, StreamEnvironment
from leaseboard.algorithms.errors import LeaseboardError, SkipError, UsageError
from leaseboard.algorithms.events import (
    ChampionChanged,
    ConfigurationFailed,
    Eliminated,
    Finished,
    LeaseGranted,
    ProbeFinished,
    of,
)
from leaseboard.algorithms.reference.frameworks import OutsideSearch, StreamFramework
from leaseboard.algorithms.testing import Tiny, tiny_environment
from tests.algorithms import outside
from tests.algorithms.played import audited

__all__ = ["outside"]  # in place of the other libraries

NAMES = [
    name
    for name in registry.names()
    if issubclass(registry.algorithm_class(name), StreamFramework)
]
ROWS = BLOCK + 5
CALLED = {"stock": ["flaml-autovw"]}
"""Learners whose names do not begin with their environment's."""


class Reporting:
    """Session whose predictions are the numbers of the examples, and what it was asked."""

    def __init__(self, reported=None):
        self.reported = np.arange(ROWS, dtype=float) if reported is None else reported
        self.said = []

    def __call__(self, system, learner, stream, seed):
        self.said.append((system, learner, seed))
        return self

    def learn_many(self, examples, labels):
        self.said.append(len(labels))
        given, self.reported = np.split(self.reported, [len(labels)])
        return given

    def finish(self):
        self.said.append("finished")
        return Cost(cpu_seconds=2.0, wall_seconds=3.0, peak_memory_mb=40.0)

    def close(self):
        self.said.append("closed")


@pytest.fixture
def env():
    """Make an environment of labels that grow by one."""

    def make(outside):
        grown = Stream(
            np.ones((ROWS, 2), np.float32),
            np.arange(1, ROWS + 1, dtype=np.float32),
            (),
            ("a", "b"),
        )
        return StreamEnvironment(grown, outside=outside)

    return make


def test_the_environment_scores_the_predictions_that_it_gets(env):
    outside = Reporting()
    tried = env(outside)

    log = list(play("x", registry.build("river-arf"), tried, 7))

    assert log[-1].score == 1.0
    assert outside.said == [("river", "arf", 7), BLOCK, 5, "finished", "closed"]
    assert (tried.cost.cpu_seconds, tried.cost.wall_seconds) == (2.0, 3.0)
    assert tried.cost.peak_memory_mb == 40.0


def test_one_that_is_broken_off_is_closed_and_costs_nothing(env):
    outside = Reporting()
    tried = env(outside)
    run = play("x", registry.build("river-srp"), tried, 0)
    next(run), next(run)
    run.close()

    assert outside.said == [("river", "srp", 0), "closed"]
    assert tried.cost is None


def test_one_that_predicts_no_number_is_closed(env):
    outside = Reporting(np.full(ROWS, np.nan))

    with pytest.raises(Exception, match="the prediction of example 0 is nan"):
        list(play("x", registry.build("river-linear"), env(outside), 0))

    assert outside.said[-1] == "closed"


def test_without_a_place_to_run_it_is_skipped(env):
    with pytest.raises(SkipError, match="river runs on jobs alone"):
        list(play("x", registry.build("river-linear"), env(None), 0))


def test_every_name_is_the_learner_that_it_says():
    for name in NAMES:
        log = list(play("x", registry.build(name), tiny_environment("stream"), 0))
        said = log[1].parameters
        assert name in {f"{said['system']}-{said['learner']}", *CALLED.get(said["learner"], ())}
        assert isinstance(log[-1], Finished)


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


def test_a_learner_of_another_system_is_refused():
    with pytest.raises(UsageError, match=r"unknown learner of capymoa 'linear'; known: arf, "):
        registry.build("capymoa-arf", {"learner": "linear"})
    with pytest.raises(UsageError, match=r"unknown learner of river 'linaer': did you mean 'lin"):
        registry.build("river-linear", {"learner": "linaer"})
    with pytest.raises(UsageError, match="unknown system on streams 'rivr': did you mean 'river'"):
        registry.build("river-linear", {"system": "rivr"})


SEARCHES = [
    name
    for name in registry.names()
    if issubclass(registry.algorithm_class(name), OutsideSearch)
]  # fmt: skip


class ThreeLearners(SimulatedLearners):
    """Three, the last of which crashes on more than 500 rows, and folds of samples."""

    def __init__(self):
        super().__init__((0.6, 0.9, 0.7), 2000, 500, seed=0)

    def measure(self, configuration, rows, test_rows):
        if configuration == 2 and rows > 500:
            return Probe(rows=rows, test_rows=test_rows, status="crash", reason="boom")
        return super().measure(configuration, rows, test_rows)

    def measure_fold(self, configuration, rows, fold, folds):
        tested = len(range(fold, rows, folds))
        return self.measure(configuration, rows - tested, tested)


class Saying:
    """A search that says what it is reported to say, and keeps what it hears."""

    def __init__(self, *says):
        self.says = list(says)
        self.heard = []

    def __call__(self, which, seed):
        self.heard.append((which.system, dict(which.settings), which.configurations, seed))
        return self

    def hear(self):
        return self.says.pop(0)

    def report(self, accuracy):
        self.heard.append(accuracy)

    def close(self):
        self.heard.append("closed")


def run(saying, name="optuna-median", settings=None, learners=None, **options):
    env = SamplesEnvironment(
        learners or ThreeLearners(), initial_rows=100, deciders=saying, **options
    )
    return env, audited(name, registry.build(name, settings), env, 7)


def test_it_probes_what_is_asked_and_chooses_what_is_chosen():
    saying = Saying(
        ProbeAsked(0, 400), ProbeAsked(1, 400), ProbeAsked(1, 2000), Decided(1, {0: "is pruned"})
    )
    env, log = run(saying)

    probes = of(log, ProbeFinished)
    assert [(each.configuration, each.rows) for each in probes] == [(0, 400), (1, 400), (1, 2000)]
    assert saying.heard[1:4] == [each.test_accuracy for each in probes]
    assert saying.heard[-1] == "closed"
    assert env.champion == 1
    assert [(each.configuration, each.reason) for each in of(log, Eliminated)] == [
        (0, "is pruned")
    ]
    assert log[-1].score == ThreeLearners().real_accuracy(1)


def test_what_crashes_has_no_accuracy_and_is_never_chosen():
    saying = Saying(ProbeAsked(2, 400), ProbeAsked(2, 1600), ProbeAsked(0, 400), Decided(0, {}))
    _, log = run(saying)

    assert saying.heard[2] is None
    assert [(each.configuration, each.reason) for each in of(log, ConfigurationFailed)] == [
        (2, "crash at 1600 rows: boom")
    ]


def test_who_finds_nothing_that_can_be_trained_fails_with_the_last_reason():
    with pytest.raises(LeaseboardError, match=r"could be trained: configuration 2 .* boom"):
        run(Saying(ProbeAsked(2, 1600), Decided(None)))


def test_a_choice_that_cannot_be_trained_in_full_is_not_a_score():
    with pytest.raises(LeaseboardError, match="configuration 2 cannot be trained on 2000"):
        run(Saying(ProbeAsked(2, 400), Decided(2)))


def test_a_fold_is_leased_the_rows_that_it_is_trained_on():
    saying = Saying(*(ProbeAsked(1, 403, fold, 5) for fold in range(5)), Decided(1))
    env, log = run(saying, "sklearn-halving")

    assert [each.amount for each in of(log, LeaseGranted)] == [322, 322, 322, 323, 323]
    assert [each.test_rows for each in of(log, ProbeFinished)] == [81, 81, 81, 80, 80]
    assert env.at == 4 * 403


@pytest.mark.parametrize(("budget", "champion"), [(2000, 1), (300, 0)])
def test_when_the_budget_ends_the_best_until_then_is_the_answer(budget, champion):
    asked = [ProbeAsked(each, 400) for each in (0, 1, 2)]
    env, log = run(Saying(*asked, ProbeAsked(0, 2000)), budget=budget)

    assert env.champion == champion
    assert len(of(log, ChampionChanged)) == 1


def test_duplicates_are_not_searched():
    learners = SimulatedLearners((0.6, 0.9, 0.7), 2000, 500, seed=0)
    learners.configurations[1] = learners.configurations[0]
    saying = Saying(ProbeAsked(1, 400), Decided(1, {0: "is pruned"}))
    env, log = run(saying, learners=learners)

    assert saying.heard[0][2] == 2
    assert env.champion == 2
    assert [each.configuration for each in of(log, Eliminated)] == [1, 0]


def test_it_is_skipped_without_folds():
    learners = SimulatedLearners((0.6, 0.9), 2000, 500, seed=0)

    with pytest.raises(SkipError, match="set folds=1"):
        run(Saying(ProbeAsked(0, 400, 0, 5)), "sklearn-halving", learners=learners)


def test_without_a_place_to_run_a_search_is_skipped():
    with pytest.raises(SkipError, match="optuna runs on jobs alone"):
        run(None)


@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_gets_its_settings(name):
    saying = Saying(Decided(0))
    run(saying, name)

    system, settings, configurations, seed = saying.heard[0]
    assert system == ("optuna" if name.startswith("optuna") else "scikit-learn")
    assert settings
    assert (configurations, seed) == (3, 7)
