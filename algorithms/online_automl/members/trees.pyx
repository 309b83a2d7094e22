"""Random trees whose nodes are the features of one online linear model.

Groups of `GROUP` trees of `DEPTH` levels are drawn after `DRAWN_AT` examples, from the last
`REMEMBERED`: each inner node gets a random column and a threshold between the values of two random
examples in it [1]_. Nothing splits later and nothing is pruned, so the memory is known from
the first example; trees that are drawn later know what has changed since. An example takes one
path through each tree, and the sum of the weights of all nodes on its paths is the score of each
output: the logit of a class, or a number. So a node near the root learns fast and generalises, one
near a leaf learns what is left there, as in boosting. A tree that joins changes nothing at first.

After each label every node v on the paths moves along the gradient g of the loss,

    w_v ← w_v - s_v g,    s_v = η / √(λ + c_v),

with c_v the sum of ‖g‖² at that node for classes (AdaGrad [2]_, with one step for all classes) and
the number of labels there for squared loss, whose curvature is 1. For squared loss all steps are
divided by their sum where that is above 1, so that no step goes beyond the label, and a gradient
beyond `CLIPPED` deviations of the labels counts as that.

For numbers the last `LAGS` labels are columns, too: what depends on time is found by a split. All
labels are taken less the first one, so where 0 is does not matter.

References
----------
.. [1] Geurts, Ernst, Wehenkel. Extremely randomized trees. Machine Learning 63, 2006.
.. [2] Duchi, Hazan, Singer. Adaptive subgradient methods. JMLR 12, 2011.
"""

import bisect

import numpy as np

from libc.float cimport FLT_MAX
from libc.math cimport sqrt
from libc.stdint cimport int32_t, uint32_t

from leaseboard.algorithms import plain, seeds

from leaseboard.algorithms.online_automl.log_pool cimport soften
from leaseboard.algorithms.online_automl.members.learners cimport Given, Member

DRAWN_AT = (8, 16, 32, 64, 128, 256, 1024, 4096)
"""Examples after which a group of trees is drawn."""

cpdef enum:
    GROUP = 12
    DEPTH = 9
    N_INNER = 511  # 2^DEPTH - 1 inner nodes of a tree, which has one leaf more
    LAGS = 3

REMEMBERED = 256

cdef double CLASS_RATE = 0.0025, MOST_RATE = 0.05, CLASS_START = 0.01
"""η of classes for each class, η at most, and λ."""

cdef double NUMBER_RATE = 0.007, NUMBER_START = 10.0, CLIPPED = 3.0
"""η and λ of numbers; and deviations of labels beyond which an error counts as that."""

TRIES = 20
"""Pairs of examples from which a node's column is drawn: the first that differ in it."""

cdef enum:
    # The fields of `RandomTrees.totals`: labels learned, their mean and sum of squared deviations,
    # the first label, and then the last ones less it.
    SEEN, MEAN, SQUARES, CENTER, FIRST_LAG


