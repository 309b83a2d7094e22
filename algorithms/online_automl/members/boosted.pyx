"""Boosted trees that are fitted again to the last rows.

After `FIRST` rows, and whenever as many have come as are remembered, LightGBM fits trees to those
that are remembered [1]_, `MOST` at most. So each row is fitted about twice while a stream is short,
and once later. In between the trees predict and learn nothing. They look at nothing but the
columns, so what they say does not depend on which labels are known. For many predictions without
labels, as of a file, they can be fitted once more to all rows (`ahead`), which changes no other
prediction. After a pause all begins again: rows of long ago would say nothing of what has changed
since.

A class that comes after a fit has no chance until the next one. Leaves are shrunk (`lambda_l2`):
of a class with a single row the sums of second derivatives are nearly 0, and without that LightGBM's
steps grow beyond all bounds.

The library is called by its C interface. Its Python package would import pandas and scikit-learn,
over a second of CPU time, before the first row. What it fits is kept as arrays: a row is predicted
without the library.

References
----------
.. [1] Ke et al. LightGBM: a highly efficient gradient boosting decision tree. NeurIPS 2017.
"""

import ctypes
import warnings
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from libc.stdint cimport int32_t

from leaseboard.algorithms import plain
from leaseboard.algorithms.errors import UsageError

from leaseboard.algorithms.online_automl.log_pool cimport soften
from leaseboard.algorithms.online_automl.members.learners cimport Given, Member

FIRST = 200
"""Rows that are fitted first."""

MOST = 16_384
"""Rows that are remembered at most."""

MOST_FILLED = 128
"""Values of a row that are not 0, in the mean, above which a fit takes too long."""

ROUNDS, TREES, LEAST_ROUNDS = 100, 200, 10
"""Rounds of boosting for numbers and two classes; trees of more classes, and rounds at least."""

HIGHEST_RATE, SUM_OF_RATES = 0.3, 10.0
"""The learning rate at most, and the sum of those of all rounds."""

DESCENT, TRAINING = 30.0, 26.0
"""Operations of a tree an example: to find its leaf, and of its share of fits for each value that is
not 0, since LightGBM joins columns of which one at a time has a value [1]_."""

PARAMETERS = (
    "verbosity=-1 num_threads=1 deterministic=true force_row_wise=true seed=0 num_leaves=31"
    " min_data_in_leaf=20 lambda_l2=1"
)

MISSING = (
    "the model has boosted trees, which LightGBM fits, and LightGBM is not installed: pip install"
    " lightgbm to learn; without it the model predicts"
)

FLOAT32 = 0
"""LightGBM's number for that type."""
SPLITS = 0
"""And for importances of columns by their number of splits, which its text has to have."""

NONE = np.zeros((0, 3), np.int32), np.zeros(0), np.zeros(0), np.zeros(0, np.int32), np.zeros(4)
"""Trees one after the other: inner nodes, their thresholds, leaves, roots; here none. Last what
they were fitted to: the mean and deviation of numbers, how many classes there were, and how many
rows had come.

Of an inner node there are its column, and its children: the first where the column's value is at
most the threshold. A leaf is called by ``~number``.
"""

cdef enum:
    # The fields of `BoostedTrees.totals`: rows remembered so far, after how many trees are fitted,
    # and values in all rows that are not 0.
    SEEN, DUE, FILLED, N_TOTALS

cdef enum:
    # The fields of the last array of `NONE`.
    MEAN, DEVIATION, CLASSES, ROWS


