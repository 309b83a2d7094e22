"""The folklore baselines of the paper: linear, and full expansions of degree two and three."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from pydantic.dataclasses import dataclass
from scipy import sparse

from leaseboard.algorithms.apple.learner import MonomialLearner
from leaseboard.algorithms.apple.plan import PlanLearner
from leaseboard.algorithms.apple.rates import Chunk, OnlineLearner
from leaseboard.algorithms.apple.sparse import FullLearner
from leaseboard.algorithms.benches.holdout import Floats, Rows


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
        """A learner that is expanded in full."""
        d = rows.shape[1]
        learning, indicators = self.learning(rate), indicator_columns(rows)
        if self.takes_plan(rows, math.comb(d + self.degree, self.degree)):
            plan = PlanLearner(d, learning)
            plan.expand_all(self.degree, indicators)
            return plan
        return FullLearner(d, learning, self.degree, indicators)

    def chunks(
        self,
        learner: MonomialLearner,
        rows: Rows,
        labels: Floats,
        n_first_pass: int,
    ) -> Iterator[Chunk]:
        """Learn with the features as they are."""
        yield Chunk(learner.learn(rows, labels))


def indicator_columns(rows: Rows) -> NDArray[np.bool_]:
    """The columns that hold nothing but 0 and 1.

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
