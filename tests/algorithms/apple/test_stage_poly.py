"""Vowpal Wabbit as the oracle: the same losses where the algorithms are the same."""

import numpy as np
import pytest
from scipy import sparse

from leaseboard.algorithms.apple.apple import Polynomial
from leaseboard.algorithms.apple.parallel import lines
from leaseboard.algorithms.apple.rows import Examples
from leaseboard.algorithms.environments.holdout import Holdout, HoldoutEnvironment, Part


def regression(n=1500, d=6, seed=0, density=0.8):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-3, 4, d)
    x = (x * (rng.random((n, d)) < density)).astype(np.float32)
    scaled = x / np.abs(x).max(axis=0)
    y = (3 * scaled[:, 0] + 9 * scaled[:, 1] * scaled[:, 2] + rng.normal(size=n) * 0.2).astype(
        "f4"
    )
    parts = (Part(x[: n - 300], y[: n - 300]), Part(x[n - 300 :], y[n - 300 :]))
    return HoldoutEnvironment(Holdout(*parts, tuple(f"x{i}" for i in range(d))))


@pytest.mark.parametrize("rate", [0.05, 0.5, 4.0])
@pytest.mark.parametrize("kernel", ["plan", "hashed"])
def test_linear_predictions_are_vws(kernel, rate):
    from vowpalwabbit import Workspace

    env = regression()
    train = env.holdout.train
    vw = Workspace(f"--quiet -l {rate}")
    expected = []
    for line in lines(train.rows, train.labels):
        expected.append(vw.predict(line))
        vw.learn(line)
    tested = [vw.predict(line) for line in lines(env.holdout.test.rows)]
    vw.finish()
    form = np.asarray if kernel == "plan" else sparse.csr_array
    examples = Examples(form(train.rows), train.labels[None])
    learner = Polynomial().learner(examples, rate)

    np.testing.assert_allclose(learner.learn(examples), expected, atol=2e-4)
    np.testing.assert_allclose(learner.predict(env.holdout.test.rows), tested, atol=2e-4)
