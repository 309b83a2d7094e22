"""Labels that are a product of signs."""

from leaseboard.algorithms import seeds
from leaseboard.algorithms.environments.holdout import Holdout, HoldoutEnvironment, Part


def parity(rows=2000, variables=10, order=3, seed=0, passes=1):
    """Return random signs; the label is the product of the first `order` of them.

    Parameters
    ----------
    rows : int
        Training rows; a quarter as many are added for the test.
    variables, order, seed, passes : int
    """
    signs = seeds.generator(seed, "parity").integers(0, 2, (rows + rows // 4, variables))
    x = (2 * signs - 1).astype("float32")
    y = x[:, :order].prod(axis=1)
    train, test = Part(x[:rows], y[:rows]), Part(x[rows:], y[rows:])
    names = tuple(f"x{i + 1}" for i in range(variables))
    return HoldoutEnvironment(Holdout(train, test, names, "classification"), seed, passes)
