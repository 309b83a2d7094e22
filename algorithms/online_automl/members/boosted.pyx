"""Boosted trees that are fitted again to the last rows.

After `FIRST` rows, and whenever as many have come as are remembered, LightGBM fits trees to those
that are remembered [1]_, `MOST` at most. So each row is fitted about twice while a stream is short,
and once later. In between the trees predict and learn nothing. They look at nothing but the
columns, so what they say does not depend on which labels are known. After a pause all begins
again: rows of long ago would say nothing of what has changed since.

A class that comes after a fit has no chance until the next one. Leaves are shrunk (`lambda_l2`):
of a class with a single row the sums of second derivatives are nearly 0, and without that LightGBM's
steps grow beyond all bounds.

References
----------
.. [1] Ke et al. LightGBM: a highly efficient gradient boosting decision tree. NeurIPS 2017.
"""

import numpy as np

from libc.stdint cimport int32_t

from leaseboard.algorithms import plain
from leaseboard.algorithms.online_automl.members import boosting

from leaseboard.algorithms.online_automl.log_pool cimport soften
from leaseboard.algorithms.online_automl.members.member cimport Given, Member

FIRST = 200
"""Rows that are fitted first."""

MOST = 16_384
"""Rows that are remembered at most."""

ROUNDS, TREES, LEAST_ROUNDS = 100, 200, 10
"""Rounds of boosting for numbers and two classes; trees of more classes, and rounds at least."""

HIGHEST_RATE, SUM_OF_RATES = 0.3, 10.0
"""The learning rate at most, and the sum of those of all rounds."""

DESCENT, TRAINING = 30.0, 26.0
"""Operations of a tree an example: to find its leaf, and of its share of fits for each column."""

ARRAYS = boosting.Trees._fields

cdef enum:
    # The fields of `BoostedTrees.totals`: rows remembered so far, and after how many trees are
    # fitted; of the last fit the mean and deviation of numbers, or how many classes there were.
    SEEN, DUE, MEAN, DEVIATION, CLASSES, N_TOTALS