cdef class RandomTrees(Member):
    """Online linear model on the nodes of random trees.

    A node of column j is called j, and -1 - j where the second of the two examples that it was
    drawn from has the lower value: the side of that example is always the second child. So neither
    the sign of a column nor its unit matters.

    Attributes
    ----------
    inner : ndarray of int32, shape (n_trees, n_inner, 2)
        The column of each inner node, and its threshold as float32 in the same bits.
    nodes : ndarray of float32, shape (n_trees, n_nodes, n_outputs + 1)
        The weights of each node, and its curvature.
    path : ndarray of uint32, shape (DEPTH + 1, n_trees)
        The nodes that the last example came through.

    Examples
    --------
    >>> rows = np.random.RandomState(0).rand(1000, 2).astype(np.float32)
    >>> classes = ((rows > 0.5).sum(axis=1) == 1).astype(float)  # exclusive or
    >>> found = RandomTrees(2, 2).learn(rows, classes)
    >>> bool((found[500:].argmax(axis=1) == classes[500:]).mean() > 0.93)
    True
    """

    kept = "inner", "nodes", "totals", "buffer", "seed"

    cdef public int32_t[:, :, ::1] inner
    cdef public float[:, :, ::1] nodes
    cdef public uint32_t[:, ::1] path
    cdef public double[::1] totals
    cdef public float[:, ::1] buffer
    cdef double[::1] _room
    cdef float[::1] _gradient

    def __init__(self, n_features: int, n_classes: int, seed: int = 0) -> None:
        super().__init__(n_features, n_classes, seed)
        self.totals = np.zeros(FIRST_LAG + LAGS)
        n_columns = n_features + (0 if n_classes else LAGS)
        self.buffer = np.zeros((REMEMBERED, n_columns), dtype=np.float32)
        self._allocate(0)

    def _allocate(self, n_trees) -> None:
        """Make room for so many trees, of which none is known."""
        # What is read together is in one place: a path is slow for all the places that it touches.
        k = max(1, self.n_classes)
        self.inner = np.zeros((n_trees, N_INNER, 2), dtype=np.int32)
        shape = n_trees, 2 * N_INNER + 1, k + 1
        self.nodes = np.zeros(shape, np.float32)
        self.path = np.zeros((DEPTH + 1, n_trees), dtype=np.uint32)
        self._room = np.zeros(self.n_features + LAGS + k + 2 * (DEPTH + 1) * n_trees)
        self._gradient = np.zeros(k, np.float32)

    def _extend(self, n_trees) -> None:
        """Make room for so many trees and classes; what is new is 0."""
        inner, nodes = np.asarray(self.inner), np.asarray(self.nodes)
        self._allocate(n_trees)
        np.asarray(self.inner)[: len(inner)] = inner
        np.asarray(self.nodes)[: len(inner), :, : nodes.shape[2] - 1] = nodes[:, :, :-1]
        np.asarray(self.nodes)[: len(inner), :, -1] = nodes[:, :, -1]

    @property
    def operations(self):
        """Operations an example: a step to the next node is as dear as fifteen."""
        n_trees = max(GROUP, len(self.inner))
        return n_trees * (DEPTH + 1) * (15.0 + 0.35 * (self.n_classes or 1))

    @property
    def left(self):
        """The number of examples to learn before trees are drawn; very many if all are."""
        group = len(self.inner) // GROUP
        return DRAWN_AT[group] - int(self.totals[SEEN]) if group < len(DRAWN_AT) else 2**62

    def draw(self) -> bool:
        """Draw a group of trees if it is time; return whether it was."""
        if self.left > 0:
            return False
        self._draw(len(self.inner) // GROUP)
        return True

    def _draw(self, group) -> None:
        """Draw the columns and thresholds of a group."""
        random = seeds.generator("random trees", self.seed, group)
        self._extend(GROUP * (group + 1))
        n, size, n_columns = min(REMEMBERED, DRAWN_AT[group]), GROUP * N_INNER, self.buffer.shape[1]
        columns, (ones, others) = np.zeros(size, np.int64), np.zeros((2, size), np.float32)
        for _ in range(TRIES):
            again = np.flatnonzero(ones == others)
            if not len(again):  # any two examples differ
                break
            columns[again] = drawn = random.integers(n_columns, size=len(again))
            pairs = random.integers(n, size=(2, len(again)))
            pairs *= n_columns
            pairs += drawn
            ones[again], others[again] = np.asarray(self.buffer).ravel()[pairs]
        share = random.random((GROUP, N_INNER), dtype=np.float32).ravel()
        shape = GROUP, N_INNER
        inner = np.asarray(self.inner)[-GROUP:]
        inner[:, :, 0] = np.where(others < ones, -1 - columns, columns).reshape(shape)
        inner.view(np.float32)[:, :, 1] = (ones + share * (others - ones)).reshape(shape)

    def grow(self, n_features: int, n_classes: int) -> None:
        """Go on with more columns, which no tree looks at once trees are drawn, and classes."""
        before, buffer = self.n_features, np.asarray(self.buffer)
        columns = np.asarray(self.inner)[:, :, 0]
        columns[columns >= before] += n_features - before  # the last labels come last
        columns[columns < -before] -= n_features - before
        rows = np.zeros((REMEMBERED, n_features + buffer.shape[1] - before), dtype=np.float32)
        rows[:, :before] = buffer[:, :before]
        rows[:, n_features:] = buffer[:, before:]
        self.buffer, self.n_features, self.n_classes = rows, n_features, n_classes
        self._extend(len(self.inner))

    def fill(self, state) -> None:
        """See `plain.Saved.fill`; every column is one that there is."""
        self._allocate(GROUP * bisect.bisect_right(DRAWN_AT, int(state["totals"][SEEN])))
        plain.fill(self, state, self.kept)

    cdef void take(self, const Given *given, double *found) noexcept nogil:
        """See `Member.take`; nothing is written where there are no trees."""
        cdef Py_ssize_t n_trees = self.nodes.shape[0], k = self.nodes.shape[2] - 1
        cdef Py_ssize_t d = self.n_features, width = self.buffer.shape[1], j
        cdef bint classes = self.n_classes > 0
        cdef double *totals = &self.totals[0]
        cdef double *scores = &self._room[d + LAGS]
        cdef float *gradient = &self._gradient[0]
        cdef double worth = given.worth, target = given.target
        # The sum of the weights on the path through each tree, and what it predicts.
        if n_trees and not given.again:
            self._descend(given.example, scores)
            if classes:
                soften(scores, found, k)
            else:
                found[0] = totals[CENTER] + scores[0]
        if worth <= 0.0:
            return
        # Labels are learned less the first one; the row is remembered with those before.
        if totals[SEEN] == 0.0 and not classes:
            totals[CENTER] = target
        remembered = &self.buffer[<Py_ssize_t>totals[SEEN] % self.buffer.shape[0], 0]
        for j in range(d):
            remembered[j] = given.example[j]
        for j in range(d, width):
            remembered[j] = finite(totals[FIRST_LAG + j - d])
        # The gradient, and a step of each node on the paths.
        more = worth
        if not classes:
            error = (found[0] if n_trees else totals[CENTER]) - target
            gradient[0] = finite(worth * clipped_error(error, target, totals))
        elif n_trees:
            more = 0.0
            for j in range(k):
                gradient[j] = <float>(worth * (found[j] - (1.0 if <double>j == target else 0.0)))
                more += gradient[j] * gradient[j]
        totals[SEEN] += 1.0
        self._step(more, 0.0 if classes else worth)

    cdef void _descend(self, const float *row, double *scores) noexcept nogil:
        """Write the nodes on the path through each tree, and the sums of their weights."""
        # The columns, with the last labels.
        cdef Py_ssize_t n_trees = self.nodes.shape[0], k = self.nodes.shape[2] - 1
        cdef Py_ssize_t d = self.n_features, level
        cdef double *values = &self._room[0]
        cdef uint32_t *path = &self.path[0, 0]
        cdef const int32_t *inner = &self.inner[0, 0, 0]
        cdef const float *thresholds = <const float *>inner
        cdef const float *nodes = &self.nodes[0, 0, 0]
        cdef double threshold, side
        for j in range(d):
            values[j] = row[j]
        for j in range(LAGS):
            values[d + j] = self.totals[FIRST_LAG + j]
        # Level after level to the child on whose side the column's value is: trees do not wait
        # for each other.
        for level in range(DEPTH):
            below = path + n_trees
            for tree in range(n_trees):
                at = 2 * (tree * N_INNER + path[tree])  # of the root it is 0 for good
                column, threshold = inner[at], thresholds[at + 1]
                value = values[column ^ (column >> 31)]  # -1 - column if that is negative
                side = (column >> 31) | 1
                below[tree] = 2 * path[tree] + 1 + (side * value > side * threshold)
            path = below
        # The sums, tree after tree.
        path = &self.path[0, 0]
        for j in range(k):
            total = 0.0
            for tree in range(n_trees):
                for level in range(DEPTH + 1):
                    at = tree * (2 * N_INNER + 1) + path[level * n_trees + tree]
                    total += nodes[at * (k + 1) + j]
            scores[j] = total

    cdef void _step(self, double more, double worth) noexcept nogil:
        """Move the weights of all nodes on the paths; of numbers no further than to the label.

        `more` is added to the curvature of each node; the worth of classes is 0.
        """
        cdef Py_ssize_t n_trees = self.nodes.shape[0], k = self.nodes.shape[2] - 1
        cdef Py_ssize_t size = n_trees * (DEPTH + 1), tree, level, at, i, j
        cdef double start = NUMBER_START if worth > 0.0 else CLASS_START
        cdef double rate = NUMBER_RATE, together = 0.0, shrunk
        cdef double *roots = &self._room[self.n_features + LAGS + k]
        cdef double *sizes = roots + size
        cdef const uint32_t *path = &self.path[0, 0]
        cdef const float *gradient = &self._gradient[0]
        cdef float *nodes = &self.nodes[0, 0, 0]
        if self.n_classes:
            rate = min(CLASS_RATE * self.n_classes, MOST_RATE)
        # The nodes' curvatures next to each other, so that their roots are taken several at a
        # time.
        for tree in range(n_trees):
            for level in range(DEPTH + 1):
                at = path[level * n_trees + tree] * (k + 1) + k
                nodes[at] = <float>(nodes[at] + more)
                roots[tree * (DEPTH + 1) + level] = start + nodes[at]
            nodes += (k + 1) * (2 * N_INNER + 1)
        # The next roots are taken while the sum of those before goes on.
        for at in range(0, size, 32):
            for i in range(at, min(at + 32, size)):
                roots[i] = sqrt(roots[i])
            for i in range(at, min(at + 32, size)):
                sizes[i] = rate / roots[i]
            for i in range(at, min(at + 32, size)):
                together += sizes[i]
        if worth * together > 1.0:
            shrunk = rate / (worth * together)
            for i in range(size):
                sizes[i] = shrunk / roots[i]
        for tree in range(n_trees):
            for level in range(DEPTH + 1):
                at, along = path[level * n_trees + tree], <float>sizes[tree * (DEPTH + 1) + level]
                for j in range(k):
                    self.nodes[tree, at, j] -= along * gradient[j]


cdef inline float finite(double value) noexcept nogil:
    """Return a number in single precision, where it overflows the largest."""
    return <float>min(max(value, -<double>FLT_MAX), <double>FLT_MAX)


cdef inline double clipped_error(double error, double label, double *totals) noexcept nogil:
    """Return the error within what counts, and take the label into moments and last labels."""
    cdef double seen = totals[SEEN], most = 0.0, difference = label - totals[MEAN]
    if seen > 0.0:
        most = CLIPPED * sqrt(totals[SQUARES] / seen)
    totals[MEAN] += difference / (seen + 1.0)
    totals[SQUARES] += difference * (label - totals[MEAN])
    for lag in range(LAGS - 1, 0, -1):
        totals[FIRST_LAG + lag] = totals[FIRST_LAG + lag - 1]
    totals[FIRST_LAG] = label - totals[CENTER]
    return min(max(error, -most), most) if most > 0.0 else error
