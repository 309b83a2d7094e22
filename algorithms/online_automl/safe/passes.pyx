"""The way of examples through expansion, models, mixture, members and intervals.

Blocks and single examples take the same steps. Where one example is predicted and then learned,
what its prediction computed is not computed again.
"""

import numpy as np

from leaseboard.algorithms.buffers cimport place_of
from leaseboard.algorithms.online.conformal_steps cimport follow
from leaseboard.algorithms.online.placement cimport place, take_one
from leaseboard.algorithms.online_automl.safe.expansion cimport SimpleModels
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
        if intervals is not None:
            self.conformal, self.rates = intervals.conformal, intervals.rates

    @property
    def is_narrow(self):
        """Whether features are not selected, so that all of an example is one compiled call."""
        return self.expansion.known.n_memory == 0

    def forget_look(self):
        """Let nothing that was computed for the last prediction be used to learn its label."""
        self.looked = None

    def learn(self, examples, labels, importances, live, Py_ssize_t champion, predictions):
        """Predict each example of a block, which `until` allows, and learn it."""
        cdef const int64_t[::1] slots = live
        cdef Block block = Block(examples, labels, importances, self.known.b, predictions)
        self.looked = None
        self.through(block, &slots[0], slots.shape[0], champion, True, False)
        self.answer(block, True)

    cdef int through(
        self, Block block, const int64_t *live, Py_ssize_t n_live, Py_ssize_t champion,
        bint learns, bint looked,
    ) except -1:
        cdef SimpleModels simple = self.expansion.known
        cdef Py_ssize_t at = 0
        # Of many features expansion stops where some may be selected.
        while learns and simple.n_memory > 0 and at < block.n:
            at = simple.advance(block, at, learns, False)
            self.expansion.select(block.importances[at - 1])
        # With the interpreter's lock: another thread may use the same model.
        self._ask_all(block, live, n_live, champion, learns, looked, at)
        return 0

    cdef int _ask_all(
        self, Block block, const int64_t *live, Py_ssize_t n_live, Py_ssize_t champion,
        bint learns, bint looked, Py_ssize_t start,
    ) except -1 nogil:
        """Expand examples from `start` on; ask models, and mix what all predict."""
        self.expansion.known.advance(block, start, learns, looked)
        self._ask_models(block, live, n_live, learns, looked)
        self.known.mix(block, live, n_live, champion, learns)
        if self.log_odds is not None:
            self.log_odds.take(block, live, n_live, champion, learns)
        return 0

    cdef int _ask_models(
        self, Block block, const int64_t *live, Py_ssize_t n_live, bint learns, bint looked
    ) except -1 nogil:
        """Let models predict, and learn labels in their unit once these differ."""
        cdef double center = self.known.place[0], spread = self.known.place[1], target
        cdef Py_ssize_t t
        if learns and spread == 0.0:
            return 0
        place(block.n_wide, live, n_live, self.slots)
        for t in range(block.n):
            target = (block.shown[t] - center) / spread if learns else 0.0
            take_one(
                block.wide + t * block.n_wide, <float>min(max(target, -FARTHEST), FARTHEST),
                block.importances[t], self.slots, self.loss, learns, looked,
                block.outputs + t * block.b,
            )
        return 0

    cdef int answer(self, Block block, bint learns) except -1:
        if self.pool is not None:
            self.pool.answer(block, learns)
        if learns and self.conformal is not None:
            follow(
                block.labels, block.importances, block.predictions, block.n, &self.rates[0, 0],
                self.conformal,
            )
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
        self.ensemble = ensemble
        self.block = Block(row[None], labels, importances, ensemble.known.b)
        self._seen = np.full(len(row), np.nan, dtype=np.float32)
        self.seen = <float *>place_of(self._seen, "f")

    @property
    def predictions(self):
        """What was predicted last, shape (1,)."""
        return self.block.arrays["predictions"]

    def predict(self, live, Py_ssize_t champion):
        """Return the prediction; nothing is learned."""
        self.take(live, champion, False)
        self.ensemble.answer(self.block, False)
        return <double>self.block.predictions[0]

    def learn(self, float label, float importance, live, Py_ssize_t champion):
        """Learn the example's label."""
        self.block.labels[0], self.block.importances[0] = label, importance
        self.take(live, champion, True)
        self.ensemble.answer(self.block, True)

    cdef int take(self, live, Py_ssize_t champion, bint learns) except -1:
        cdef Passes own = self.ensemble
        cdef const int64_t[::1] slots
        cdef Py_ssize_t j
        # Whether all that a look computes of this example is there.
        cdef bint looked = learns and own.looked is self
        for j in range(self.block.d):
            looked = looked and self.seen[j] == self.block.examples[j]
            self.seen[j] = self.block.examples[j]
        own.looked = None if learns else self
        if live is not self._live:
            slots = live
            self._live, self.live, self.n_live = live, &slots[0], slots.shape[0]
        own.through(self.block, self.live, self.n_live, champion, learns, looked)
        return 0
