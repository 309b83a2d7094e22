"""Trials from the store, run once; and trials under a budget."""

import resource
import sqlite3
import time
from collections import Counter
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from leaseboard.algorithms import registry
from leaseboard.algorithms.base import play
from leaseboard.algorithms.environments.pulls import OVERRUN, UNAFFORDABLE, PullsEnvironment
from leaseboard.algorithms.errors import SkipError
from leaseboard.algorithms.events import TrialFinished, of
from leaseboard.tasks.evaluate.replay import BudgetedTrials, StoredTrials
from leaseboard.tasks.evaluate.scoring import Judge
from leaseboard.tasks.evaluate.spaces import Space, load_space
from leaseboard.tasks.evaluate.trials import Arrays, Fold, fitted_in
from leaseboard.tasks.processes.child import Limits
from leaseboard.tasks.store.database import Store
from tests.algorithms.played import ended

ARMS = ["bernoulli_nb", "decision_tree", "gaussian_nb", "k_nearest_neighbors"]


def arrays():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5)).astype(np.float32)
    y = (X[:, 0] * X[:, 1] > 0).astype(np.int64)
    return Arrays(
        "classification", (Fold(X[:120], y[:120], X[120:160], y[120:160], X[160:], y[160:]),)
    )


def stored(folder, *, arrays=arrays, arms=ARMS, optimiser="tpe", seed=1, limits=None):
    return StoredTrials(
        space=load_space("fast").restricted(arms),
        data={"digest": "toy"},
        arrays=arrays,
        optimiser=optimiser,
        seed=seed,
        store=Store(folder / "store.sqlite"),
        limits=limits,
    )


def nothing_to_run():
    pytest.fail("a stored trial was run again")


def played(trials, name, budget):
    environment = PullsEnvironment(trials, budget)
    return list(play(name, registry.build(name), environment, 0)), environment


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a store that holds what `average` pulled in 48 trials, and tpe-joint in 12."""
    folder = tmp_path_factory.mktemp("store")
    trials = stored(folder)
    played(trials, "average", 48)
    played(trials, "tpe-joint", 12)
    return folder


def test_the_first_run_spends_what_it_is_charged(tmp_path):
    limits = Limits(cpu_seconds=20.0, memory_mb=4000)
    trials = stored(tmp_path, arms=["gaussian_nb", "bernoulli_nb"], limits=limits)
    _, environment = played(trials, "average", 6)

    assert 0 < trials.spent_cpu_seconds == pytest.approx(environment.cost.cpu_seconds)


def test_a_replay_spends_nothing_and_is_charged_the_same(folder):
    replay = stored(folder, arrays=nothing_to_run)
    log, environment = played(replay, "average", 48)
    again, other = played(stored(folder, arrays=nothing_to_run), "average", 48)

    assert replay.spent_cpu_seconds == 0
    assert environment.cost.cpu_seconds == other.cost.cpu_seconds > 0
    assert log == again


def test_every_policy_replays_the_same_trials(folder):
    seen = {}
    for name in ("rising-bandits", "heidari", "average", "cmab", "ucb", "er-ucb", "c-ucb",
                 "epsilon-greedy", "softmax", "max-ucb", "random-arm"):  # fmt: skip
        log, _ = played(stored(folder, arrays=nothing_to_run), name, 12)
        pulls = Counter()
        for trial in of(log, TrialFinished):
            number, pulls[trial.arm] = pulls[trial.arm], pulls[trial.arm] + 1
            result = (trial.reward, trial.test, trial.seed)
            assert seen.setdefault((trial.arm, number), result) == result, name

    assert len(seen) > 12 > len({arm for arm, _ in seen}) > 1


def test_another_seed_or_optimiser_is_not_replayed(folder):
    for change in ({"seed": 2}, {"optimiser": "random"}):
        with pytest.raises(pytest.fail.Exception, match="run again"):
            stored(folder, arrays=nothing_to_run, **change).trial(0, 0)


def test_an_interrupted_arm_is_continued_as_if_it_had_not_been(folder, tmp_path):
    first = stored(tmp_path)
    first.trial(3, 4)
    second = stored(tmp_path)
    got = [second.trial(3, n) for n in range(12)]
    whole = stored(folder, arrays=nothing_to_run)

    assert [(t.parameters, t.reward, t.test) for t in got] == [
        (t.parameters, t.reward, t.test) for t in (whole.trial(3, n) for n in range(12))
    ]


def broken(learner, folder, monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parent)
    space = folder / "space.yaml"
    space.write_text(f"title: t\nsource: s\narms: {{a: {{estimator: broken_learners:{learner}}}}}")
    limits = Limits(cpu_seconds=60.0, memory_mb=4000)
    return replace(stored(folder, limits=limits), space=load_space(str(space)))


def test_a_trial_that_the_machine_killed_is_tried_again(tmp_path, monkeypatch):
    trials = broken("Killed", tmp_path, monkeypatch)
    with pytest.raises(SkipError, match=r"trial 1 of broken.*killed by SIGKILL.*: run it again"):
        trials.trial(0, 0)
    monkeypatch.setenv("MEMORY", "enough")
    assert trials.trial(0, 0).status == "ok"


def test_a_trial_is_stopped_at_what_is_left_of_a_budget_and_is_not_stored(tmp_path, monkeypatch):
    trials = broken("Spins", tmp_path, monkeypatch)
    environment = PullsEnvironment(trials, 0.5, "cpu_seconds")
    _, pulled = ended(environment.pull(0))

    assert (pulled.status, pulled.reason, environment.at) == ("timeout", OVERRUN, 0.5)
    assert 0.3 < trials.spent_cpu_seconds < 2.0
    with closing(sqlite3.connect(tmp_path / "store.sqlite")) as database:
        assert database.execute("SELECT count(*) FROM leaseboard_records").fetchone() == (0,)


LIMITS = Limits(cpu_seconds=60.0, memory_mb=4000)
RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 3)).astype(np.float32)
Y = (X[:, 0] > 0).astype(np.int64)
PARTS = np.arange(90) % 3
TREES = {"estimator": "lightgbm", "constants": {"n_estimators": 1_000_000}}
BAYES = {"estimator": "sklearn.naive_bayes:GaussianNB"}


def arrays_of(n_folds, refit=None):
    rows = [(k != PARTS, k == PARTS) for k in range(n_folds)]
    folds = tuple(Fold(X[a], Y[a], X[b], Y[b]) for a, b in rows)
    targets = np.concatenate([Y[b] for _, b in rows])
    return Arrays("classification", folds, refit, Judge("accuracy", targets, np.array([0, 1])))


def trials(folder, arms, *, n_folds=3, limits=None, refit=None):
    space = Space(title="t", source="s", arms=arms)
    return BudgetedTrials(
        space=space, optimiser="guided", seed=1, arrays=arrays_of(n_folds, refit), limits=limits,
        folder=folder,
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


def test_trials_are_charged_with_what_all_processes_took(slow, tmp_path):
    arms = {name: slow(0.2)["slow"] for name in ("one", "two")}
    search = trials(tmp_path, arms, n_folds=1, limits=LIMITS)
    search.warm()
    before = spent()
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
