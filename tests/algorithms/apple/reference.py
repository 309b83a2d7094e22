"""apple's learner as the formulae are printed, over dictionaries: slow, and what is meant.

The kernels keep a scale-free state in float32; this one has VW's own w, G and N of each
monomial in float64. Tests hold the kernels to it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import numpy as np

from leaseboard.algorithms.apple.kernel import EMITTED, EXAMPLES, NONZEROS
from leaseboard.algorithms.apple.learner import GrowingLearner, Heuristic, Monomial
from leaseboard.algorithms.apple.rows import Examples
from leaseboard.algorithms.arrays import Floats
from leaseboard.algorithms.environments.holdout import Rows

CONSTANT: Monomial = ()


class ReferenceLearner(GrowingLearner):
    """S_k and P_k as sets; takes the place of a learner in `Apple.chunks`: a slot is a monomial.

    Attributes
    ----------
    S, P : set of Monomial
        The feature set, the constant left out, and the parents.
    w, G, N : dict
        Weight, sum of squared gradients, and largest magnitude of each monomial seen.
    """

    def __init__(self, n_variables: int, learning_rate: float = 0.5) -> None:
        self.n_variables = n_variables
        self.eta = learning_rate
        self.S: set[Monomial] = {(i,) for i in range(n_variables)}
        self.P: set[Monomial] = set()
        self.w: dict[Monomial, float] = {}
        self.G: dict[Monomial, float] = {}
        self.N: dict[Monomial, float] = {}
        self.residual_moments: dict[Monomial, float] = {}
        self.square_moments: dict[Monomial, float] = {}
        self.low = self.high = 0.0
        self.steps, self.norm = 0.0, 0.0
        self.totals = np.zeros(8)

    def values(self, x: Floats) -> dict[Monomial, float]:
        """Return the non-zero monomials of S_k at `x`, and the constant."""
        all_values = {m: math.prod(float(x[i]) for i in m) for m in self.S}
        return {CONSTANT: 1.0, **{m: value for m, value in all_values.items() if value}}

    def predict(self, rows: Rows) -> Floats:
        """Return predictions without learning."""
        return np.array([self._clamped(self._raw(self.values(x))) for x in rows], np.float32)

    def learn(self, examples: Examples, target: int = 0) -> Floats:
        """Learn as lines 3 and 4 do, with VW's update."""
        out = []
        for x, label in zip(examples.rows, examples.targets[target], strict=True):
            y, m = float(label), self.values(x)
            p = self._raw(m)
            out.append(self._clamped(p))
            self._note(x, m, out[-1] - y)
            self.low, self.high = min(self.low, y), max(self.high, y)
            if self._clamped(p) != y:
                self._rescale(m)
                self._update(m, self._clamped(p), y)
        return np.array(out, dtype=np.float32)

    def choose(self, size: int, heuristic: Heuristic, *, fallback: bool = False) -> list[Monomial]:
        """Choose as line 6 does; equal scores go in the order of the variables."""
        rest = sorted(self.S - self.P)
        scores = {m: self._score(m, heuristic) for m in rest}
        by_score = sorted((m for m in rest if scores[m] > 0), key=lambda m: -scores[m])
        chosen = by_score[: size - 1 if fallback else size]
        if fallback:
            chosen.append(min(set(rest) - set(chosen), key=lambda m: (len(m), m)))
        return chosen

    def monomial(self, slot: Monomial) -> Monomial:
        """Return the monomial itself."""
        return slot

    def expand(self, parents: Iterable[Monomial]) -> None:
        """Expand as line 7 does."""
        for m in parents:
            self.P.add(m)
            self.S |= {tuple(sorted((*m, i))) for i in range(self.n_variables)}

    slots = slot_of = places_of = _expander = None

    @property
    def size(self) -> int:
        """Return |S_k|."""
        return len(self.S)

    @property
    def max_degree(self) -> int:
        """Return the highest degree in S_k."""
        return max(len(m) for m in self.S)

    @property
    def mean_nonzeros(self) -> float:
        """Return s, the constant counted."""
        return float(self.totals[NONZEROS] / self.totals[EXAMPLES])

    def _raw(self, m: Mapping[Monomial, float]) -> float:
        return sum(self.w.get(key, 0.0) * value for key, value in m.items())

    def _clamped(self, p: float) -> float:
        return min(max(p, self.low), self.high)

    def _note(self, x: Floats, m: Mapping[Monomial, float], residual: float) -> None:
        self.totals[EXAMPLES] += 1
        self.totals[NONZEROS] += 1 + np.count_nonzero(x)
        self.totals[EMITTED] += len(m)
        for key, value in m.items():
            moment = self.residual_moments.get(key, 0.0)
            self.residual_moments[key] = moment + residual**2 * value**2
            self.square_moments[key] = self.square_moments.get(key, 0.0) + value**2

    def _rescale(self, m: Mapping[Monomial, float]) -> None:
        """Shrink the weight by a new largest magnitude."""
        for key, value in m.items():
            known = self.N.get(key, 0.0)
            if abs(value) > known:
                self.w[key] = self.w.get(key, 0.0) * known / abs(value)
                self.N[key] = abs(value)

    def _update(self, m: Mapping[Monomial, float], p: float, y: float) -> None:
        """Apply G += g² x², then w += update * x / (sqrt(G) N)."""
        rate = {}
        for key, value in m.items():
            self.G[key] = self.G.get(key, 0.0) + 4 * (p - y) ** 2 * value**2
            rate[key] = 1 / (math.sqrt(self.G[key]) * self.N[key])
        self.norm += sum(value**2 / self.N[key] ** 2 for key, value in m.items())
        self.steps += 1
        mu = math.sqrt(self.steps / self.norm)
        ppu = mu * sum(value**2 * rate[key] for key, value in m.items())
        if self.eta * ppu < 1e-6:
            step = 2 * self.eta * (y - p)
        else:
            step = (y - p) * (1 - math.exp(-2 * self.eta * ppu)) / ppu
        for key, value in m.items():
            self.w[key] = self.w.get(key, 0.0) + step * mu * value * rate[key]

    def _score(self, m: Monomial, heuristic: Heuristic) -> float:
        if heuristic == "ssm":
            moment = self.square_moments.get(m, 0.0)
            return self.residual_moments[m] / moment if moment else 0.0
        weight = abs(self.w.get(m, 0.0))
        return weight if heuristic == "raw-weight" else weight * self.N.get(m, 0.0)
