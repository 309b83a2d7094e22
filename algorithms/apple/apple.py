"""apple: adaptive polynomial expansion.

Agarwal, Beygelzimer, Hsu, Langford, Telgarsky 2014, Scalable Nonlinear Learning with Adaptive
Polynomial Expansions, https://arxiv.org/abs/1410.0440. Algorithm 1 is `adaptive_expansion`; it
expands at the ends τ_k of a schedule, by the sizes s_k of `expansion_size`. The folklore baselines
of the paper are `Polynomial`: linear, and full expansions of degree two and three.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass as plain_dataclass
from dataclasses import replace
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from pydantic.dataclasses import dataclass
from scipy import sparse

from leaseboard.algorithms.apple.hashed import HashedLearner
from leaseboard.algorithms.apple.learner import (
    GrowingLearner,
    Heuristic,
    Monomial,
    MonomialLearner,
)
from leaseboard.algorithms.apple.plan import PlanLearner
from leaseboard.algorithms.apple.rates import Chunk, Expansion, OnlineLearner
from leaseboard.algorithms.apple.sparse import FullLearner
from leaseboard.algorithms.apple.update import EXAMPLES
from leaseboard.algorithms.environments.holdout import Floats, Rows


def epoch_ends(n_examples: int, epochs: int = 6) -> tuple[int, ...]:
    """Return the ends :math:`τ_k = ⌈n k / K⌉` of the paper's epochs (3.1), equally spaced.

    Each is there once, and before the last example: the features grow at the end of each epoch
    but the last.

    Examples
    --------
    >>> epoch_ends(100)
    (17, 34, 50, 67, 84)
    """
    ends = {-(-n_examples * k // epochs) for k in range(1, epochs)}
    return tuple(sorted(end for end in ends if end < n_examples))


def expansion_size(mean_nonzeros: float, alpha: float) -> int:
    """Return :math:`s_k = ⌊s^α⌋`, at least 1.

    Parameters
    ----------
    mean_nonzeros : float
        s, the average number of non-zero base features of an example so far. It counts the
        constant feature: only then do Tables 2 and 3 of the paper have equal columns where
        they do (three of them for ``skin``, s = 2.95, and not two for ``letter``, s = 15.58).
    alpha : float

    Examples
    --------
    >>> [expansion_size(3.95, alpha) for alpha in (0.5, 0.75, 1.0)]
    [1, 2, 3]
    """
    return max(1, math.floor(math.pow(mean_nonzeros, alpha)))


@plain_dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """Growth of the feature set: when (τ_k), by how much (s_k), and by which monomials."""

    ends: tuple[int, ...]
    alpha: float = 1.0
    heuristic: Heuristic = "weight"
    fallback: bool = False

    def parents(self, learner: GrowingLearner) -> list[Monomial]:
        """Return M_k of line 6."""
        s_k = expansion_size(learner.mean_nonzeros, self.alpha)
        return learner.choose(s_k, self.heuristic, fallback=self.fallback)


def adaptive_expansion(
    learner: GrowingLearner,
    rows: Rows,
    labels: Floats,
    growth: Growth,
    weights: Floats | None = None,
) -> Iterator[Chunk]:
    """Run algorithm 1 over some examples, which may have `weights`; line 1 is a new `learner`.

    ========  =======================================================
    symbol    here
    ========  =======================================================
    t, τ_k    examples learned so far, the end of the present epoch
    w_t, S_k  kept by `learner`
    s_k       `growth.alpha` and the learner's mean number of non-zeros
    M_k       `parents`
    P_k       marked in the learner's slots
    ========  =======================================================

    Yields
    ------
    Chunk
        The examples up to the end of an epoch: their predictions, made before each was learned,
        and the expansion that followed. A further call with the same learner continues it.

    Notes
    -----
    Departs from the paper: a monomial whose weight is 0 is never chosen, because it was never
    seen and line 6 does not say which of many such should be.
    """
    before = int(learner.totals[EXAMPLES])
    done = 0
    while done < len(labels):  # line 2
        tau = next((end for end in growth.ends if end > before + done), None)
        stop = len(labels) if tau is None else min(tau - before, len(labels))
        part = slice(done, stop)
        heavy = None if weights is None else weights[part]
        predictions = learner.learn(rows[part], labels[part], heavy)  # lines 3 and 4
        done = stop
        expansion = None
        if before + done == tau:  # line 5
            parents = growth.parents(learner)  # line 6
            learner.expand(parents)  # lines 7 and 8
            expansion = Expansion(tuple(parents), learner.size, learner.max_degree)
        yield Chunk(predictions, expansion)


@dataclass(frozen=True, kw_only=True)
class Apple(OnlineLearner):
    """Adaptive polynomial expansion: monomials grown from those with the largest weights.

    Good where interactions matter and a full quadratic expansion costs too much.

    Parameters
    ----------
    alpha : float
        α: each epoch makes :math:`s^α` monomials parents, s the average number of non-zero
        features of an example, the constant counted.
    epochs : int
        Epochs of the first pass; the features grow at the end of each but the last. Further
        passes learn with frozen parents.
    heuristic : {"weight", "raw-weight", "ssm"}
        What orders the candidates. ``weight`` is :math:`|w_m| N_m` with the largest magnitude
        N_m of the monomial; ``raw-weight`` is :math:`|w_m|`; ``ssm`` is section 2.3's estimate
        of :math:`E[r^2 m^2] / E[m^2]`.
    fallback : bool
        Section 2.4: the last of the s_k places goes to a monomial of the smallest degree, so
        that every monomial is reached in the end.

    Notes
    -----
    Departs from the paper: line 6 orders by weight magnitude, the default here by magnitude
    times the monomial's largest value, because that is what the authors' implementation does
    (`raw-weight` is the line as printed; on the paper's sets the two differ little).

    The tables 2 and 3 of the paper head the apple columns in reverse: the one headed "(1)" is
    α = 0.125.

    Examples
    --------
    >>> from leaseboard.algorithms.testing import parity
    >>> from leaseboard.algorithms.base import play
    >>> env = parity(rows=2000, order=2)
    >>> events = list(play("apple", Apple(alpha=0.5), env, 0))
    >>> events[-1].score
    0.0
    """

    alpha: Annotated[float, Field(ge=0, le=2)] = 1.0
    epochs: Annotated[int, Field(ge=1, le=100)] = 6
    heuristic: Heuristic = "weight"
    fallback: bool = False

    def learner(self, rows: Rows, rate: float) -> GrowingLearner:
        """Return the plan where every monomial that the epochs can add fits into 2^bits."""
        d = rows.shape[1]
        most = d * (1 + (self.epochs - 1) * expansion_size(d + 1, self.alpha))
        learning = replace(self.learning(rate), moments=self.heuristic == "ssm")
        kernel = PlanLearner if self.takes_plan(rows, most) else HashedLearner
        return kernel(d, learning)

    def growth(self, n_examples: int) -> Growth:
        """Return when and how the features grow on so many examples."""
        return Growth(
            ends=epoch_ends(n_examples, self.epochs),
            alpha=self.alpha,
            heuristic=self.heuristic,
            fallback=self.fallback,
        )

    def chunks(
        self, learner: MonomialLearner, rows: Rows, labels: Floats, n_first_pass: int
    ) -> Iterator[Chunk]:
        """Run algorithm 1."""
        assert isinstance(learner, GrowingLearner)
        return adaptive_expansion(learner, rows, labels, self.growth(n_first_pass))


@dataclass(frozen=True, kw_only=True)
class Polynomial(OnlineLearner):
    """All monomials up to a degree: linear, quadratic, cubic.

    The same update, plan and table as `apple`, without its choice: every monomial is there from
    the first example.

    Parameters
    ----------
    degree : int

    Notes
    -----
    The paper gives `cubic` a table of 2^24 and all others 2^18; the registered name does too.
    As in VW, the square of an indicator is the indicator, and not another feature; VW decides
    that by the value 1 in an example, we by a column of zeros and ones.
    """

    degree: Annotated[int, Field(ge=1, le=8)] = 1

    def learner(self, rows: Rows, rate: float) -> MonomialLearner:
        """Return a learner that is expanded in full."""
        d = rows.shape[1]
        learning, indicators = self.learning(rate), indicator_columns(rows)
        if self.takes_plan(rows, math.comb(d + self.degree, self.degree)):
            plan = PlanLearner(d, learning)
            plan.expand_all(self.degree, indicators)
            return plan
        return FullLearner(d, learning, self.degree, indicators)

    def chunks(
        self, learner: MonomialLearner, rows: Rows, labels: Floats, n_first_pass: int
    ) -> Iterator[Chunk]:
        """Learn with the features unchanged."""
        yield Chunk(learner.learn(rows, labels))


def indicator_columns(rows: Rows) -> NDArray[np.bool_]:
    """Return the columns that hold nothing but 0 and 1.

    Examples
    --------
    >>> indicator_columns(np.array([[0, 1, 2], [1, 1, 0]], dtype=np.float32))
    array([ True,  True, False])
    """
    if not sparse.issparse(rows):
        return np.asarray(((rows == 0) | (rows == 1)).all(axis=0))
    other = np.zeros(rows.shape[1], dtype=np.bool_)
    other[rows.indices[(rows.data != 0) & (rows.data != 1)]] = True
    return ~other
