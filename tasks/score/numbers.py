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


def padded(value: float, digits: int = 3) -> str:
    """Return a number with `digits` significant digits, zeros included; a dash for none.

    Examples
    --------
    >>> [padded(value) for value in (1, 0.08, 14.04, 1234)]
    ['1.00', '0.0800', '14.0', '1234']
    """
    if not np.isfinite(value) or abs(value) >= 10**digits:
        return short(value, digits + 1)
    return f"{value:#.{digits}g}".rstrip(".").replace("-", "−")


def fixed(value: float, decimals: int = 3) -> str:
    """Return a number on the common scale or a rank: with `decimals` decimals, a dash for none."""
    if not np.isfinite(value):
        return "–"
    if abs(value) >= 1000:
        return short(value, 4)
    return f"{round(value, decimals) + 0.0:.{decimals}f}".replace("-", "−")
