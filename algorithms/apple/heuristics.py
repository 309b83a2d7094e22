"""Which monomials become parents: the scores of line 6 and section 2.3, and the fall-back."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

Heuristic = Literal["weight", "raw-weight", "ssm"]


def ssm_score(
    residual_moment: NDArray[np.float64], moment: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Section 2.3: the estimate of :math:`E[r^2 m^2] / E[m^2]`; 0 where m was never non-zero.

    Parameters
    ----------
    residual_moment, moment : ndarray of float64, shape (n_monomials,)
        :math:`Σ_t (p_t - y_t)^2 m(x_t)^2` and :math:`Σ_t m(x_t)^2` since training began, p
        made before the update, as the authors' own implementation had it.

    Examples
    --------
    >>> ssm_score(np.array([2.0, 0.0]), np.array([4.0, 0.0]))
    array([0.5, 0. ])
    """
    return np.divide(residual_moment, moment, out=np.zeros_like(residual_moment), where=moment > 0)


def top(scores: NDArray[np.float64], keys: NDArray[np.uint64], size: int) -> NDArray[np.intp]:
    """Places of the `size` highest positive scores, best first; equal scores go by key.

    A monomial of score 0 is never chosen: it has not been seen.

    Examples
    --------
    >>> top(np.array([0.0, 3.0, 5.0, 3.0]), np.array([1, 9, 2, 4], dtype=np.uint64), 2)
    array([2, 3])
    """
    places = np.flatnonzero(scores > 0)
    if len(places) > size > 0:
        least = np.partition(scores[places], len(places) - size)[len(places) - size]
        places = places[scores[places] >= least]
    order = np.lexsort((keys[places], -scores[places]))
    return places[order][:size]
