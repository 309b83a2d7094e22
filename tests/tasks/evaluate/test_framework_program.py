"""Programs of frameworks for tables, and of searches."""

import sys
from types import ModuleType, SimpleNamespace
from typing import get_args, get_type_hints
from unittest.mock import MagicMock

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


class PrunedError(Exception):
    """The stand-in's `TrialPruned`."""


class Study:
    """Stand-in of a study that tries configurations in order, and prunes below one half."""

    def __init__(self, **given):
        self.given, self.trials = given, []

    def optimize(self, objective, n_trials, catch):
        for number in range(n_trials):
            said = {}
            trial = SimpleNamespace(
                params={"configuration": number}, said=said, state="complete", value=0.0,
                suggest_categorical=lambda _, space, number=number: space[number],
                report=lambda value, step, said=said: said.update({step: value}),
                should_prune=lambda said=said: said[max(said)] < 0.5,
            )  # fmt: skip
            self.trials.append(trial)
            try:
                trial.value = objective(trial)
            except PrunedError:
                trial.state = "pruned"

    @property
    def best_trial(self):
        return max(self.trials, key=lambda each: each.value)


def test_a_trial_reports_each_sample_and_the_best_complete_one_is_chosen(monkeypatch):
    optuna, asked, studies = MagicMock(TrialPruned=PrunedError), [], []
    optuna.trial.TrialState.COMPLETE = "complete"
    optuna.create_study = lambda **given: studies.append(Study(**given)) or studies[0]
    monkeypatch.setitem(sys.modules, "optuna", optuna)

    def ask(configuration, rows):
        asked.append((configuration, rows))
        return [0.6, 0.9, 0.8, 0.3][configuration]

    settings = {"pruner": "median", "startup_trials": 5, "min_resource": "auto"}
    order = {"configurations": 4, "rows": 20_000, "initial_rows": 1000, "seed": 5}

    assert optuna_study(order | {"settings": settings}, ask) == 1
    assert asked[:4] == [(0, 1000), (0, 4000), (0, 16_000), (0, 20_000)]
    assert asked[-1] == (3, 1000)
    assert [*studies[0].trials[0].said] == [1, 4, 16, 20]
    assert studies[0].given["direction"] == "maximize"
    optuna.samplers.GridSampler.assert_called_once_with({"configuration": [0, 1, 2, 3]}, seed=5)
    optuna.pruners.MedianPruner.assert_called_once_with(n_startup_trials=5)


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
