import sqlite3
from collections import Counter
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from leaseboard.algorithms import registry
from leaseboard.algorithms.base import play
from leaseboard.algorithms.environments.pulls import OVERRUN, PullsEnvironment
from leaseboard.algorithms.events import TrialFinished, of
from leaseboard.tasks.evaluate.replay import StoredTrials
from leaseboard.tasks.evaluate.spaces import load_space
from leaseboard.tasks.evaluate.trials import Arrays, Fold
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


def test_a_trial_is_stopped_at_what_is_left_of_a_budget_and_is_not_stored(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parent)
    space = tmp_path / "space.yaml"
    space.write_text("{title: t, source: s, arms: {a: {estimator: 'broken_learners:Spins'}}}")
    limits = Limits(cpu_seconds=60.0, memory_mb=4000)
    trials = replace(stored(tmp_path, limits=limits), space=load_space(str(space)))
    environment = PullsEnvironment(trials, 0.5, "cpu_seconds")
    _, pulled = ended(environment.pull(0))

    assert (pulled.status, pulled.reason, environment.at) == ("timeout", OVERRUN, 0.5)
    assert 0.3 < trials.spent_cpu_seconds < 2.0
    with closing(sqlite3.connect(tmp_path / "store.sqlite")) as database:
        assert database.execute("SELECT count(*) FROM leaseboard_records").fetchone() == (0,)
