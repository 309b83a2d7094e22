from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import invgamma, lomax, norm

from leaseboard.algorithms.policies.policy import Problem
from leaseboard.algorithms.policies.posterior import (
    PsMax,
    expected_improvement,
)

K = 8


def legacy(seed):
    """Return a generator with the uniform numbers that numpy's global one gives after `seed`."""
    bits = np.random.MT19937()
    bits._legacy_seeding(seed)
    return np.random.Generator(bits)


def read_from_the_formulas(rewards, seed):
    """Return PS-Max's choices, arm by arm with scipy's distributions, from the text alone."""
    rng, pulls = np.random.RandomState(seed), rewards.shape[1]
    arms, seen = list(range(K)), []
    for t in range(pulls):
        if t >= K:
            first = np.array(seen[:K])
            values = []
            for arm in range(K):
                own = np.array([r for a, r in zip(arms, seen, strict=True) if a == arm])
                x = 1 / (1 + np.exp(-(own - first.mean()) / (first.std() + 0.01)))
                n, mean = len(x), x.mean()
                mu = (1.0 + n * mean) / (1 + n)
                beta = 0.5 * ((x - mean) ** 2).sum() + n * (mean - mu) ** 2 / (2 * (1 + n))
                variance = invgamma.rvs(1 + n / 2, scale=beta, random_state=rng)
                scale = math.sqrt(variance / (1 + n))
                values.append(norm.ppf(rng.uniform(0, 1) ** (1 / (t + 1)), loc=mu, scale=scale))
            arms.append(int(np.argmax(values)))
        seen.append(rewards[arms[t], arms[: t + 1].count(arms[t]) - 1])
    return arms


@pytest.mark.parametrize("pulls", [80, pytest.param(1000, marks=pytest.mark.slow)])
def test_ps_max_decides_as_the_published_formulas_in_every_pull(pulls):
    rewards = np.random.default_rng(1).beta(np.linspace(4, 9, K)[:, None], 3, size=(K, pulls))
    policy = PsMax().policy(Problem(K, float(pulls)), legacy(3))
    ours = []
    for _ in range(pulls):
        arm = policy.select()
        ours.append(arm)
        policy.update(arm, rewards[arm, policy.pulls[arm]])

    assert ours == read_from_the_formulas(rewards, 3)


def test_expected_improvement_is_the_mean_of_the_excess_beyond_the_gap():
    alpha, beta = 3.5, 0.2
    for gap in (0.0, 0.05, 0.4):
        beyond = lomax(alpha, scale=beta).expect(lambda x, g=gap: x - g, lb=gap)
        assert expected_improvement(gap, alpha, beta) == pytest.approx(beyond, rel=1e-6)
