"""The way of examples through expansion, models, mixture, members and intervals.

Blocks and single examples take the same steps. Where one example is predicted and then learned,
what its prediction computed is not computed again.
"""

import numpy as np

from leaseboard.algorithms.online.placement cimport place, take_one
from leaseboard.algorithms.online_automl.safe.selected cimport FARTHEST


cdef class Passes:
    """All that an ensemble knows, and how a block goes through it.

    Parameters
    ----------
    models : KernelModels
    classes : bool
        The labels are -1 and 1, and what is predicted are log odds of the second class.
    intervals : Intervals or None
    """

    def __init__(self, models, bint classes, intervals):
        self.models, self.slots, self.loss = models, models.pool, models.loss
        self.classes, self.intervals = classes, intervals

    @property
    def is_narrow(self):
        """Whether features are not selected, so that all of an example is one compiled call."""
        return self.expansion._memory.shape[0] == 0

    def forget_look(self):
        """Let nothing that was computed for the last prediction be used to learn its label."""
        self.looked = None

    def learn(self, examples, labels, importances, predictions):
        """Predict each example of a block, which `until` allows, and learn it."""
        cdef Block block = Block(examples, labels, importances, self.known.b, predictions)
        self.looked = None
        self.through(block)
        self.answer(block)

    cdef int through(self, Block block) except -1:
        cdef double center = self.known._place[0], spread = self.known._place[1], target = 0.0
        cdef Py_ssize_t t
        block.live, block.champion = self.live, self.champion
        # With the interpreter's lock to the end: another thread may use the same model.
        self.expansion.expand(block)
        # Models predict, and learn labels in their unit once these differ.
        if spread != 0.0 or not block.learns:
            place(block._wide.shape[1], &block.live[0], block.live.shape[0], self.slots)
            for t in range(block.n):
                if block.learns:
                    target = (block._shown[t] - center) / spread
                take_one(
                    &block._wide[t, 0], <float>min(max(target, -FARTHEST), FARTHEST),
                    block._importances[t], self.slots, self.loss, block.learns,
                    block.looked, &block._outputs[t, 0],
                )
        self.known.mix(block)
        if self.log_odds is not None:
            self.log_odds.take(block)
        return 0

    cdef int answer(self, Block block) except -1:
        if self.pool is not None:
            self.pool.answer(block)
        if block.learns and self.intervals is not None:
            self.intervals.follow(block._labels, block._importances, block._predictions)
        return 0


cdef class OneExample:
    """Way of one example after another through an ensemble, each written into the same row.

    Parameters
    ----------
    ensemble : Ensemble
        As long as it does not `grow`.
    row : ndarray of float32, shape (n_features,)
    """

    def __init__(self, Passes ensemble, row):
        labels, importances = np.zeros((2, 1), dtype=np.float32)
        self.ensemble, self.label, self.importance = ensemble, labels, importances
        self.block = Block(row[None], labels, importances, ensemble.known.b)
        self.seen = np.full(len(row), np.nan, dtype=np.float32)

    def predict(self):
        """Return the prediction; nothing is learned."""
        self.take(False)
        self.ensemble.answer(self.block)
        return <double>self.block._predictions[0]

    def learn(self, float label, float importance):
        """Learn the example's label."""
        self.take(True, label, importance)
        self.ensemble.answer(self.block)

    cdef int take(self, bint learns, float label=0.0, float importance=0.0) except -1:
        cdef Block block = self.block
        # Whether all that a look computes of this example is there.
        cdef bint looked = learns and self.ensemble.looked is self
        for j in range(self.seen.shape[0]):
            looked = looked and self.seen[j] == block._examples[0, j]
            self.seen[j] = block._examples[0, j]
        self.ensemble.looked = None if learns else self
        block.learns, block.looked = learns, looked
        self.label[0], self.importance[0] = label, importance
        return self.ensemble.through(block)
