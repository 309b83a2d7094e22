"""Both kernels against the printed formulae, each other, and brute force."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from leaseboard.algorithms.apple.apple import Apple, epoch_ends, expansion_size
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


def chosen(rest, score, size, fallback):
    """Choose as line 6 and section 2.4 do."""
    best = sorted((m for m in rest if score[m] > 0), key=score.get)[::-1][: size - fallback]
    return best + sorted(rest - set(best), key=lambda m: (len(m), m))[:fallback]


def by_the_formulae(x, y, rate, alpha, heuristic, fallback):
    """Learn Algorithm 1 by Vowpal Wabbit's update with its own w, G and N, in float64."""
    d = x.shape[1]
    monomials, parents, steps = [(), *((i,) for i in range(d))], [], []
    w, G, N, residuals, squares = np.zeros((5, d + 1))  # as of `monomials`
    low = high = norm = updates = 0.0
    predictions, nonzeros = [], 0
    for t, (row, label) in enumerate(zip(x.astype(float), y.astype(float), strict=True)):
        if t in epoch_ends(len(y)):
            weight = np.abs(w) * (N if heuristic == "weight" else 1)
            ssm = np.divide(residuals, squares, out=0 * squares, where=squares > 0)
            score = dict(zip(monomials, ssm if heuristic == "ssm" else weight, strict=True))
            rest = set(monomials[1:]) - set(parents)
            steps.append(chosen(rest, score, expansion_size(nonzeros / t, alpha), fallback))
            parents += steps[-1]
            grown = (tuple(sorted((*m, i))) for m in steps[-1] for i in range(d))
            new = [m for m in dict.fromkeys(grown) if m not in score]
            monomials += new
            w, G, N, residuals, squares = (
                np.pad(each, (0, len(new))) for each in (w, G, N, residuals, squares)
            )
        v = np.array([math.prod(row[list(m)]) for m in monomials])
        raw = w @ v
        predictions.append(min(max(raw, low), high))
        nonzeros += np.count_nonzero(v[: d + 1])
        residuals += (predictions[-1] - label) ** 2 * v**2
        squares += v**2
        low, high = min(low, label), max(high, label)
        error = label - min(max(raw, low), high)
        if error:
            larger = np.maximum(N, np.abs(v))
            w *= np.divide(N, larger, out=np.ones_like(w), where=larger > 0)
            N = larger
            G += 4 * error**2 * v**2
            at = np.flatnonzero(v)
            v, scale = v[at], 1 / (np.sqrt(G[at]) * N[at])
            norm += ((v / N[at]) ** 2).sum()
            updates += 1
            mu = math.sqrt(updates / norm)
            ppu = mu * (v**2 * scale).sum()
            w[at] -= error * math.expm1(-2 * rate * ppu) / ppu * mu * v * scale
    return predictions, steps, nonzeros / len(y)


HEURISTICS = ["weight", "raw-weight", "ssm"]


@pytest.mark.parametrize("fallback", [False, True])
@pytest.mark.parametrize("heuristic", HEURISTICS)
@pytest.mark.parametrize("kernel", [PlanLearner, HashedLearner])
def test_kernels_do_what_the_formulae_say(kernel, heuristic, fallback):
    x, y = problem()
    learner = kernel(column_scales(x), 0.3, 16, moments=heuristic == "ssm")
    growth = {"alpha": 0.7, "heuristic": heuristic, "fallback": fallback}

    said, parents = expand(learner, x, y, **growth)

    expected, expected_parents, nonzeros = by_the_formulae(x, y, 0.3, **growth)
    assert parents == expected_parents
    np.testing.assert_allclose(said, expected, rtol=2e-3, atol=5e-4)
    assert learner.mean_nonzeros == nonzeros


@pytest.mark.parametrize("fallback", [False, True])
@pytest.mark.parametrize("heuristic", HEURISTICS)
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
    np.testing.assert_allclose(first, second, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(plan.predict(x), full.predict(x), rtol=1e-3, atol=1e-4)
