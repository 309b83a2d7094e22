import math

import pytest

from leaseboard.algorithms.bandits import Average
from leaseboard.algorithms.base import play
from leaseboard.algorithms.environments.pulls import OVERRUN, PullsEnvironment, Trial, Trials
from leaseboard.algorithms.errors import LeaseboardError
from tests.algorithms.played import ended


class Listed(Trials):
    """Trials from a list of (reward, cost) for each arm; the last one repeats."""

    def __init__(self, *arms):
        self.listed = arms
        self.arms = tuple(f"arm{i}" for i in range(len(arms)))
        self.tunable = (True,) * len(arms)

    def trial(self, arm, n, seconds=math.inf):
        reward, cost = self.listed[arm][min(n, len(self.listed[arm]) - 1)]
        status = "ok" if reward else "crash"
        test = reward / 2 if reward else None
        return Trial(arm, {"n": n}, reward, test, cost, 2 * cost, status, "" if reward else "boom")

    def joint_trial(self, _, n, seconds=math.inf):
        return self.trial(n % len(self.arms), n // len(self.arms))


class Asked(Listed):
    """Trials that note the seconds which each may take."""

    def __init__(self, *arms, stoppable):
        super().__init__(*arms)
        self.stoppable, self.seconds = stoppable, []

    def trial(self, arm, n, seconds=math.inf):
        self.seconds.append(seconds)
        return super().trial(arm, n, seconds)


@pytest.mark.parametrize(("first", "most"), [(True, 60), (False, 40)])
def test_a_trial_that_can_be_stopped_may_begin_with_most_of_what_is_not_reserved(first, most):
    trials = Asked(*[[(0.5, 10)]] * 8, stoppable=(first, *[True] * 7))
    env = PullsEnvironment(trials, 100, "cpu_seconds", shares=True, reserve=lambda: 20.0)
    for arm in (0, 1, 1):
        ended(env.pull(arm))

    # Of 80, then a seventh of 70, as seven arms wait, and half of 60.
    assert trials.seconds == [most, 10, 30]


def test_a_budget_in_seconds_cuts_off_the_trial_that_overruns_it():
    env = PullsEnvironment(Listed([(0.5, 3.0), (0.9, 4.0)]), budget=5.0, unit="cpu_seconds")
    ended(env.pull(0))
    _, trial = ended(env.pull(0))

    assert (trial.status, trial.reason, trial.reward) == ("timeout", OVERRUN, 0.0)
    assert env.at == 5.0
    assert env.cost.cpu_seconds == pytest.approx(5.0)
    assert env.score().value == 0.5


def test_all_arms_failing_is_an_error_with_the_commonest_reason():
    env = PullsEnvironment(Listed([(0.0, 1.0)], [(0.0, 1.0)]), budget=4)

    with pytest.raises(LeaseboardError, match="all 4 trials failed, 4 of them because 'boom'"):
        list(play("average", Average(), env, 0))
