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

from __future__ import annotations

import bisect
import math
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from leaseboard.algorithms import seeds
from leaseboard.algorithms.compilation import compiled
from leaseboard.algorithms.online.kernel import Doubles, Floats
from leaseboard.algorithms.plain import Saved
from leaseboard.algorithms.transcendental import exp

Columns = NDArray[np.int32]
Path = NDArray[np.uint32]

DRAWN_AT = (8, 16, 32, 64, 128, 256, 1024, 4096)
"""Examples after which a group of trees is drawn."""

GROUP, DEPTH = 12, 9

N_INNER = 2**DEPTH - 1
"""Inner nodes of a tree; it has one leaf more."""

REMEMBERED = 256


LAGS = 3

CLASS_RATE, MOST_RATE, CLASS_START = 0.0025, 0.05, 0.01
"""η of classes for each class, η at most, and λ."""

NUMBER_RATE, NUMBER_START = 0.007, 10.0
"""η and λ of numbers."""

CLIPPED = 3.0

TRIES = 20
"""Pairs of examples from which a node's column is drawn: the first that differ in it."""

SEEN, MEAN, SQUARES, CENTER, FIRST_LAG = range(5)
"""The fields of `RandomTrees.totals`: labels learned, their mean and sum of squared deviations,
the first label, and then the last ones less it."""


