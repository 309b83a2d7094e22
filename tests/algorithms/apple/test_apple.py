"""apple as a Leaseboard algorithm: its events, its rates, its fall-back, and bad input."""

from functools import partial

import numpy as np
import pytest
from scipy import sparse

from leaseboard.algorithms import seeds
from leaseboard.algorithms.apple.apple import Apple
from leaseboard.algorithms.environments.holdout import Holdout, HoldoutEnvironment, Part
from tests.algorithms.played import audited


def env(x, y, test=None, **options):
    train, held_out = Part(x, y), Part(*(test or (x, y)))
    names = tuple(f"x{i + 1}" for i in range(x.shape[1]))
    return HoldoutEnvironment(Holdout(train, held_out, names), **options)


run = partial(audited, "apple")


def parity(seed, rows=20_000, variables=10, order=3):
    """Return random signs; the label is the product of the first `order` of them."""
    signs = seeds.generator(seed, "parity").integers(0, 2, (rows + rows // 4, variables))
    x = (2 * signs - 1).astype("float32")
    y = x[:, :order].prod(axis=1)
    train, test = Part(x[:rows], y[:rows]), Part(x[rows:], y[rows:])
    names = tuple(f"x{i + 1}" for i in range(variables))
    return HoldoutEnvironment(Holdout(train, test, names, "classification"))


def test_fallback_finds_parity_where_the_weights_do_not():
    settings = {"alpha": 0.29, "epochs": 40, "learning_rate": 0.5}  # two parents an epoch

    plain, safe = (
        [run(Apple(fallback=f, **settings), parity(s))[-1].score for s in range(2)]
        for f in (False, True)
    )

    assert min(plain) > 0.4
    assert safe == [0, 0]


@pytest.mark.parametrize("kernel", ["plan", "hashed"])
@pytest.mark.parametrize("unit", [1e30, 1e-30])
def test_powers_that_leave_float32_are_learned_all_the_same(kernel, unit):
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (3000, 3))
    y = (x[:, 0] * x[:, 1] * x[:, 2]).astype(np.float32)
    huge, usual = ((x * scale).astype(np.float32) for scale in (unit, 1))

    form = np.asarray if kernel == "plan" else sparse.csr_array
    scores = [run(Apple(), env(form(rows), y))[-1].score for rows in (huge, usual)]

    assert scores[0] == pytest.approx(scores[1], rel=1e-3)
