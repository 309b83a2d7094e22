"""A small problem that no linear model solves, for examples and tests."""

from __future__ import annotations

import numpy as np

from leaseboard.algorithms import seeds
from leaseboard.algorithms.benches.holdout import Holdout, HoldoutBench, Part


def parity(rows: int = 2000, variables: int = 10, order: int = 3, seed: int = 0) -> HoldoutBench:
    """Random signs; the label is the product of the first `order` of them.

    Parameters
    ----------
    rows : int
        Training rows; a quarter as many are added for the test.
    variables, order, seed : int
    """
    signs = seeds.generator(seed, "parity").integers(0, 2, (rows + rows // 4, variables))
    x = (2 * signs - 1).astype(np.float32)
    y = x[:, :order].prod(axis=1)
    train, test = Part(x[:rows], y[:rows]), Part(x[rows:], y[rows:])
    names = tuple(f"x{i + 1}" for i in range(variables))
    return HoldoutBench(Holdout(train, test, names, "classification"), seed)
