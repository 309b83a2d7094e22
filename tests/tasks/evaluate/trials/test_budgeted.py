import time
from dataclasses import replace

import numpy as np
import pytest

from leaseboard.algorithms.environments.pulls import UNAFFORDABLE
from leaseboard.tasks.evaluate.trials.evaluate import Arrays, Fold, TrialData, fitted_in
from leaseboard.tasks.evaluate.trials.replay import BudgetedTrials
from leaseboard.tasks.evaluate.trials.scoring import Judge
from leaseboard.tasks.evaluate.trials.spaces import Space, load_space
from leaseboard.tasks.processes.limits import Limits
from leaseboard.tasks.store.recorded import Store

LIMITS = Limits(cpu_seconds=60.0, memory_mb=4000)
RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 3)).astype(np.float32)
Y = (X[:, 0] > 0).astype(np.int64)
SLOW = {
    "title": "t",
    "source": "s",
    "arms": {"slow": {"estimator": "slow_learner:Slow", "constants": {"seconds": 30.0}}},
}


def arrays():
    parts = np.arange(90) % 3
    folds = tuple(
        Fold(X[parts != k], Y[parts != k], X[parts == k], Y[parts == k], None, None)
        for k in range(3)
    )
    order = np.concatenate([np.flatnonzero(parts == k) for k in range(3)])
    return Arrays("classification", folds, judge=Judge("accuracy", Y[order], np.array([0, 1])))


def one_fold():
    rest = np.arange(90) % 3 > 0
    fold = Fold(X[rest], Y[rest], X[~rest], Y[~rest], None, None)
    return Arrays("classification", (fold,), judge=Judge("accuracy", Y[~rest], np.array([0, 1])))


def trials(folder, space=None, *, limits=None, clock="cpu", store="store", **given):
    given = {"data": arrays, "n_folds": 3, **given}
    keep = folder / "models"
    keep.mkdir(exist_ok=True)
    return BudgetedTrials(
        space or load_space("tables-classification").restricted(["qda", "k_nearest_neighbors"]),
        TrialData(identity={}, code=(), arrays=given.pop("data")),
        optimiser="guided",
        seed=1,
        store=Store(folder / f"{store}.sqlite"),
        limits=limits,
        keep=keep,
        clock=clock,
        **given,
    )


def test_a_trial_leaves_its_predictions_and_the_very_models_that_made_them(tmp_path):
    search = trials(tmp_path)
    trial = search.trial(0, 0)
    judged = search.judged(trial.seed)
    models, outcome = search.fit_again(judged)

    assert judged.file.is_file()
    assert judged.predictions.shape == (90, 2)
    assert judged.score == pytest.approx(trial.reward)
    assert len(models) == 3
    np.testing.assert_array_equal(outcome.predictions, judged.predictions)


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
    return Space.model_validate(SLOW)


def test_a_trial_that_is_stopped_between_folds_keeps_them_and_goes_on_after_them(slow, tmp_path):
    slow.arms["slow"].constants["seconds"] = 0.2
    search = trials(tmp_path, slow, limits=LIMITS)
    search.warm()
    begun = search.trial(0, 0, 0.55)
    kept = search.judged(begun.seed)

    assert (begun.ended, begun.status, begun.reason) == (False, "ok", "2 of 3 folds")
    assert (
        begun.reward
        < kept.score
        == Judge("accuracy", arrays().judge.targets[:60], np.array([0, 1])).score(kept.predictions)
    )
    assert len(fitted_in(kept.file)) == 2
    assert search.trial(0, 0, 0.1).reason == UNAFFORDABLE  # one more fold takes .2
    whole = search.trial(0, 0, 0.4)
    assert whole.ended
    assert whole.cpu_seconds < 0.4
    assert begun.cpu_seconds + whole.cpu_seconds > 0.5
    assert search.judged(whole.seed).predictions.shape == (90, 2)
    assert len(fitted_in(kept.file)) == 3


def test_a_fold_that_was_cut_off_in_writing_is_fitted_again(tmp_path):
    file = tmp_path / "folds"
    search = trials(tmp_path)
    search._file = lambda *_: file
    file.write_bytes(b"\x80\x05cut")

    assert search.trial(0, 0).status == "ok"
    assert len(fitted_in(file)) == 3


@pytest.mark.parametrize("clock", ["cpu", "wall"])
def test_a_trial_is_stopped_when_its_seconds_are_over_and_can_be_asked_for_again(
    slow, tmp_path, clock
):
    search = trials(tmp_path, slow, limits=LIMITS, clock=clock)
    search.warm()
    begin = time.process_time()
    for seconds in (0.2, 0.4):
        trial = search.trial(0, 0, seconds)
        assert not trial.ended
    assert trial.cpu_seconds < 30.0  # which it would take to its end
    assert search.trial(0, 0, 0.3).reason == UNAFFORDABLE  # it took .4 without an end
    assert not (tmp_path / "store.sqlite").exists()  # nothing is on record
    assert time.process_time() - begin < 5


def test_boosting_that_ends_early_has_a_result_and_is_begun_with_half_of_its_seconds(tmp_path):
    many = {"estimator": "lightgbm", "constants": {"n_estimators": 1_000_000}}
    space = Space.model_validate(
        SLOW | {"arms": {"many": many, "bayes": {"estimator": "sklearn.naive_bayes:GaussianNB"}}}
    )
    search = trials(tmp_path, space, n_folds=1, data=one_fold)
    assert search.stoppable == (True, False)
    assert not any(trials(tmp_path, space).stoppable)

    first = search.trial(0, 0, 0.5)
    again = search.trial(0, 1, first.cpu_seconds * 0.6)
    assert (first.ended, first.status) == (again.ended, again.status) == (True, "ok")
    assert again.cpu_seconds < first.cpu_seconds < 1
    assert search.trial(0, 2, first.cpu_seconds * 0.1).reason == UNAFFORDABLE


def test_a_fit_with_fewer_trees_is_the_same_when_it_is_replayed_and_fitted_again(tmp_path):
    many = {"estimator": "lightgbm", "constants": {"n_estimators": 1_000_000}}
    space = Space.model_validate(SLOW | {"arms": {"many": many}})
    given = {"n_folds": 1, "data": one_fold}
    seed = trials(tmp_path, space, **given).trial(0, 0, 0.5).seed
    again = trials(tmp_path, space, **given)
    again.trial(0, 0, 0.01)
    judged = again.judged(seed)
    (model,), outcome = again.fit_again(replace(judged, file=None))

    assert outcome.score == judged.score
    np.testing.assert_array_equal(outcome.predictions, judged.predictions)
    assert model.n_iter_ == judged.order.values["n_estimators"] < 1_000_000


def test_a_trial_is_charged_with_what_was_done_between(tmp_path):
    search = trials(tmp_path)
    search.trial(0, 0)
    end = time.process_time() + 0.3
    while time.process_time() < end:
        pass

    assert search.trial(0, 1).cpu_seconds > 0.3
