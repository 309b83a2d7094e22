"""A dataset of the plugin."""

import numpy as np
import pandas as pd


def two_regimes() -> pd.DataFrame:
    """Return a linear target whose coefficients change in the middle of the rows."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2000, 8))
    first, second = rng.normal(size=8), rng.normal(size=8)
    later = np.arange(2000)[:, None] >= 1000
    target = np.where(later, second, first) * x
    columns = {f"x{number}": x[:, number] for number in range(8)}
    return pd.DataFrame({**columns, "y": target.sum(axis=1) + rng.normal(size=2000)})