class RandomTrees(Saved):
    """Online linear model on the nodes of random trees.

    A node of column j is called j, and -1 - j where the second of the two examples that it was
    drawn from has the lower value: the side of that example is always the second child. So neither
    the sign of a column nor its unit matters.

    Parameters
    ----------
    n_features : int
    n_classes : int
        0 for numbers.
    seed : int
        What trees are drawn by.

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
    >>> found = np.full((1000, 2), 0.5)
    >>> RandomTrees(2, 2).learn(rows, classes, np.ones(1000, np.float32), found)
    >>> bool((found[500:].argmax(axis=1) == classes[500:]).mean() > 0.93)
    True
    """

    kept: ClassVar[tuple[str, ...]] = (
        "columns", "thresholds", "weights", "curvature", "totals", "buffer", "seed",
    )  # fmt: skip

    def __init__(self, n_features: int, n_classes: int, seed: int = 0) -> None:
        self.n_features, self.n_classes, self.seed = n_features, n_classes, seed
        self._allocate(0)
        self.totals = np.zeros(FIRST_LAG + LAGS)
        n_columns = n_features + (0 if n_classes else LAGS)
        self.buffer = np.zeros((REMEMBERED, n_columns), dtype=np.float32)

    def _allocate(self, n_trees: int) -> None:
        """Make room for so many trees, of which none is known."""
        # What is read together is in one place: a path is slow for all the places that it touches.
        self.inner = np.zeros((n_trees, N_INNER, 2), dtype=np.int32)
        self.nodes = np.zeros((n_trees, 2 * N_INNER + 1, (self.n_classes or 1) + 1), np.float32)
        self.path = np.zeros((DEPTH + 1, n_trees), dtype=np.uint32)

    def _extend(self, n_trees: int) -> None:
        """Make room for so many trees and classes; what is new is 0."""
        inner, weights, curvature = self.inner, self.weights, self.curvature
        self._allocate(n_trees)
        self.inner[: len(inner)] = inner
        self.weights[: len(inner), :, : weights.shape[2]] = weights
        self.curvature[: len(inner)] = curvature

    @property
    def columns(self) -> Columns:
        """The column of each inner node, shape (n_trees, n_inner)."""
        return self.inner[:, :, 0]

    @property
    def thresholds(self) -> Floats:
        """Their thresholds."""
        return self.inner.view(np.float32)[:, :, 1]

    @property
    def weights(self) -> Floats:
        """The weights of all nodes, shape (n_trees, n_nodes, n_outputs)."""
        return self.nodes[:, :, :-1]

    @property
    def curvature(self) -> Floats:
        """Their curvatures, shape (n_trees, n_nodes)."""
        return self.nodes[:, :, -1]

    @property
    def operations(self) -> float:
        """Operations an example: a step to the next node is as dear as fifteen."""
        n_trees = max(GROUP, len(self.inner))
        return n_trees * (DEPTH + 1) * (15.0 + 0.35 * (self.n_classes or 1))

    def learn(self, rows: Floats, targets: Doubles, worths: Floats, found: Doubles) -> None:
        """Learn a block, and overwrite what it predicts of each example before its label.

        Parameters
        ----------
        rows : ndarray of float32, shape (n, n_features)
        targets : ndarray of float64, shape (n,)
            Numbers, or of classes their numbers.
        worths : ndarray of float32, shape (n,)
            Importances; an example of 0 is predicted, and teaches nothing.
        found : ndarray of float64, shape (n, n_classes or 1)
            Written where there are trees.
        """
        start = 0
        while start < len(rows):
            block = slice(start, start + min(self.left, len(rows) - start))
            learn_trees(
                rows[block], targets[block], worths[block], self.n_classes > 0, self.rate,
                self.inner.ravel(), self.inner.view(np.float32).ravel(), self.nodes, self.totals,
                self.buffer, self.path, False, found[block],
            )  # fmt: skip
            self.draw()
            start = block.stop

    @property
    def rate(self) -> float:
        """The rate η."""
        return min(CLASS_RATE * self.n_classes, MOST_RATE) if self.n_classes else NUMBER_RATE

    @property
    def left(self) -> int:
        """The number of examples to learn before trees are drawn; very many if all are."""
        group = len(self.inner) // GROUP
        return DRAWN_AT[group] - int(self.totals[SEEN]) if group < len(DRAWN_AT) else 2**62

    def draw(self) -> bool:
        """Draw a group of trees if it is time; return whether it was."""
        if self.left > 0:
            return False
        self._draw(len(self.inner) // GROUP)
        return True

    def _draw(self, group: int) -> None:
        """Draw the columns and thresholds of a group."""
        random = seeds.generator("random trees", self.seed, group)
        self._extend(GROUP * (group + 1))
        n, size, buffer = min(REMEMBERED, DRAWN_AT[group]), GROUP * N_INNER, self.buffer.ravel()
        columns, ones, others = np.zeros(size, np.int64), *np.zeros((2, size), np.float32)
        for _ in range(TRIES):
            again = np.flatnonzero(ones == others)
            if not len(again):  # any two examples differ
                break
            columns[again] = drawn = random.integers(self.buffer.shape[1], size=len(again))
            pairs = random.integers(n, size=(2, len(again)))
            pairs *= self.buffer.shape[1]
            pairs += drawn
            ones[again], others[again] = buffer[pairs]
        share = random.random((GROUP, N_INNER), dtype=np.float32).ravel()
        shape = GROUP, N_INNER
        self.columns[-GROUP:] = np.where(others < ones, -1 - columns, columns).reshape(shape)
        self.thresholds[-GROUP:] = (ones + share * (others - ones)).reshape(shape)

    def grow(self, n_features: int, n_classes: int) -> None:
        """Go on with more columns, which no tree looks at once trees are drawn, and classes."""
        own, more = self.buffer.shape[1] - self.n_features, n_features - self.n_features
        self.columns[self.columns >= self.n_features] += more  # the last labels come last
        self.columns[self.columns < -self.n_features] -= more
        rows = np.zeros((REMEMBERED, n_features + own), dtype=np.float32)
        rows[:, : self.n_features] = self.buffer[:, : self.n_features]
        rows[:, n_features:] = self.buffer[:, self.n_features :]
        self.buffer, self.n_features, self.n_classes = rows, n_features, n_classes
        self._extend(len(self.inner))

    def fill(self, state: Any) -> None:
        """See `Saved.fill`; every column is one that there is."""
        self._allocate(GROUP * bisect.bisect_right(DRAWN_AT, int(state["totals"][SEEN])))
        super().fill(state)


@compiled(error_model="numpy")
def learn_trees(
    rows: Floats,
    targets: Doubles,
    worths: Floats,
    classes: bool,
    rate: float,
    columns: Columns,
    thresholds: Floats,
    nodes: Floats,
    totals: Doubles,
    buffer: Floats,
    path: Path,
    again: bool,
    found: Doubles,
) -> None:
    """Predict example after example, each before its label is used; see `RandomTrees.learn`.

    Parameters
    ----------
    columns, thresholds : ndarray of int32 and float32, shape (2 * n_trees * N_INNER,)
        `RandomTrees.inner`, as either type: columns have even places, thresholds have odd ones.
    nodes, path : ndarray
        See `RandomTrees`; updated.
    again : bool
        The only example was the last one, so `path` and `found` are there.
    """
    n_trees, k, d = len(nodes), nodes.shape[2] - 1, rows.shape[1]
    scores, gradient = np.empty(k), np.empty(k, np.float32)
    for t in range(len(rows)):
        # The sum of the weights on the path through each tree, and what it predicts.
        if n_trees and not again:
            descend(rows[t], columns, thresholds, nodes, totals, path, scores)
            if classes:
                soften(scores, found[t])
            else:
                found[t, 0] = totals[CENTER] + scores[0]
        worth = np.float64(worths[t])
        if worth <= 0.0:
            continue
        # Labels are learned less the first one; the row is remembered with those before.
        if totals[SEEN] == 0.0 and not classes:
            totals[CENTER] = targets[t]
        place = int(totals[SEEN]) % len(buffer)
        for j in range(buffer.shape[1]):
            buffer[place, j] = rows[t, j] if j < d else totals[FIRST_LAG + j - d]
        # The gradient, and a step of each node on the paths.
        more: float = worth
        if not classes:
            error = (found[t, 0] if n_trees else totals[CENTER]) - targets[t]
            gradient[0] = worth * clipped_error(error, targets[t], totals)
        elif n_trees:
            more = 0.0
            for j in range(k):
                gradient[j] = worth * (found[t, j] - (1.0 if j == targets[t] else 0.0))
                more += gradient[j] * gradient[j]
        totals[SEEN] += 1.0
        step(gradient, more, 0.0 if classes else worth, rate, path, nodes)


@compiled(error_model="numpy")
def descend(
    row: Floats,
    columns: Columns,
    thresholds: Floats,
    nodes: Floats,
    totals: Doubles,
    path: Path,
    scores: Doubles,
) -> None:
    """Write the nodes on the path through each tree, and the sums of their weights."""
    # The columns, with the last labels.
    d, values = len(row), np.empty(len(row) + LAGS)
    for j in range(len(values)):
        values[j] = row[j] if j < d else totals[FIRST_LAG + j - d]
    # Level after level to the child on whose side the column's value is: trees do not wait for
    # each other.
    n_trees, total = len(nodes), 0.0
    for level in range(DEPTH):
        for tree in range(n_trees):
            node = path[level, tree]  # of the root it is 0 for good
            at = 2 * (tree * N_INNER + node)
            column, threshold = columns[at], thresholds[at + 1]
            value = values[column ^ (column >> 31)]  # -1 - column if that is negative
            beyond = value < threshold if column < 0 else value > threshold
            path[level + 1, tree] = 2 * node + 1 + beyond
    # The sums, tree after tree; a single one in a register.
    if len(scores) == 1:
        for tree in range(n_trees):
            for level in range(DEPTH + 1):
                total += nodes[tree, path[level, tree], 0]
        scores[0] = total
        return
    scores[:] = 0.0
    for tree in range(n_trees):
        for level in range(DEPTH + 1):
            node = path[level, tree]
            for j in range(len(scores)):
                scores[j] += nodes[tree, node, j]


@compiled(error_model="numpy")
def soften(scores: Doubles, chances: Doubles) -> None:
    """Write the softmax of the scores.

    Examples
    --------
    >>> chances = np.empty(2)
    >>> soften(np.log([1.0, 3.0]), chances)
    >>> chances.round(2).tolist()
    [0.25, 0.75]
    """
    largest, total = scores.max(), 0.0
    for j in range(len(scores)):
        chances[j] = exp(scores[j] - largest)
        total += chances[j]
    for j in range(len(scores)):
        chances[j] /= total


@compiled(error_model="numpy")
def clipped_error(error: float, label: float, totals: Doubles) -> float:
    """Return the error within what counts, and take the label into moments and last labels."""
    seen = float(totals[SEEN])
    most = CLIPPED * math.sqrt(totals[SQUARES] / seen) if seen > 0.0 else 0.0
    difference = label - totals[MEAN]
    totals[MEAN] += difference / (seen + 1.0)
    totals[SQUARES] += difference * (label - totals[MEAN])
    for lag in range(LAGS - 1, 0, -1):
        totals[FIRST_LAG + lag] = totals[FIRST_LAG + lag - 1]
    totals[FIRST_LAG] = label - totals[CENTER]
    return float(min(max(error, -most), most) if most > 0.0 else error)


@compiled(error_model="numpy")
def step(
    gradient: Floats,
    more: float,
    worth: float,
    rate: float,
    path: Path,
    nodes: Floats,
) -> None:
    """Move the weights of all nodes on the paths; of numbers no further than to the label.

    Parameters
    ----------
    more : float
        What is added to the curvature of each node.
    worth : float
        The importance of a number; 0 for classes.
    """
    start, together, k = NUMBER_START if worth > 0.0 else CLASS_START, 0.0, len(gradient)
    roots, sizes = np.empty(path.size), np.empty(path.size)
    # The nodes' curvatures next to each other, so that their roots are taken several at a time.
    for tree in range(len(nodes)):
        for level in range(DEPTH + 1):
            node = path[level, tree]
            nodes[tree, node, k] += more
            roots[tree * (DEPTH + 1) + level] = start + nodes[tree, node, k]
    for i in range(len(roots)):
        roots[i] = math.sqrt(roots[i])
    for i in range(len(roots)):
        sizes[i] = rate / roots[i]
    if worth > 0.0:
        for i in range(len(roots)):
            together += sizes[i]
    if worth * together > 1.0:
        shrunk = rate / (worth * together)
        for i in range(len(roots)):
            sizes[i] = shrunk / roots[i]
    for tree in range(len(nodes)):
        for level in range(DEPTH + 1):
            node, size = path[level, tree], np.float32(sizes[tree * (DEPTH + 1) + level])
            for j in range(k):
                nodes[tree, node, j] -= size * gradient[j]
