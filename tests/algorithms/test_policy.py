import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leaseboard.algorithms import registry
from leaseboard.algorithms.environments.pulls import (
    OVERRUN,
    UNAFFORDABLE,
    PullsEnvironment,
    Trial,
    Trials,
)
from leaseboard.algorithms.errors import LeaseboardError
from leaseboard.algorithms.events import Eliminated, Finished, of
from leaseboard.algorithms.policy import ArmPolicy, Policy, Problem, alike
from tests.algorithms.played import audited

POLICIES = [
    entry.name
    for entry in registry.ENTRIES
    if issubclass(registry.algorithm_class(entry.name), ArmPolicy)
]


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
        if given == UNAFFORDABLE:
            return Trial(arm, {"n": n}, 0.0, None, 0.0, 0.0, "timeout", given)
        if isinstance(given, str):
            return Trial(arm, {"n": n}, 0.0, None, 1.0, 1.0, "crash", given)
        return Trial(arm, {"n": n}, given, None, 1.0, 1.0)


def played(name, env, seed=0, **set_to):
    """Return the log of a policy on `env`, audited."""
    return audited(name, registry.build(name, set_to), env, seed)


outcomes = st.lists(
    st.sampled_from(["a", "b", "crash in row 3", "crash in row 17", 0.2, 0.5, 0.9]),
    min_size=1,
    max_size=6,
)


@pytest.mark.parametrize("name", POLICIES)
@settings(max_examples=15, deadline=None)
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


def test_only_our_own_policies_retire_an_arm_unless_they_are_told_to():
    """The papers know no failures: by their names an arm that always fails is pulled on."""
    pulls = {}
    for name in POLICIES:
        env = PullsEnvironment(Scripted(["boom"], [0.5]), 40)
        log = played(name, env)
        pulls[name] = env.pulls[0]
        reasons = [e.reason for e in of(log, Eliminated) if "in a row" in e.reason]
        assert bool(reasons) == (name == "er-ucb-auto"), name

    assert pulls["er-ucb"] > 30  # a reward of 0 is far below beta, and its square is large
    assert pulls["rising-bandits"] == 8  # a plateau of C + 1


def test_the_end_of_the_budget_is_not_a_failure_of_an_arm():
    env = PullsEnvironment(Scripted([0.5], [0.6]), 2.5, "cpu_seconds")
    log = played("ucb", env, retire_after=1)

    assert env._failures == {OVERRUN: 1}
    assert not of(log, Eliminated)


def test_an_arm_that_costs_more_than_is_left_is_retired_without_a_failure():
    env = PullsEnvironment(Scripted([0.9, 0.9, UNAFFORDABLE], [0.6]), 8, "cpu_seconds")
    log = played("ucb", env)

    (gone,) = of(log, Eliminated)
    assert (gone.configuration, gone.reason) == (0, UNAFFORDABLE)
    assert env.pulls == [3, 6]
    metrics = of(log, Finished)[0].metrics
    assert metrics["retired_arms"] == 1
    for arm, mean, pulls in (("arm0", 0.9, 2), ("arm1", 0.6, 6)):
        index = mean + math.sqrt(2 * math.log(9) / pulls)
        assert metrics[f"index.{arm}"] == pytest.approx(index)


class Indexed(Policy):
    """Policy with an index that a test sets."""

    values = (0.1, 0.9, 0.9, 0.2)

    def index(self):
        return np.array(self.values)


def test_what_a_policy_remembers_and_whom_it_retires():
    policy = Indexed(Problem(4, 20, retire_after=2))
    assert policy.select() == 0
    for arm, reward, cost, failure in (
        (0, 0.5, 2.0, ""), (1, 0.0, 1.0, "row 3"), (2, 0.0, 1.0, "a"), (3, 0.2, 1.0, ""),
        (0, 0.3, 1.0, ""), (2, 0.0, 1.0, "b"),
    ):  # fmt: skip
        policy.update(arm, reward, cost, failure)
    assert (policy.t, policy.pulls.tolist()) == (6, [2, 1, 2, 1])
    assert policy.best.tolist() == [0.5, 0, 0, 0.2]
    assert policy.mean.tolist() == [0.4, 0, 0, 0.2]
    assert policy.costs.tolist() == [3, 1, 2, 1]
    assert (policy.failure, policy.failures_in_a_row) == (["", "row 3", "b", ""], [0, 1, 1, 0])
    assert not policy.retired.any()
    assert policy.select() == 1  # the first of the largest

    policy.update(1, 0.0, 1.0, "row 4")
    assert (policy.retired.tolist(), policy.select()) == ([False, True, False, False], 2)
    policy.retire(2, "dear")
    assert (policy.failure[2], policy.select()) == ("dear", 3)
    assert policy.candidates.tolist() == [True, False, False, True]
    assert policy.retired.tolist() == [False, True, True, False]
    assert policy.standing()["index"].tolist() == [0.1, 0.9, 0.9, 0.2]
    for arm in (0, 3):
        policy.retire(arm, "dear")
    with pytest.raises(LeaseboardError, match="no arm is left"):
        policy.select()


def test_a_policy_without_a_first_round_and_one_that_retires_none():
    policy = Policy(Problem(2, 9), rng=np.random.default_rng(0))
    policy.initial_round = False
    for _ in range(5):
        policy.update(0, 0.0, 1.0, "boom")
    assert (policy.standing(), policy.candidates.all()) == ({}, True)
    policy.update(1, 0.5)  # at a cost of one trial
    assert policy.costs.tolist() == [5, 1]
    assert {policy._drawn() for _ in range(20)} == {0, 1}
    policy.retire(1, "dear")
    assert {policy._drawn() for _ in range(20)} == {0}


def test_a_budget_of_seconds_is_refused_where_a_policy_counts_trials():
    refused = {}
    for name in POLICIES:
        env = PullsEnvironment(Scripted([0.5], [0.6]), 3, "cpu_seconds")
        try:
            played(name, env)
        except LeaseboardError as error:
            refused[name] = str(error)
    assert refused
    assert all("needs a budget in trials, not in cpu_seconds" in each for each in refused.values())
    assert {registry.algorithm_class(name).units for name in refused} == {("trials",)}
