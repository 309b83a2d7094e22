"""Vowpal Wabbit's own way with many classes: a learner of each against all others, ``--oaa``."""

from libc.math cimport fabs
from libc.stdint cimport int32_t, int64_t

import numpy as np

from leaseboard.algorithms.elementary cimport exp32
from leaseboard.algorithms.online.kernel cimport (
    FIELDS, LOGISTIC, ONE, WEIGHT, Model, clip, gather, mark_ends, update,
)

from leaseboard.algorithms.online.configuration import VWConfiguration
from leaseboard.algorithms.online.kernel import RANGE
from leaseboard.algorithms.online.layout import layouts

cdef float _LOW = RANGE[LOGISTIC][0], _HIGH = RANGE[LOGISTIC][1]


class OneAgainstAll:
    """Model of all classes, numbers from 0; its probabilities are Vowpal Wabbit's, bit for bit.

    Parameters
    ----------
    n_classes : int
        VW has to know it beforehand; what it thinks of a class that has not come is what it
        thinks of the others.

    Examples
    --------
    >>> schema = Schema(("a",), ((0,),), ("x",))
    >>> model = OneAgainstAll(schema, VWConfiguration(), 3)
    >>> numbers = np.tile(np.float32([0, 1, 2]), 200)
    >>> probabilities = model.learn_many(numbers[:, None] - 1, numbers)
    >>> probabilities.shape, probabilities[0].round(2).tolist(), probabilities[-1].argmax()
    ((600, 3), [0.33, 0.33, 0.33], np.int64(2))
    """

    def __init__(self, schema, configuration, n_classes: int):
        layout = layouts(schema).of_classes(configuration, n_classes)
        table = np.zeros((len(layout.indices), FIELDS), dtype=np.float32)
        self.n_classes = n_classes
        self._model = table, np.zeros((n_classes, 2)), layout, configuration.learning_rate

    def learn_many(self, examples, labels):
        """Learn a block in order; return its progressive probabilities.

        Parameters
        ----------
        examples : ndarray of float32, shape (n, n_features)
        labels : ndarray of float32, shape (n,)

        Returns
        -------
        ndarray of float64, shape (n, n_classes)
        """
        return self._pass(examples, labels.astype(np.int64))

    def predict_waiting(self, examples, pending):
        """See `leaseboard.algorithms.environments.arrival.StreamLearner`."""
        return self._pass(examples, np.full(len(examples), -1))

    def _pass(self, examples, numbers):
        margins = np.empty((len(numbers), self.n_classes), dtype=np.float32)
        learn_classes(np.ascontiguousarray(examples), numbers, *self._model, margins)
        return probabilities(margins).astype(np.float64)


def learn_classes(
    const float[:, ::1] examples, const int64_t[::1] numbers, float[:, ::1] table,
    double[:, ::1] sums, layout, float rate, float[:, ::1] margins,
):  # fmt: skip
    """Learn a block; write its progressive log odds of each class against the others.

    Parameters
    ----------
    examples : ndarray of float32, shape (n_examples, n_features)
    numbers : ndarray of int64, shape (n_examples,)
        Of classes, from 0; -1 for an example of which nothing is learned.
    table : ndarray of float32, shape (n_cells, 4)
        Shared by the models of all classes; updated.
    sums : ndarray of float64, shape (n_classes, 2)
        Of the normalisers; updated.
    layout : Layout
        Of all classes, see `leaseboard.algorithms.online.layout.Layouts.of_classes`.
    rate : float
        The learning rate.
    margins : ndarray of float32, shape (n_examples, n_classes)
        Written.
    """
    cdef const int32_t[:, ::1] factors = layout.factors, cells = layout.cells
    cdef Py_ssize_t n_classes = cells.shape[0], n_terms = cells.shape[1], t, k, count = 0
    cdef float[:, ::1] work = np.empty((4, n_terms), dtype=np.float32)
    cdef int32_t[:, ::1] places = np.empty((n_classes + 1, n_terms), dtype=np.int32)
    cdef int32_t *ends = &places[n_classes, 0]
    mark_ends(&factors[0, 0], n_terms, factors.shape[1], ends)
    # The model of a class, which has no range of labels of its own.
    cdef Model model = Model(
        &table[0, 0], NULL, NULL, &factors[0, 0], NULL, ends, n_terms, factors.shape[1], n_terms,
        rate, &work[3, 0], NULL, &work[0, 0],
    )  # fmt: skip
    for t in range(numbers.shape[0]):
        # Predict all classes before any learns, as one of them may share a weight with another.
        for k in range(n_classes):
            model.cells, model.places = &cells[k, 0], &places[k, 0]
            count = gather(&examples[t, 0], &model)
            margins[t, k] = clip(product_of_large(count, &model), _LOW, _HIGH)
        # Then let each learn whether it came.
        for k in range(n_classes if numbers[t] >= 0 else 0):
            model.places, model.sums = &places[k, 0], &sums[k, 0]
            update(count, margins[t, k], ONE if numbers[t] == k else -ONE, ONE, &model, LOGISTIC)


cdef float product_of_large(Py_ssize_t count, const Model *model) noexcept nogil:
    """Return `inner_product` of `leaseboard.algorithms.online.kernel` without values next to 0.

    VW passes these over where it predicts many classes at once, and there alone.
    """
    cdef float total = 0
    cdef Py_ssize_t feature
    for feature in range(count):
        if fabs(model.values[feature]) >= 1e-10:
            total += model.table[FIELDS * model.places[feature] + WEIGHT] * model.values[feature]
    return total


def probabilities(const float[:, ::1] margins):
    """Return the probabilities of log odds, scaled to 1 in each row; float32, in VW's order."""
    found = np.empty_like(margins)
    cdef float[:, ::1] each = found
    cdef float total, share
    cdef Py_ssize_t t, k
    for t in range(margins.shape[0]):
        # Each class's own probability, then all over their sum.
        total = 0
        for k in range(margins.shape[1]):
            each[t, k] = ONE / (ONE + exp32(-margins[t, k]))
            total += each[t, k]
        share = ONE / total
        for k in range(margins.shape[1]):
            each[t, k] *= share
    return found
