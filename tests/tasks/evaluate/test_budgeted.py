"""Trials that a budget stops: what they are charged, what they keep, and where they go on."""

import resource
import time

import numpy as np
import pytest

from leaseboard.algorithms.environments.pulls import UNAFFORDABLE
from leaseboard.tasks.evaluate.replay import BudgetedTrials
from leaseboard.tasks.evaluate.scoring import Judge
from leaseboard.tasks.evaluate.spaces import Space, load_space
from leaseboard.tasks.evaluate.trials import Arrays, Fold, fitted_in
from leaseboard.tasks.processes.child import Limits

LIMITS = Limits(cpu_seconds=60.0, memory_mb=4000)
RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 3)).astype(np.float32)
Y = (X[:, 0] > 0).astype(np.int64)
PARTS = np.arange(90) % 3
TREES = {"estimator": "lightgbm", "constants": {"n_estimators": 1_000_000}}
BAYES = {"estimator": "sklearn.naive_bayes:GaussianNB"}


def arrays(n_folds, refit=None):
    rows = [(k != PARTS, k == PARTS) for k in range(n_folds)]
    folds = tuple(Fold(X[a], Y[a], X[b], Y[b]) for a, b in rows)
    targets = np.concatenate([Y[b] for _, b in rows])
    return Arrays("classification", folds, refit, Judge("accuracy", targets, np.array([0, 1])))


def trials(folder, arms, *, n_folds=3, limits=None, refit=None):
    space = Space(title="t", source="s", arms=arms)
    return BudgetedTrials(
        space=space, optimiser="guided", seed=1, arrays=arrays(n_folds, refit), limits=limits,
        folder=folder, n_jobs=2,
    )  # fmt: skip


def spent():
    """Return the CPU seconds of this process and its children, as the system counts them."""
    usages = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def spin(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


@pytest.fixture
def slow(monkeypatch, tmp_path):
    (tmp_path / "slow_learner.py").write_text(
        "import time\n"
        "import numpy as np\n"
        "class Slow:\n"
        "    def __init__(self, seconds): self.seconds = seconds\n"
        "    def fit(self, X, y):\n"
        "        end = time.process_time() + self.seconds\n"
        "        while time.process_time() < end:\n"
        "            pass\n"
        "        self.classes_ = np.array([0, 1])\n"
        "        return self\n"
        "    def predict_proba(self, X): return np.full((len(X), 2), 0.5)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    return lambda seconds: {
        "slow": {"estimator": "slow_learner:Slow", "constants": {"seconds": seconds}}
    }


def test_a_trial_leaves_its_predictions_and_models_and_is_charged_with_what_was_done_between(
    tmp_path,
):
    arms = load_space("tables-classification").restricted(["qda", "k_nearest_neighbors"]).arms
    search = trials(tmp_path, arms)
    trial = search.trial(0, 0)
    tried = search.tried[trial.seed]
    predicted = [model.predict(X[k == PARTS]) for k, model in enumerate(
        fitted_in(tried.order.keep))]  # fmt: skip
    spin(0.3)

    assert (len(predicted), tried.predictions.shape) == (3, (90, 2))
    assert tried.score == pytest.approx(trial.reward)
    assert np.array_equal(np.concatenate(predicted), tried.predictions.argmax(axis=1))
    assert search.trial(0, 1).cpu_seconds > 0.3
    assert search.trial(0, 0) == trial


def test_trials_that_run_at_once_are_charged_with_what_all_processes_took(slow, tmp_path):
    arms = {name: slow(0.2)["slow"] for name in ("one", "two")}
    search = trials(tmp_path, arms, n_folds=1, limits=LIMITS)
    search.warm()
    before = spent()
    search.prefetch([(0, 0), (1, 0)], 60.0)
    charged = sum(search.trial(arm, 0).cpu_seconds for arm in (0, 1))

    assert 0.4 <= charged <= spent() - before
    assert charged == pytest.approx(search.spent_cpu_seconds)


def test_a_trial_is_stopped_when_its_seconds_are_over_and_can_be_asked_for_again(slow, tmp_path):
    search = trials(tmp_path, slow(1e6), limits=LIMITS)
    search.warm()
    for seconds in (0.2, 0.4):
        assert not search.trial(0, 0, seconds).ended
    assert search.trial(0, 0, 0.3).reason == UNAFFORDABLE  # it took .4 without an end


def test_boosting_that_ends_early_has_a_result_and_is_fitted_again_with_as_many_trees(tmp_path):
    rest = PARTS > 0
    fold = Fold(X[rest], Y[rest], X[~rest], Y[~rest])
    search = trials(tmp_path, {"many": TREES, "bayes": BAYES}, n_folds=1, refit=fold)
    first = search.trial(0, 0, 0.5)
    tried = search.tried[first.seed]
    (model,), seconds = search.refit(tried, 60.0)

    assert search.stoppable == (True, False)
    assert not any(trials(tmp_path, {"many": TREES}).stoppable)
    assert (first.ended, first.status) == (True, "ok")
    assert search.trial(0, 1, tried.cpu_seconds * 0.1).reason == UNAFFORDABLE
    assert 0 < seconds < 60
    assert np.array_equal(model.predict(X[~rest]), tried.predictions.argmax(axis=1))
    assert model.n_iter_ == tried.order.values["n_estimators"] < 1_000_000