cdef class BoostedTrees(Member):
    """Boosted trees on the last rows.

    Attributes
    ----------
    window : ndarray of float32, shape (size, n_features)
        The rows that are remembered, each in the place of the one `size` rows before.
    targets, worths : ndarray of float64, shape (size,)
    totals : ndarray of float64, shape (3,)
        See `SEEN` and those after it.
    trees : tuple of ndarray
        See `NONE`.
    ahead : tuple of ndarray
        Trees that are fitted to all rows so far, for predictions of many rows without labels; empty
        if there are none, and from the next row on.

    Examples
    --------
    >>> rows = np.random.RandomState(0).rand(1000, 2).astype(np.float32)
    >>> classes = ((rows > 0.5).sum(axis=1) == 1).astype(float)  # exclusive or
    >>> found = BoostedTrees(2, 2).learn(rows, classes)
    >>> bool((found[800:].argmax(axis=1) == classes[800:]).mean() > 0.95)
    True
    """

    kept = "remembered", "totals", "trees", "ahead"

    cdef public float[:, ::1] window
    cdef public double[::1] targets, worths, totals
    cdef public int32_t[:, ::1] inner
    cdef public double[::1] thresholds, leaves
    cdef public int32_t[::1] roots
    cdef double[::1] fitted_to
    cdef object _ahead
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
        self.totals[SEEN], self.totals[DUE], self.totals[FILLED] = 0.0, FIRST, 0.0
        self.trees, self.ahead = NONE, ()

    @property
    def remembered(self):
        """Rows that are remembered, their targets and worths."""
        arrays = map(np.asarray, [self.window, self.targets, self.worths])
        return tuple(each[: int(min(self.totals[SEEN], len(each)))] for each in arrays)

    @remembered.setter
    def remembered(self, arrays):
        places = map(np.asarray, [self.window, self.targets, self.worths])
        for place, each in zip(places, arrays, strict=True):
            place[: len(each)] = each

    @property
    def trees(self):
        """The trees of the last fit, see `NONE`."""
        arrays = [self.inner, self.thresholds, self.leaves, self.roots, self.fitted_to]
        return tuple(map(np.asarray, arrays))

    @trees.setter
    def trees(self, trees):
        self.inner, self.thresholds, self.leaves, self.roots, self.fitted_to = trees

    @property
    def ahead(self):
        """Trees that are fitted to all rows so far; empty if a row came after they were."""
        *_, fitted_to = self._ahead or NONE
        return self._ahead if fitted_to[ROWS] == self.totals[SEEN] else ()

    @ahead.setter
    def ahead(self, trees):
        now = self.trees
        self.trees = trees or now  # an error if these are not trees
        self.trees, self._ahead = now, trees

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
        seen, filled = self.totals[SEEN], self.totals[FILLED]
        columns = filled / seen if seen else self.n_features
        return self.rounds * self.outputs * (DESCENT + TRAINING * columns)

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
        self.totals[DUE] = self.totals[SEEN] + min(self.totals[SEEN], len(self.targets))
        wide = self.totals[FILLED] > MOST_FILLED * self.totals[SEEN]
        found = () if wide else self._fit()
        self.trees = found or self.trees
        return bool(found)

    def fit_ahead(self) -> None:
        """Set `ahead`: the trees if they are of the last row, else a new fit; none before the first."""
        if not self.is_silent and not self.ahead:
            self.ahead = self.trees if self.fitted_to[ROWS] == self.totals[SEEN] else self._fit()

    def _fit(self):
        """Return trees that are fitted to the rows; none if all have the same target."""
        seen, size = int(self.totals[SEEN]), len(self.targets)
        last = np.arange(max(0, seen - size), seen) % size
        rows, targets = np.asarray(self.window)[last], np.asarray(self.targets)[last]
        if (targets == targets[0]).all():
            return ()
        # Numbers in units of their deviation, weights in units of their mean.
        fitted_to, objective = np.zeros(4), f"multiclass num_class={self.n_classes}"
        fitted_to[CLASSES], fitted_to[ROWS] = self.n_classes, seen
        if not self.n_classes:
            fitted_to[MEAN], fitted_to[DEVIATION] = targets.mean(), targets.std()
            targets, objective = (targets - targets.mean()) / targets.std(), "regression"
        elif self.n_classes == 2:
            objective = "binary"
        rate = min(HIGHEST_RATE, SUM_OF_RATES / self.rounds)
        worths = np.asarray(self.worths)[last]
        worths = worths / worths.mean()
        return *fit(
            rows, targets, worths, f"objective={objective} learning_rate={rate}", self.rounds
        ), fitted_to

    def grow(self, n_features: int, n_classes: int) -> None:
        """Go on with more columns, which were 0 until now, and classes."""
        before = plain.values_of(self, self.kept)
        self.__init__(n_features, n_classes, self.seed)
        rows, *rest = before["remembered"]
        if rows.shape[1]:  # else there was no column until now
            np.asarray(self.window)[: len(rows), : rows.shape[1]] = rows
            np.asarray(self.targets)[: len(rows)], np.asarray(self.worths)[: len(rows)] = rest
            for name in ("totals", "trees", "ahead"):
                setattr(self, name, before[name])

    cdef void take(self, const Given *given, double *found) noexcept nogil:
        """See `Member.take`; nothing is written before the first fit."""
        cdef double *totals = &self.totals[0]
        if self.roots.shape[0] and not given.again:
            self.predict(given.example, found)
        if given.worth > 0.0:
            # Remember it in the place of the oldest.
            place = <Py_ssize_t>totals[SEEN] % self.targets.shape[0]
            for j in range(self.n_features):
                self.window[place, j] = given.example[j]
                totals[FILLED] += given.example[j] != 0.0
            self.targets[place], self.worths[place] = given.target, given.worth
            totals[SEEN] += 1.0

    cdef void predict(self, const float *row, double *found) noexcept nogil:
        """Write what the trees say of a row."""
        cdef Py_ssize_t n_trees = self.roots.shape[0], tree, j
        cdef Py_ssize_t k = <Py_ssize_t>self.fitted_to[CLASSES]
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
            found[0] = self.fitted_to[MEAN] + self.fitted_to[DEVIATION] * scores[0]
            return
        if k == 2:
            scores[0], scores[1] = 0.0, scores[0]
        soften(scores, found, k)
        for j in range(k, self.n_classes):
            found[j] = 0.0


