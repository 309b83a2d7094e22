"""ChaCha's loss proxy and its sample complexity bounds, equations 1 to 3, as free functions.

| here | paper |
| --- | --- |
| ``n`` | |D_{c,t}|, examples that c has learned since it was fresh |
| ``dimension`` | d_c, features that c induces |
| ``n_candidates`` | |S_t| |
| ``delta`` | δ |
| ``coefficient * value_range`` | a, a constant related to the bound of the loss (appendix A.2) |
| ``lower``, ``upper`` | L̲_{c,t} and L̄_{c,t} |

All are compiled, so that both engines decide by the same machine code.
"""

from __future__ import annotations

import math

from numba import njit


@njit(cache=True, error_model="numpy")
def clipped_absolute_error(prediction: float, label: float, low: float, high: float) -> float:
    """Absolute error of the prediction mapped into the range of labels seen (appendix A.2)."""
    return abs(label - min(max(prediction, low), high))


@njit(cache=True, error_model="numpy")
def updated_mean(mean: float, n: float, value: float) -> float:
    """The mean of ``n + 1`` losses: progressive validation loss after one more example."""
    return mean * (n / (n + 1.0)) + value / (n + 1.0)


@njit(cache=True, error_model="numpy")
def epsilon_paper(
    n: float,
    dimension: float,
    n_candidates: float,
    delta: float,
    coefficient: float,
    value_range: float,
) -> float:
    """Equation 1 as appendix A.2 states it: ``a sqrt(d_c ln(n |S| / δ) / n)``."""
    a = coefficient * value_range
    return a * math.sqrt(dimension * math.log(n * n_candidates / delta) / n)


@njit(cache=True, error_model="numpy")
def epsilon_flaml(
    n: float, dimension: float, delta: float, coefficient: float, value_range: float
) -> float:
    """Equation 1 as the authors programmed it: ``a sqrt(d_c) sqrt(log10(n / δ) / n)``."""
    a = coefficient * value_range
    return a * math.sqrt(dimension) * math.sqrt(math.log10(n / delta) / n)


@njit(cache=True, error_model="numpy")
def better(challenger_upper: float, champion_lower: float, champion_epsilon: float) -> bool:
    """Equation 2: the challenger is better than the champion by a margin of ε_{C,t}."""
    return challenger_upper < champion_lower - champion_epsilon


@njit(cache=True, error_model="numpy")
def worse(
    challenger_lower: float, challenger_epsilon: float, champion_upper: float, margin: float
) -> bool:
    """Equation 3: the challenger is worse than the champion.

    The paper has ``margin`` 0; the authors' evaluation asked for 1 more ε_{c,t}.
    """
    return challenger_lower - margin * challenger_epsilon > champion_upper
