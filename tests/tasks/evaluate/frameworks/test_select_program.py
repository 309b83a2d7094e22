"""The study of Optuna, with a stand-in for Optuna, and the halving of scikit-learn."""

import sys
from enum import Enum
from types import SimpleNamespace

import pytest

from leaseboard.tasks.evaluate.frameworks import select_program
from leaseboard.tasks.evaluate.frameworks.select_program import (
    optuna_study,
    sklearn_halving,
)

States = Enum("States", "COMPLETE PRUNED FAIL")
SETTINGS = {"pruner": "median", "sampler": "grid", "startup_trials": 5, "min_resource": "auto"}


class PrunedError(Exception):
    """The stand-in's `TrialPruned`."""


class StandInTrial:
    """One of a stand-in's study; it prunes below an accuracy."""

    def __init__(self, number, prune_below):
        self.number = number
        self.prune_below = prune_below
        self.params, self.intermediate_values = {}, {}
        self.state = None

    def suggest_categorical(self, name, space):
        self.params[name] = space[self.number % len(space)]
        return self.params[name]

    def report(self, value, step):
        assert step not in self.intermediate_values
        self.intermediate_values[step] = value

    def should_prune(self):
        return self.intermediate_values[max(self.intermediate_values)] < self.prune_below


class StandInStudy:
    """Fake study that tries the configurations in their order."""

    def __init__(self, prune_below):
        self.prune_below = prune_below
        self.trials = []

    def optimize(self, objective, n_trials, catch):
        for number in range(n_trials):
            trial = StandInTrial(number, self.prune_below)
            self.trials.append(trial)
            try:
                trial.value = objective(trial)
                trial.state = States.COMPLETE
            except PrunedError:
                trial.state = States.PRUNED
            except catch:
                trial.state = States.FAIL

    @property
    def best_trial(self):
        done = [each for each in self.trials if each.state is States.COMPLETE]
        return max(done, key=lambda each: each.value)


@pytest.fixture
def study(monkeypatch):
    """Run a study on a curve; return its outcome, its requests, and the arguments of Optuna."""

    def run(curve, n=4, rows=20_000, prune_below=0.0, **settings):
        given = {}

        def kept(name):
            return lambda *args, **options: given.setdefault(name, (args, options))

        def create_study(**options):
            given["study"] = options
            return StandInStudy(prune_below)

        fake = SimpleNamespace(
            logging=SimpleNamespace(WARNING=30, set_verbosity=lambda _: None),
            samplers=SimpleNamespace(GridSampler=kept("grid"), TPESampler=kept("tpe")),
            pruners=SimpleNamespace(
                MedianPruner=kept("median"),
                SuccessiveHalvingPruner=kept("halving"),
                HyperbandPruner=kept("hyperband"),
            ),
            trial=SimpleNamespace(TrialState=States),
            TrialPruned=PrunedError,
            create_study=create_study,
        )
        monkeypatch.setitem(sys.modules, "optuna", fake)
        asked = []

        def ask(configuration, rows):
            asked.append((configuration, rows))
            found = curve(configuration, rows)
            if found is None:
                raise select_program.CannotTrainError
            return found

        order = {"configurations": n, "rows": rows, "initial_rows": 1000, "seed": 5,
                 "settings": SETTINGS | settings}  # fmt: skip
        return optuna_study(order, ask), asked, given

    return run


def test_a_trial_reports_each_sample_and_the_best_complete_one_is_chosen(study):
    found, asked, given = study(lambda c, _: [0.6, 0.9, 0.8, 0.3][c], prune_below=0.5)

    assert asked[:4] == [(0, 1000), (0, 4000), (0, 16_000), (0, 20_000)]
    assert asked[-1] == (3, 1000)
    assert found == 1
    assert given["grid"] == (({"configuration": [0, 1, 2, 3]},), {"seed": 5})
    assert given["study"]["direction"] == "maximize"
    assert given["study"]["study_name"] == "selection-5"


def test_a_pruner_has_a_sample_at_each_of_its_rungs(study):
    for rows, settings, pruner, options, second in (
        (20_000, {}, "median", {"n_startup_trials": 5}, 4000),
        (20_000, {"pruner": "halving"}, "halving", {"min_resource": "auto"}, 4000),
        (2_400_000, {"pruner": "hyperband"}, "hyperband",
         {"max_resource": 2400, "reduction_factor": 4}, 4000),
    ):  # fmt: skip
        _, asked, given = study(lambda *_: 0.5, rows=rows, **settings)
        assert given[pruner] == ((), options)
        assert asked[1] == (0, second)


@pytest.fixture
def halved():
    """Halve three configurations in scikit-learn, of which each has an accuracy or fails."""

    def run(accuracy, folds):
        def ask(configuration, rows, **fold):
            if (found := accuracy(configuration)) is None:
                raise select_program.CannotTrainError
            return found

        settings = {"search": "grid", "folds": folds, "min_resources": 100, "factor": 3}
        order = {"configurations": 3, "rows": 900, "seed": 5, "settings": settings}
        return sklearn_halving(order, ask)

    return run


def test_what_cannot_be_trained_is_dropped_without_a_warning(halved):
    for folds in (1, 5):
        for failing, chosen in (((), 2), ((2,), 1), ((0, 1, 2), None)):
            found = halved(lambda c, f=failing: None if c in f else 0.5 + c / 10, folds)

            assert found == chosen
