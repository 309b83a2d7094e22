"""Both kernels against the readable learner, against brute force, and against each other."""

from __future__ import annotations

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
from tests.algorithms.apple.reference import ReferenceLearner

KERNELS = {"plan": PlanLearner, "hashed": HashedLearner}


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


@pytest.mark.parametrize("kernel", KERNELS)
def test_kernels_do_what_the_readable_learner_does(kernel):
    x, y = problem()
    for heuristic, fallback in itertools.product(("weight", "raw-weight", "ssm"), (False, True)):
        growth = {"alpha": 0.7, "heuristic": heuristic, "fallback": fallback}
        readable = ReferenceLearner(x.shape[1], learning_rate=0.3)
        learner = KERNELS[kernel](column_scales(x), 0.3, 16, moments=heuristic == "ssm")

        expected, expected_parents = expand(readable, x, y, **growth)
        actual, parents = expand(learner, x, y, **growth)

        assert parents == expected_parents
        np.testing.assert_allclose(actual, expected, rtol=2e-3, atol=5e-4)
        np.testing.assert_allclose(learner.predict(x), readable.predict(x), rtol=2e-3, atol=5e-4)
        assert learner.mean_nonzeros == readable.mean_nonzeros
        assert learner.totals[EMITTED] == readable.totals[EMITTED]


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10_000), st.floats(0.0, 1.2), st.integers(1, 8))
def test_kernels_agree_where_nothing_collides(seed, alpha, epochs):
    x, y = problem(n=60, d=4, seed=seed)
    plan, hashed = (K(column_scales(x), 0.5, 22) for K in KERNELS.values())

    first, first_parents = expand(plan, x, y, alpha=alpha, epochs=epochs)
    second, second_parents = expand(hashed, sparse.csr_array(x), y, alpha=alpha, epochs=epochs)

    assert hashed.totals[DROPPED] == 0
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
