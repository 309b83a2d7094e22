"""Programs of frameworks for tables, and of searches."""

import sys
from enum import Enum
from types import ModuleType, SimpleNamespace
from typing import get_args, get_type_hints

import numpy as np
import pandas as pd
import pytest

from leaseboard.algorithms.reference import frameworks
from leaseboard.tasks.evaluate import framework_program
from leaseboard.tasks.evaluate.framework_program import optuna_study, sklearn_halving
from leaseboard.tasks.evaluate.frameworks import venv


class WireAlone:
    """Sender that gives one order, and keeps the answer."""

    def __init__(self, **order):
        self.order = order

    def recv(self):
        return self.order

    def send(self, answer):
        self.answer = answer


def test_a_fit_predicts_and_reports_its_cost(monkeypatch):
    class Mean:
        def fit(self, frame, labels, *, wanted):
            assert (list(frame), wanted) == (["column0", "column1"], 7)
            assert frame["column1"].cat.categories.tolist() == ["x", "y"]
            self.mean = labels.mean()

        def predict(self, frame):
            return np.full((len(frame), 1), self.mean)

    made = {"ours": lambda order: framework_program._fitting(Mean(), wanted=order["seed"])}
    monkeypatch.setattr(framework_program, "TABLE_SYSTEMS", made)
    wire = WireAlone(
        seed=7, categories=[None, ["x", "y"]], labels=np.array([1.0, 3.0]),
        train=[np.zeros(2), np.array([0, -1])], test=[np.zeros(3), np.array([1, 1, 0])],
    )  # fmt: skip

    framework_program.predict_table(wire, "ours")

    assert wire.answer.pop("predictions") == [2.0, 2.0, 2.0]
    assert wire.answer.pop("peak_memory_mb") > 10
    assert min(wire.answer.pop(name) for name in ("cpu_seconds", "wall_seconds")) >= 0
    assert wire.answer == {}


def test_autogluon_gets_the_kind_of_labels_and_one_cpu(monkeypatch):
    calls = []

    class TabularPredictor:
        def __init__(self, *given, **options):
            calls.append((given, options))

        def fit(self, frame, **options):
            calls.append((frame["label"].tolist(), options))
            return self

        def predict(self, frame):
            return frame["x"]

    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", "")
    parents = "autogluon", "fastai", "fastai.tabular"
    for name in (*parents, "autogluon.tabular", "fastai.tabular.all"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    sys.modules["autogluon.tabular"].TabularPredictor = TabularPredictor
    frame = pd.DataFrame({"x": [1, 2, 3]})
    for task, labels, kind, metric in (
        ("classification", [0, 1, 0], "binary", "accuracy"),
        ("classification", [0, 1, 5], "multiclass", "accuracy"),
        ("regression", [0, 1, 0], "regression", "r2"),
    ):
        calls.clear()
        predict = framework_program.autogluon({"task": task, "seconds": 9})(
            frame, np.array(labels)
        )

        (given, made), (seen, fitted) = calls
        assert (given, made["problem_type"], made["eval_metric"]) == (("label",), kind, metric)
        assert (seen, fitted) == (labels, {"time_limit": 9, "num_cpus": 1, "num_gpus": 0})
        assert predict(frame).tolist() == [1, 2, 3]
        assert list(frame) == ["x"]


def test_every_system_is_an_algorithm_and_has_pins_or_runs_in_our_environment():
    reported = [frameworks.TableSystem, frameworks.TableBaseline]
    names = {name for cls in reported for name in get_args(get_type_hints(cls)["system"])}

    assert names == {*framework_program.TABLE_SYSTEMS}
    assert names.issuperset(framework_program.COUNTING_WALL_SECONDS)
    assert names - set(venv.names()) == {"leaseboard", "lightgbm", "forest"}


States = Enum("States", "COMPLETE PRUNED")
SETTINGS = {"pruner": "median", "startup_trials": 5, "min_resource": "auto"}


class PrunedError(Exception):
    """The stand-in's `TrialPruned`."""


class StandInTrial:
    """One of a stand-in's study, of a configuration; it prunes below an accuracy."""

    def __init__(self, number, prune_below):
        self.params, self.reported, self.state = {"configuration": number}, {}, None
        self.prune_below = prune_below

    def suggest_categorical(self, name, space):
        return space[self.params[name]]

    def report(self, value, step):
        assert step not in self.reported
        self.reported[step] = value

    def should_prune(self):
        return self.reported[max(self.reported)] < self.prune_below


class StandInStudy:
    """Fake study that tries the configurations in their order."""

    def __init__(self, prune_below):
        self.prune_below, self.trials = prune_below, []

    def optimize(self, objective, n_trials, catch):
        for number in range(n_trials):
            trial = StandInTrial(number, self.prune_below)
            self.trials.append(trial)
            try:
                trial.value, trial.state = objective(trial), States.COMPLETE
            except (PrunedError, *catch):
                trial.state = States.PRUNED

    @property
    def best_trial(self):
        done = [each for each in self.trials if each.state is States.COMPLETE]
        return max(done, key=lambda each: each.value)


@pytest.fixture
def study(monkeypatch):
    """Run a study on a curve; return its outcome, its requests, and the arguments of Optuna."""

    def run(curve, prune_below):
        given = {}

        fake = SimpleNamespace(
            logging=SimpleNamespace(WARNING=30, set_verbosity=lambda _: None),
            samplers=SimpleNamespace(GridSampler=lambda space, seed: (space, seed)),
            pruners=SimpleNamespace(MedianPruner=lambda n_startup_trials: n_startup_trials),
            trial=SimpleNamespace(TrialState=States),
            TrialPruned=PrunedError,
            create_study=lambda **options: given.update(options) or StandInStudy(prune_below),
        )
        monkeypatch.setitem(sys.modules, "optuna", fake)
        asked = []

        def ask(configuration, rows):
            asked.append((configuration, rows))
            return curve(configuration)

        order = {"configurations": 4, "rows": 20_000, "initial_rows": 1000, "seed": 5,
                 "settings": SETTINGS}  # fmt: skip
        return optuna_study(order, ask), asked, given

    return run


def test_a_trial_reports_each_sample_and_the_best_complete_one_is_chosen(study):
    found, asked, given = study([0.6, 0.9, 0.8, 0.3].__getitem__, prune_below=0.5)

    assert asked[:4] == [(0, 1000), (0, 4000), (0, 16_000), (0, 20_000)]
    assert asked[-1] == (3, 1000)
    assert found == 1
    assert given["sampler"] == ({"configuration": [0, 1, 2, 3]}, 5)
    assert (given["direction"], given["pruner"]) == ("maximize", 5)


@pytest.fixture
def halved():
    """Halve three configurations in scikit-learn, of which each has an accuracy or fails."""

    def run(accuracy, folds):
        def ask(configuration, rows, **fold):
            if (found := accuracy(configuration)) is None:
                raise framework_program.CannotTrainError
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
