"""Three and more classes: a learner for each, which tells its class from all others.

Each learner grows its own features. The monomials that tell one class from the rest tell another
one little, so that shared ones would have to be as many as all classes need together, and every
class would learn the others' as well. What sharing would save is the product that makes a feature,
one multiplication of the dozen that its update takes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, Union

import numpy as np
from numpy.typing import NDArray

from leaseboard.algorithms.benches.holdout import Floats, Rows

if TYPE_CHECKING:  # its kernels bring a compiler, which naming classes does not need
    from leaseboard.algorithms.apple.learner import MonomialLearner

Targets: TypeAlias = Floats
"""What is learned, a row for each learner, shape (n_targets, n_examples)."""


def targets_of(labels: NDArray[Any], n_classes: int = 0) -> Targets:
    """The labels as they are; of three and more classes 1 for each class's own, -1 for others.

    Examples
    --------
    >>> targets_of(np.float32([2, 0, 1]), 3).tolist()
    [[-1.0, 1.0, -1.0], [-1.0, -1.0, 1.0], [1.0, -1.0, -1.0]]
    >>> targets_of(np.float32([0.5, 3])).tolist()
    [[0.5, 3.0]]
    """
    if not n_classes:
        return np.asarray(labels, dtype=np.float32)[None, :]
    own = np.arange(n_classes)[:, None] == labels
    return np.where(own, np.float32(1), np.float32(-1))


class ClassLearners:
    """The learners of all classes as one model, in the order of the classes."""

    def __init__(self, learners: Sequence[MonomialLearner]) -> None:
        self.learners = tuple(learners)
        if not self.learners:
            raise ValueError("no learners: there is one for each class")

    def predict(self, rows: Rows) -> Floats:
        """What each class's learner says, shape (n_examples, n_classes); the largest wins."""
        return np.column_stack([learner.predict(rows) for learner in self.learners])


Model: TypeAlias = Union["MonomialLearner", ClassLearners]


def model_of(learners: Sequence[MonomialLearner]) -> Model:
    """One learner is itself the model."""
    return learners[0] if len(learners) == 1 else ClassLearners(learners)
