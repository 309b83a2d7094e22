"""Numbers as tables and pages show them."""

import numpy as np


def short(value: float, digits: int = 4) -> str:
    """Return a number for a table: `digits` significant digits, a dash for none."""
    if not np.isfinite(value):
        return "–"
    text = f"{value:.{digits}g}"
    if "e" in text and 1e-4 <= abs(value) < 1e9:
        text = f"{value:.0f}"
    return text.replace("-", "−")


def fixed(value: float, decimals: int = 3) -> str:
    """Return a number on the common scale or a rank: with `decimals` decimals, a dash for none."""
    if not np.isfinite(value):
        return "–"
    if abs(value) >= 1000:
        return short(value, 4)
    return f"{round(value, decimals) + 0.0:.{decimals}f}".replace("-", "−")
