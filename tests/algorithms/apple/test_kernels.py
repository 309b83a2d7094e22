"""Both kernels against each other, and full expansions against brute force."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from leaseboard.algorithms.apple.apple import Apple
from leaseboard.algorithms.apple.kernel import DROPPED, EMITTED
from leaseboard.algorithms.apple.learner import FullLearner, HashedLearner, PlanLearner
from leaseboard.algorithms.apple.rows import Examples, column_scales


def problem(n=240, d=5, seed=0, density=0.7):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-2, 3, d)
    x = (x * (rng.random((n, d)) < density)).astype(np.float32)
    scaled = x / np.abs(x).max(axis=0)
    y = 3 * scaled[:, 0] + 5 * scaled[:, 1] * scaled[:, 2] - scaled[:, 3] ** 2
    return x, (y + 0.1 * rng.normal(size=n)).astype(np.float32)


def expand(learner, x, y, **growth):
    chunks = list(Apple(**growth).chunks((learner,), examples(x, y), len(y)))
    parents = [parents[0] for _, _, parents in chunks if parents]
    return np.concatenate([said[:, 0] for _, said, _ in chunks]), parents


def examples(x, y):
    return Examples(x, y[None])


@pytest.mark.parametrize("fallback", [False, True])
@pytest.mark.parametrize("heuristic", ["weight", "raw-weight", "ssm"])
@settings(max_examples=4, deadline=None)
@given(st.integers(0, 10_000), st.floats(0.0, 1.2), st.integers(1, 8))
def test_kernels_agree_where_nothing_collides(heuristic, fallback, seed, alpha, epochs):
    x, y = problem(n=60, d=4, seed=seed)
    moments = heuristic == "ssm"
    plan, hashed = (
        K(column_scales(x), 0.5, 22, moments=moments) for K in (PlanLearner, HashedLearner)
    )
    growth = {"alpha": alpha, "epochs": epochs, "heuristic": heuristic, "fallback": fallback}

    first, first_parents = expand(plan, x, y, **growth)
    second, second_parents = expand(hashed, sparse.csr_array(x), y, **growth)

    assert hashed.totals[DROPPED] == 0
    assert plan.totals[EMITTED] == hashed.totals[EMITTED]
    assert plan.mean_nonzeros == hashed.mean_nonzeros
    assert first_parents == second_parents
    np.testing.assert_allclose(first, second, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("degree", [1, 2, 3, 4])
def test_full_expansions_hold_every_monomial_once(degree):
    x, y = problem(n=80, d=4, density=0.8)
    x[:, 3] = x[:, 3] != 0
    indicators = np.array([False, False, False, True])
    plan = PlanLearner(column_scales(x), 0.5)
    plan.expand_all(degree, indicators)
    full = FullLearner(column_scales(x), 0.5, 22, degree, indicators)

    first, second = plan.learn(examples(x, y)), full.learn(examples(sparse.csr_array(x), y))

    everything = {
        m
        for length in range(1, degree + 1)
        for m in itertools.combinations_with_replacement(range(4), length)
        if m.count(3) < 2
    }
    assert {plan.monomial(slot) for slot in plan.slots()} == everything
    assert plan.size == full.size == len(everything)
    assert plan.max_degree == full.max_degree == degree
    assert plan.totals[EMITTED] == full.totals[EMITTED]
    np.testing.assert_allclose(first, second, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(plan.predict(x), full.predict(x), rtol=1e-3, atol=1e-4)
