"""One example after another through a race: each a dictionary, read without Python's help."""

cimport cython
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_Check, PyFloat_CheckExact
from libc.string cimport memcpy

from leaseboard.algorithms.online.row_calls cimport RowCalls
from leaseboard.algorithms.tables.row_reader cimport RowReader

from leaseboard.algorithms.tables.inputs import MOST
from leaseboard.algorithms.tables.values import LARGEST

cdef double _LARGEST = LARGEST, _MOST = MOST


@cython.final
cdef class SingleExample:
    """Way of one example after another, each in the row of a reader.

    Parameters
    ----------
    race : Race
    reader : RowReader
    reads : bool
        Whether the reader knows all of an example.
    last : LastRows or None
        Remembers what is learned.
    decide : callable
        Is called where a decision is due.

    Attributes
    ----------
    one : RowCalls or ClassRow
        See `leaseboard.algorithms.online_automl.race.Race.single_calls`.
    """

    cdef object race, decide
    cdef readonly object one
    cdef RowCalls calls  # the same, where it is compiled
    cdef RowReader reader
    cdef bint reads
    cdef float[:, ::1] rows
    cdef float[::1] labels, weights

    def __init__(self, race, RowReader reader, bint reads, last, decide):
        self.race, self.reader, self.reads, self.decide = race, reader, reads, decide
        self.one = race.single_calls(reader.example)
        self.calls = self.one if isinstance(self.one, RowCalls) else None
        if last is not None:
            self.rows, self.labels, self.weights = last.rows, last.labels, last.weights

    def predict(self, x):
        """Return the prediction of an example; None if it is odd, and to be read otherwise."""
        if not self.reads or not self.reader.read(x):
            return None
        return self.one.predict() if self.calls is None else self.calls.predict_row()

    def learn(self, x, y, w):
        """Learn a number, and return True; False if anything is odd, and nothing is learned."""
        if not self.reads or not PyFloat_CheckExact(w) or not PyFloat_Check(y):
            return False
        cdef double label = PyFloat_AS_DOUBLE(y), importance = PyFloat_AS_DOUBLE(w)
        if not 1e-30 < importance <= _MOST or not -_LARGEST <= label <= _LARGEST:
            return False
        if not self.reader.read(x):
            return False
        self.reader.learn_gaps()
        cdef Py_ssize_t at, place
        cdef bint due
        if self.labels is not None:  # as `LastRows.add_one`
            at = self.race.at if self.calls is None else self.calls.learned()
            place = at % self.labels.shape[0]
            memcpy(&self.rows[place, 0], self.reader.row, self.rows.shape[1] * sizeof(float))
            self.labels[place], self.weights[place] = <float>label, <float>importance
        if self.calls is None:
            due = self.one.learn(label, importance)
        else:
            due = self.calls.learn_row(label, importance)
        if due:
            self.decide()
        return True