@cache
def library():
    """Return LightGBM's library; None where there is none, or, with a warning, none that loads."""
    found = find_spec("lightgbm")
    if found is None or found.origin is None:
        return None
    files = sorted(Path(found.origin).parent.rglob("lib_lightgbm.*"))
    try:
        loaded = ctypes.CDLL(str(files[0]))
    except (IndexError, OSError) as error:
        warnings.warn(f"LightGBM cannot be loaded, so no boosted trees: {error}", stacklevel=2)
        return None
    loaded.LGBM_GetLastError.restype = ctypes.c_char_p
    return loaded


def fit(rows, targets, weights, objective, rounds):
    """Fit boosted trees.

    Parameters
    ----------
    rows : ndarray of float32, shape (n_rows, n_columns)
    targets, weights : ndarray of float32, shape (n_rows,)
    objective : str
        LightGBM's, with parameters of its own.
    rounds : int

    Returns
    -------
    tuple of ndarray
        As the first four of `NONE`, in the order of the rounds, in each one tree for each output.

    Raises
    ------
    UsageError
        If LightGBM is not installed.
    """
    text = f"{PARAMETERS} {objective}".encode()
    rows = np.ascontiguousarray(rows)
    data, booster, ended = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_int()
    _call(
        "LGBM_DatasetCreateFromMat", rows.ctypes.data_as(ctypes.c_void_p), FLOAT32,
        ctypes.c_int32(len(rows)), ctypes.c_int32(rows.shape[1]), 1, text, None,
        ctypes.byref(data),
    )  # fmt: skip
    try:
        for name, values in ((b"label", targets), (b"weight", weights)):
            each = np.ascontiguousarray(values, np.float32)
            place = each.ctypes.data_as(ctypes.c_void_p)
            _call("LGBM_DatasetSetField", data, name, place, len(each), FLOAT32)
        _call("LGBM_BoosterCreate", data, text, ctypes.byref(booster))
        for _ in range(rounds):
            _call("LGBM_BoosterUpdateOneIter", booster, ctypes.byref(ended))
            if ended.value:
                break
        return _read(_text(booster))
    finally:
        if booster:
            _call("LGBM_BoosterFree", booster)
        _call("LGBM_DatasetFree", data)


def _call(name, *arguments):
    loaded = library()
    if loaded is None:
        raise UsageError(MISSING)
    if getattr(loaded, name)(*arguments):
        raise RuntimeError(f"LightGBM: {loaded.LGBM_GetLastError().decode()}")


def _text(booster):
    """Return a model as the text that LightGBM saves."""
    length = ctypes.c_int64()
    for _ in range(2):  # the first time for its length
        buffer = ctypes.create_string_buffer(length.value)
        _call(
            "LGBM_BoosterSaveModelToString", booster, 0, -1, SPLITS, length, ctypes.byref(length),
            buffer,
        )  # fmt: skip
    return buffer.value.decode()


def _read(text):
    """Return the trees of a model that LightGBM saved."""
    parts, roots, n_inner, n_leaves = [], [], 0, 0
    for block in text.split("\nTree=")[1:]:
        lines = dict(line.split("=", 1) for line in block.split("\n\n")[0].splitlines()[1:])
        leaves = np.array(lines["leaf_value"].split(), np.float64)
        if len(leaves) == 1:
            roots.append(~n_leaves)
            inner, thresholds = NONE[:2]
        else:
            # Nodes and leaves are numbered on from those of the trees before.
            roots.append(n_inner)
            names = "split_feature", "left_child", "right_child"
            inner = np.array([lines[name].split() for name in names], np.int32).T.copy()
            children = inner[:, 1:]
            children += np.where(children < 0, -n_leaves, n_inner).astype(np.int32)
            thresholds = np.array(lines["threshold"].split(), np.float64)
        parts.append((inner, thresholds, leaves))
        n_inner, n_leaves = n_inner + len(inner), n_leaves + len(leaves)
    if not parts:
        return NONE[:4]
    inner, thresholds, leaves = map(np.concatenate, zip(*parts, strict=True))
    return inner, thresholds, leaves, np.array(roots, np.int32)