cdef class BoostedTrees(Member):
    """Boosted trees on the last rows.

    Attributes
    ----------
    window : ndarray of float32, shape (size, n_features)
        The rows that are remembered, each in the place of the one `size` rows before.
    targets, worths : ndarray of float64, shape (size,)
    totals : ndarray of float64, shape (5,)
        See `SEEN` and those after it.
    inner, thresholds, leaves, roots
        See `leaseboard.algorithms.online_automl.members.boosting.Trees`.

    Examples
    --------
    >>> rows = np.random.RandomState(0).rand(1000, 2).astype(np.float32)
    >>> classes = ((rows > 0.5).sum(axis=1) == 1).astype(float)  # exclusive or
    >>> found = BoostedTrees(2, 2).learn(rows, classes)
    >>> bool((found[800:].argmax(axis=1) == classes[800:]).mean() > 0.95)
    True
    """

    kept = "window", "targets", "worths", "totals"

    cdef public float[:, ::1] window
    cdef public double[::1] targets, worths, totals
    cdef public int32_t[:, ::1] inner
    cdef public double[::1] thresholds, leaves
    cdef public int32_t[::1] roots
    cdef double[::1] _scores

    def __init__(self, n_features: int, n_classes: int, seed: int = 0) -> None:
        super().__init__(n_features, n_classes, seed)
        size = MOST if n_features else 1
        self.window = np.zeros((size, n_features), np.float32)
        self.targets, self.worths = np.zeros(size), np.zeros(size)
        self.totals, self._scores = np.zeros(N_TOTALS), np.zeros(max(2, n_classes))
        self.wake()

    def wake(self) -> None:
        """Begin again after a pause, with no row and no trees."""
        self.totals[SEEN], self.totals[DUE] = 0.0, FIRST
        self.inner, self.thresholds, self.leaves, self.roots = boosting.NONE

    @property
    def outputs(self):
        """Trees of a round."""
        return self.n_classes if self.n_classes > 2 else 1

    @property
    def rounds(self):
        """Rounds of boosting."""
        return ROUNDS if self.outputs == 1 else max(LEAST_ROUNDS, TREES // self.outputs)

    @property
    def operations(self):
        """Operations an example, with its share of fits."""
        return self.rounds * self.outputs * (DESCENT + TRAINING * self.n_features)

    @property
    def left(self):
        """The number of examples to learn before trees are fitted."""
        return int(self.totals[DUE] - self.totals[SEEN])

    @property
    def is_silent(self):
        """Whether it does not predict yet: before the first fit."""
        return len(self.roots) == 0

    def draw(self) -> bool:
        """Fit trees if it is time; return whether it was."""
        if self.left > 0:
            return False
        seen, size = int(self.totals[SEEN]), len(self.targets)
        self.totals[DUE] = seen + min(seen, size)
        last = np.arange(max(0, seen - size), seen) % size
        rows, targets = np.asarray(self.window)[last], np.asarray(self.targets)[last]
        if (targets == targets[0]).all():
            return False
        # Numbers in units of their deviation, weights in units of their mean.
        self.totals[CLASSES], objective = self.n_classes, f"multiclass num_class={self.n_classes}"
        if not self.n_classes:
            self.totals[MEAN], self.totals[DEVIATION] = targets.mean(), targets.std()
            targets, objective = (targets - targets.mean()) / targets.std(), "regression"
        elif self.n_classes == 2:
            objective = "binary"
        rate = min(HIGHEST_RATE, SUM_OF_RATES / self.rounds)
        worths = np.asarray(self.worths)[last]
        worths = worths / worths.mean()
        self.inner, self.thresholds, self.leaves, self.roots = boosting.fit(
            rows, targets, worths, f"objective={objective} learning_rate={rate}", self.rounds
        )
        return True

    def grow(self, n_features: int, n_classes: int) -> None:
        """Go on with more columns, which were 0 until now, and classes."""
        before = plain.values_of(self, (*self.kept, *ARRAYS))
        self.__init__(n_features, n_classes, self.seed)
        if len(before["targets"]) == len(self.targets):  # else there was no column until now
            np.asarray(self.window)[:, : before["window"].shape[1]] = before["window"]
            self.targets, self.worths = before["targets"], before["worths"]
            self.totals = before["totals"]
            self._set(before)

    def _set(self, state) -> None:
        self.inner, self.thresholds, self.leaves, self.roots = [
            np.array(state[name]) for name in ARRAYS
        ]

    def state(self):
        """See `plain.Saved.state`."""
        return plain.values_of(self, (*self.kept, *ARRAYS))

    def fill(self, state) -> None:
        """See `plain.Saved.fill`."""
        self._set(state)
        plain.fill(self, state, self.kept)

    cdef void take(self, const Given *given, double *found) noexcept nogil:
        """See `Member.take`; nothing is written before the first fit."""
        cdef double *totals = &self.totals[0]
        cdef Py_ssize_t place, j
        if self.roots.shape[0] and not given.again:
            self.predict(given.example, found)
        if given.worth > 0.0:
            # Remember it in the place of the oldest.
            place = <Py_ssize_t>totals[SEEN] % self.targets.shape[0]
            for j in range(self.n_features):
                self.window[place, j] = given.example[j]
            self.targets[place], self.worths[place] = given.target, given.worth
            totals[SEEN] += 1.0

    cdef void predict(self, const float *row, double *found) noexcept nogil:
        """Write what the trees say of a row."""
        cdef Py_ssize_t n_trees = self.roots.shape[0], tree, j
        cdef Py_ssize_t k = <Py_ssize_t>self.totals[CLASSES]  # of the fit
        cdef Py_ssize_t outputs = k if k > 2 else 1
        cdef double *scores = &self._scores[0]
        cdef int32_t node
        cdef bint at_most
        for j in range(self._scores.shape[0]):
            scores[j] = 0.0
        # From each root to a leaf, whose value counts for the tree's output.
        for tree in range(n_trees):
            node = self.roots[tree]
            while node >= 0:
                at_most = row[self.inner[node, 0]] <= self.thresholds[node]
                node = self.inner[node, 1 if at_most else 2]
            scores[tree % outputs] += self.leaves[~node]
        if not k:
            found[0] = self.totals[MEAN] + self.totals[DEVIATION] * scores[0]
            return
        if k == 2:
            scores[0], scores[1] = 0.0, scores[0]
        soften(scores, found, k)
        for j in range(k, self.n_classes):
            found[j] = 0.0
