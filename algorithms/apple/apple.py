"""apple: adaptive polynomial expansion.

Agarwal, Beygelzimer, Hsu, Langford, Telgarsky 2014, Scalable Nonlinear Learning with Adaptive
Polynomial Expansions, https://arxiv.org/abs/1410.0440. Algorithm 1 is `Apple.chunks`; it
expands at the ends τ_k of a schedule, by the sizes s_k of `expansion_size`. The folklore baselines
of the paper are `Polynomial`: linear, and full expansions of degree two and three.
"""

import math
from collections.abc import Iterator
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from pydantic.dataclasses import dataclass
from scipy import sparse

from leaseboard.algorithms.apple.kernel import EXAMPLES
from leaseboard.algorithms.apple.learner import (
    FullLearner,
    GrowingLearner,
    HashedLearner,
    Heuristic,
    MonomialLearner,
    PlanLearner,
    learned,
)
from leaseboard.algorithms.apple.rates import Chunk, Learners, OnlineLearner
from leaseboard.algorithms.apple.rows import Examples
from leaseboard.algorithms.environments.holdout import Rows


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
    >>> from leaseboard.algorithms.testing import tiny_environment
    >>> from leaseboard.algorithms.base import play
    >>> events = list(play("apple", Apple(alpha=0.5), tiny_environment("holdout"), 0))
    >>> round(events[-1].score, 3)
    0.035
    """

    alpha: Annotated[float, Field(ge=0, le=2)] = 1.0
    epochs: Annotated[int, Field(ge=1, le=100)] = 6
    heuristic: Heuristic = "weight"
    fallback: bool = False

    def learner(self, examples: Examples, rate: float) -> GrowingLearner:
        """Return the plan where every monomial that the epochs can add fits into 2^bits."""
        d = len(examples.scale)
        most = d * (1 + (self.epochs - 1) * expansion_size(d + 1, self.alpha))
        kind = PlanLearner if self.takes_plan(examples, most) else HashedLearner
        return kind(examples.scale, rate, self.bits, moments=self.heuristic == "ssm")

    def chunks(self, learners: Learners, examples: Examples, n_first_pass: int) -> Iterator[Chunk]:
        """Run algorithm 1 over some examples for each target; line 1 is a new learner.

        ========  =======================================================
        symbol    here
        ========  =======================================================
        t, τ_k    examples learned so far, the end of the present epoch
        w_t, S_k  kept by a learner
        s_k       `expansion_size`
        M_k       `chosen`
        P_k       marked in the learner's slots
        ========  =======================================================

        Yields
        ------
        Chunk
            The examples up to the end of an epoch. A further call with the same learners
            continues it.

        Notes
        -----
        Departs from the paper: a monomial whose weight is 0 is never chosen, because it was never
        seen and line 6 does not say which of many such should be.
        """
        ends = epoch_ends(n_first_pass, self.epochs)
        t, done = int(learners[0].totals[EXAMPLES]), 0
        while done < len(examples):  # line 2
            tau = next((end for end in ends if end > t), None)
            part = examples.at(slice(done, tau and done + tau - t))
            predictions, expansions = learned(learners, part), []  # lines 3 and 4
            done, t = done + len(part), t + len(part)
            for learner in learners if t == tau else ():  # line 5
                assert isinstance(learner, GrowingLearner)
                s_k = expansion_size(learner.mean_nonzeros, self.alpha)
                chosen = learner.choose(s_k, self.heuristic, fallback=self.fallback)  # line 6
                expansions.append([learner.monomial(slot) for slot in chosen])
                learner.expand(chosen)  # lines 7 and 8
            yield part, predictions, expansions


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

    def learner(self, examples: Examples, rate: float) -> MonomialLearner:
        """Return a learner that is expanded in full."""
        scale, indicators = examples.scale, indicator_columns(examples.rows)
        if self.takes_plan(examples, math.comb(len(scale) + self.degree, self.degree)):
            plan = PlanLearner(scale, rate)
            plan.expand_all(self.degree, indicators)
            return plan
        return FullLearner(scale, rate, self.bits, self.degree, indicators)

    def chunks(self, learners: Learners, examples: Examples, n_first_pass: int) -> Iterator[Chunk]:
        """Learn with the features unchanged."""
        yield examples, learned(learners, examples), []


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
