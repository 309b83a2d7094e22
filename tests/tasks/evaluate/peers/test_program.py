"""The program that lets a peer search in its environment, with stand-ins for the libraries."""

import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from leaseboard.tasks.evaluate.peers import program

ROWS = np.arange(12.0).reshape(-1, 1)
LABELS = np.arange(12) % 2
DATA = {
    "train_x": ROWS[:8],
    "train_y": LABELS[:8],
    "validation_x": ROWS[8:],
    "validation_y": LABELS[8:],
}
REQUEST = {"trials": 4, "seconds": None, "trial_seconds": None, "seed": 7}


class HyperoptStandIn:
    """A search of hyperopt-sklearn: what each trial does is given; one that raises ends it."""

    def __init__(self, does):
        self.does = list(does)
        self.seeds = []
        self.learner = None
        self.trials = SimpleNamespace(_dynamic_trials=[])

    def fit_iter(self, _rows, labels, *, valid_size, cv_shuffle, warm_start):
        assert round(valid_size * len(labels) + 0.5) == 4
        assert not cv_shuffle
        assert warm_start == bool(self.seeds)
        while True:
            yield
            self.seeds.append(program.os.environ["HYPEROPT_FMIN_SEED"])
            does = self.does.pop(0)
            if does == "fault":
                raise ValueError("of the search")
            misc = {"vals": {"depth": [3], "width": []}}
            trial = {"result": {"status": "ok", "loss": 0.25}, "misc": misc}
            self.trials._dynamic_trials.append(trial)
            if does == "raise":
                trial["result"] = {"status": "new"}
                misc["error"] = ("<class 'ValueError'>", "three classes")
                raise ValueError("three classes")
            self.learner = DecisionTreeClassifier(random_state=0)

    def best_model(self):
        return {"learner": self.learner}


@pytest.fixture
def search(monkeypatch):
    """Searches with trials that do as they are told; what was tried, the model, the search."""
    monkeypatch.setenv("HYPEROPT_FMIN_SEED", "")
    monkeypatch.setattr(np, "bincount", np.bincount)  # given back after the test

    def run(*does):
        made = HyperoptStandIn(does)
        peer, hyperopt = ModuleType("hpsklearn"), ModuleType("hyperopt")
        peer.HyperoptEstimator = lambda **_: made
        peer.any_classifier = str
        hyperopt.tpe = SimpleNamespace(suggest=None)
        monkeypatch.setitem(sys.modules, "hpsklearn", peer)
        monkeypatch.setitem(sys.modules, "hyperopt", hyperopt)
        return *program.hyperopt_sklearn(DATA, REQUEST, None), made

    return run


def test_a_trial_of_hyperopt_sklearn_that_raises_has_failed_and_counts(search):
    tried, model, made = search("fit", "raise", "raise", "fit")

    assert [each["reward"] for each in tried] == [0.75, None, None, 0.75]
    assert [each["reason"] for each in tried] == ["", "three classes", "three classes", ""]
    assert tried[0]["parameters"] == {"depth": 3}
    assert len(set(made.seeds)) == 4
    assert model.n_features_in_ == 1


def test_what_is_no_trial_of_hyperopt_sklearn_ends_the_search(search):
    with pytest.raises(ValueError, match="of the search"):
        search("fit", "fault")


def test_without_a_trial_that_ended_hyperopt_sklearn_has_no_model(search):
    with pytest.raises(RuntimeError, match="all trials failed: three classes"):
        search(*["raise"] * 4)


def test_hyperopt_may_ask_for_no_least_length(search):
    search(*["fit"] * 4)

    assert np.bincount(np.array([1, 1]), minlength=None).tolist() == [0, 2]
