"""A table as people have them, and one with something wrong in it."""

import numpy as np
import pandas as pd


def sales(n=300, seed=0):
    """Return numbers, a text, a date, gaps: a table as people have them."""
    random = np.random.default_rng(seed)
    frame = pd.DataFrame({
        "price": random.normal(size=n).round(3),
        "rain": np.where(random.random(n) < 0.1, np.nan, random.random(n).round(2)),
        "shop": random.choice(["012", "034"], n),
        "day": pd.date_range("2025-12-01", periods=n, freq="D"),
    })  # fmt: skip
    busy = 3 * frame["price"] + 2 * (frame["shop"] == "012") + (np.arange(n) % 7 > 4)
    return frame.assign(sold=(busy + 0.1 * random.normal(size=n) + 10).round(3))


def wrong(frame, **columns):
    frame = frame.astype(object)
    for name, (row, value) in columns.items():
        frame.loc[row, name] = value
    return frame
