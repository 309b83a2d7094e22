from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leaseboard.algorithms import registry
from leaseboard.algorithms.base import ALGORITHM_STOPPED
from leaseboard.algorithms.environments.pulls import OVERRUN, PullsEnvironment, Trial, Trials
from leaseboard.algorithms.errors import LeaseboardError, RuleBrokenError
from leaseboard.algorithms.events import Eliminated, Finished, of
from leaseboard.algorithms.policies.bandits import Average, UpperConfidenceBound
from leaseboard.algorithms.policies.policy import ArmPolicy, Problem, alike
from tests.algorithms.played import audited
from tests.simulation import simulate

POLICIES = [
    entry.name
    for entry in registry.ENTRIES
    if issubclass(registry.algorithm_class(entry.name), ArmPolicy)
]
PATIENT = [name for name in POLICIES if name != "rising-bandits-strict"]
"""Who does not eliminate an arm by its bounds before it has failed three times."""


class Scripted(Trials):
    """Arms whose trials give a reward, or fail for the reason in its place.

    The last one repeats.
    """

    def __init__(self, *scripts):
        self.scripts = scripts
        self.arms = tuple(f"arm{i}" for i in range(len(scripts)))
        self.tunable = (True,) * len(scripts)

    def trial(self, arm, n, seconds=None):
        given = self.scripts[arm][min(n, len(self.scripts[arm]) - 1)]
        if isinstance(given, str):
            return Trial(arm, {"n": n}, 0.0, None, 1.0, 1.0, "crash", given)
        return Trial(arm, {"n": n}, given, None, 1.0, 1.0)


class Failing:
    """Synthetic arms of which the first never gives anything."""

    n_arms = 3

    def draw(self, arm, n, rng):
        return 0.5 + 0.1 * arm if arm else math.nan


def played(name, env, seed=0, **set_to):
    """Return the log of a policy on `env`, audited."""
    return audited(name, registry.build(name, set_to), env, seed)


outcomes = st.lists(
    st.sampled_from(["a", "b", "crash in row 3", "crash in row 17", 0.2, 0.5, 0.9]),
    min_size=1,
    max_size=6,
)


@pytest.mark.parametrize("name", POLICIES)
@settings(max_examples=40, deadline=None)
@given(scripts=st.lists(outcomes, min_size=1, max_size=5), k=st.integers(1, 4))
def test_an_arm_is_retired_when_it_has_failed_alike_so_often_and_never_leased_again(
    name, scripts, k
):
    env = PullsEnvironment(Scripted([0.6], *scripts), 60)
    log = played(name, env, retire_after=k)  # the auditor refuses a lease to a retired arm

    gone = {e.configuration for e in of(log, Eliminated)}
    assert sum(env.pulls) == 60 or len(gone) == len(env.arms)
    retired = {e.configuration: e.reason for e in of(log, Eliminated) if "in a row" in e.reason}
    for arm, pulls in enumerate(env.pulls):
        streak, last = 0, ""
        for n in range(pulls):
            trial = env._trials.trial(arm, n)
            streak = 1 + streak * alike(last, trial.reason) if trial.reason else 0
            last = trial.reason
            assert streak < k or n == pulls - 1
        assert (streak == k) == (arm in retired)
        if arm in retired:
            assert retired[arm] == f"failed {k} times in a row: crash: {last}"
    assert of(log, Finished)[0].metrics["retired_arms"] == len(retired)


def test_when_all_arms_are_retired_the_run_ends_and_says_why_where_no_trial_succeeded():
    for name in PATIENT:
        env = PullsEnvironment(Scripted([0.7, "boom"], ["boom"], [0.4, 0.5, "boom"]), 100)
        end = played(name, env, retire_after=3)[-1]
        assert (env.pulls, end.score, end.reason) == ([4, 3, 5], 0.7, ALGORITHM_STOPPED), name
        assert end.metrics["retired_arms"] == 3
        hopeless = PullsEnvironment(Scripted(["no class 3"], ["no class 4"]), 100)
        with pytest.raises(LeaseboardError, match="all 6 trials failed, 3 of them because 'no c"):
            played(name, hopeless, retire_after=3)


def test_only_our_own_policies_retire_an_arm_unless_they_are_told_to():
    """The papers know no failures: by their names an arm that always fails is pulled on."""
    pulls = {}
    for name in POLICIES:
        env = PullsEnvironment(Scripted(["boom"], [0.5]), 40)
        log = played(name, env)
        pulls[name] = env.pulls[0]
        reasons = [e.reason for e in of(log, Eliminated) if "in a row" in e.reason]
        assert bool(reasons) == (name in ("er-ucb-auto", "posterior-max")), name

    assert pulls["er-ucb"] > 30  # a reward of 0 is far below beta, and its square is large
    assert pulls["rising-bandits"] == 8  # a plateau of C + 1


def test_the_end_of_the_budget_is_not_a_failure_of_an_arm():
    env = PullsEnvironment(Scripted([0.5], [0.6]), 2.5, "cpu_seconds")
    log = played("ucb", env, retire_after=1)

    assert env._failures == {OVERRUN: 1}
    assert not of(log, Eliminated)


def test_simulations_retire_arms_too_and_who_has_none_left_selects_none():
    for name in POLICIES:
        found = simulate(registry.build(name, {"retire_after": 3}), Failing(), 60, 2, 0)
        assert found.pulls[:, 0].max() <= 3, name
        assert found.pulls.sum(axis=1).tolist() == [60] * 2
        policy = registry.build(name, {"retire_after": 3}).start(Problem(1, 50), 0)
        for _ in range(3):
            policy.update(policy.select(), 0.0, failure="boom")
        with pytest.raises(LeaseboardError, match="no arm is left"):
            policy.select()


def test_average_shares_what_a_retired_arm_leaves():
    policy = Average(retire_after=3).start(Problem(4, 40), 0)
    bad = policy.select()
    for _ in range(40):
        arm = policy.select()
        policy.update(arm, 0.5, failure="boom" if arm == bad else "")

    assert sorted(policy.pulls.tolist()) == [3, 12, 12, 13]


def test_average_goes_round_again_when_its_last_arm_is_retired():
    order = Average().start(Problem(3, 30), 0).certain()
    scripts = [[0.5]] * 3
    scripts[order[-1]] = ["boom"]
    env = PullsEnvironment(Scripted(*scripts), 30)
    played("average", env, retire_after=3)

    assert sorted(env.pulls) == [3, 13, 14]


def test_an_arm_without_hyperparameters_stays_when_the_others_are_retired():
    problem = Problem(2, 50, tunable=(False, True))
    policy = UpperConfidenceBound(freeze_constant_arms=True, retire_after=3).start(problem, 0)
    for _ in range(20):
        arm = policy.select()
        policy.update(arm, 0.5, failure="boom" if arm else "")

    assert policy.pulls.tolist() == [17, 3]


@pytest.mark.parametrize("choice", [4, -1, 1.0, None, "arm", np.zeros(1, dtype=np.intp)])
def test_what_is_not_an_arm_is_refused(choice, monkeypatch):
    policy = registry.build("random-arm").start(Problem(4, 10.0), 0)
    monkeypatch.setattr(policy, "_choose", lambda: choice)
    with pytest.raises(RuleBrokenError, match=r"_RandomPolicy gave .*: return an arm of 0\.\.3$"):
        policy.select()
