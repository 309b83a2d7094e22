"""One example after another through a race: each a dictionary, read without Python's help."""

cimport cython
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_Check, PyFloat_CheckExact

from leaseboard.algorithms.online.row_calls cimport RowCalls
from leaseboard.algorithms.tables.row_reader cimport RowReader

from leaseboard.algorithms.tables.values import MOST
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
    decide : callable
        Is called where a decision is due.

    Attributes
    ----------
    one : RowCalls or ClassRow
        See `leaseboard.algorithms.online_automl.race.Race.single_calls`.
    """

    cdef object decide
    cdef readonly object one
    cdef RowCalls calls  # the same, where it is compiled
    cdef RowReader reader
    cdef bint reads

    def __init__(self, race, RowReader reader, bint reads, decide):
        self.reader, self.reads, self.decide = reader, reads, decide
        self.one = race.single_calls(reader.example)
        self.calls = self.one if isinstance(self.one, RowCalls) else None

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
        if self.calls.learn_row(label, importance):
            self.decide()
        return True
