"""What the tests of estimators and selections share."""

import numpy as np
import pytest


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.random((3000, 2))
    return X, np.where(X[:, 0] > 0.5, "high", "low")
