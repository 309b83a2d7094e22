"""Reading of one example, a dictionary of plain numbers and texts, into a row.

An example mostly has the keys of the one before, the same objects in the same order: then no key
is looked up. Whatever is odd is left to `leaseboard.algorithms.tables.features.FeatureMap.values`,
which makes the same row of all that is read here.

A missing number is imputed by the rows before, never by later ones.

The value before the gap is drawn towards the mean of the column's values so far:

    imputed value = mean + r · (value before - mean)

where r, within 0 and 1, is the correlation of a value with the one before it. Where neighbours
have nothing in common that is the running mean (r = 0); in a column that moves slowly it is the
last value (r = 1), and in a gap of many rows, each of which takes the imputed value before for
the value before, it goes from the last value to the mean.

In addition an *indicator*, a feature that is 1 in the gaps of a column, shows models that a value
is missing. It helps where that says something, and costs where many columns have gaps by chance:
so there is at most one for every `FEW` columns.
"""

import numpy as np

from cpython.dict cimport PyDict_Next, PyDict_Size
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_CheckExact
from cpython.ref cimport PyObject
from cpython.unicode cimport PyUnicode_CheckExact
from libc.float cimport FLT_MAX
from libc.math cimport fabs
from libc.string cimport memset

from leaseboard.algorithms.tables.values import PLAIN

FEW = 4
"""One column in so many may have an indicator of its gaps."""

MISSING = "missing"
"""Part of a column that marks its gaps."""

cdef frozenset plain = PLAIN

cdef enum:
    # Of each column: how many values, their mean, the value of the row before (imputed in a gap),
    # whether that was not imputed, and the sums of which r is the ratio.
    COUNT, MEAN, BEFORE, FOLLOWS, SQUARES, PRODUCTS, N_FIELDS


cdef inline void fill_row(float *row, double *state, Py_ssize_t n, bint learns) noexcept nogil:
    """Put a number in the place of each NaN of a row; see the module."""
    cdef bint missing
    for j in range(n):
        value, mean = <double>row[j], state[MEAN * n + j]
        missing = value != value
        # Fill a gap.
        if missing:
            squares, r = state[SQUARES * n + j], 0.0
            if squares > 0.0:
                r = min(max(state[PRODUCTS * n + j] / squares, 0.0), 1.0)
            value = mean + r * (state[BEFORE * n + j] - mean)
            row[j] = <float>value
        if not learns:
            continue
        # Learn a value: its correlation with the one before, and the mean.
        if not missing:
            if state[FOLLOWS * n + j] > 0.0:
                state[SQUARES * n + j] += (value - mean) * (value - mean)
                state[PRODUCTS * n + j] += (value - mean) * (state[BEFORE * n + j] - mean)
            state[COUNT * n + j] += 1.0
            state[MEAN * n + j] += (value - mean) / state[COUNT * n + j]
        state[BEFORE * n + j] = value
        state[FOLLOWS * n + j] = 0.0 if missing else 1.0

cdef extern from *:
    double WHOLE "9007199254740992.0"  # larger integers are not exact in a double


def new_gaps(Py_ssize_t n_columns):
    """Return the state of columns of which nothing was seen, to fill their gaps by."""
    return np.zeros((N_FIELDS, n_columns))


def indicator(name):
    """Return the name of the feature that is 1 where column `name` has a gap."""
    return f"{name} is {MISSING}"


cdef class RowReader:
    """Reader of examples that have known features.

    Parameters
    ----------
    numbers : dict of str to int
        The column of each feature that is the number of its name.
    gaps : ndarray of float64, shape (6, n_features)
        See `new_gaps`.
    column_of_text : callable
        Returns the column of a name and a text, the column of its code, -1 if the first is of this
        text alone, and the code; None if the text needs a closer look.

    Attributes
    ----------
    example : ndarray of float32, shape (n_features,)
        The row that was read last.
    texts : dict of str to dict
        Of each name the columns of the texts that were read and have their own.
    """

    def __init__(self, dict numbers, double[:, ::1] gaps, column_of_text):
        cdef Py_ssize_t n = gaps.shape[1]
        self.n_features, self._numbers, self._gaps = n, numbers, gaps
        self._column_of_text, self.texts = column_of_text, {}
        self.example = np.zeros(n, dtype=np.float32)
        cdef float[::1] row = self.example
        self.row = &row[0]
        self._keys, self._texts_at = [None] * n, [None] * n
        self._columns = np.zeros(n, dtype=np.intp)
        self._came = np.zeros(n, dtype=np.ulonglong)

    cpdef void learn_gaps(self) noexcept:
        """Fill the gaps of `example`, and let it be part of what the next row's are filled by."""
        fill_row(self.row, &self._gaps[0, 0], self.n_features, True)

    def fill_gaps(self):
        """Fill the gaps of `example`, which is taken for the next row.

        Examples
        --------
        >>> reader = RowReader({}, new_gaps(1), None)
        >>> for value in (1.0, 3.0):
        ...     reader.example[:] = value
        ...     reader.learn_gaps()
        >>> reader.example[:] = np.nan
        >>> reader.fill_gaps()
        >>> reader.example.tolist()
        [2.0]
        """
        fill_row(self.row, &self._gaps[0, 0], self.n_features, False)

    cpdef bint read(self, object example) except -1:
        """Fill `example`, of which what is not named counts 0; False if `values` has to read it."""
        if type(example) is not dict or not 0 < PyDict_Size(example) <= self.n_features:
            return False
        if PyDict_Size(example) < self.n_features:
            memset(self.row, 0, self.n_features * sizeof(float))
        self._number += 1
        cdef Py_ssize_t position = 0, place = 0, column
        cdef PyObject *key
        cdef PyObject *value
        cdef double number
        while place < self.n_features and PyDict_Next(example, &position, &key, &value):
            # Which feature it is: mostly that at the same place of the example before.
            if <object>key is not self._keys[place] and not _meet(self, place, <object>key):
                return False
            column = self._columns[place]
            # A number is in that column, a text in its own.
            if PyFloat_CheckExact(<object>value):
                number = PyFloat_AS_DOUBLE(<object>value)
            elif PyUnicode_CheckExact(<object>value):
                column, number = _text(self, place, <object>value), 1.0
            elif type(<object>value) in plain:
                try:
                    number = float(<object>value)
                except OverflowError:
                    return False
                if fabs(number) >= WHOLE:
                    return False
            else:
                return False
            # Without a column, infinite, a gap, or a second one of its name.
            if column < 0 or not -FLT_MAX <= number <= FLT_MAX:
                return False
            if self._came[column] == self._number:
                return False
            self._came[column] = self._number
            self.row[column] = <float>number
            place += 1
        return True


cdef bint _meet(RowReader reader, Py_ssize_t place, object key) except -1:
    """Note the key at a place; False if it is not a name."""
    if type(key) is not str and type(key) is not int:
        return False
    name = key if type(key) is str else str(key)
    reader._columns[place] = reader._numbers.get(name, -1)
    reader._keys[place], reader._texts_at[place] = key, reader.texts.get(name)
    return True


cdef Py_ssize_t _text(RowReader reader, Py_ssize_t place, object text) except -2:
    """Return the column of a text of the name at a place; -1 if it needs a closer look."""
    cdef Py_ssize_t column, coded
    cdef double code
    known = reader._texts_at[place]
    found = None if known is None else (<dict>known).get(text)
    if found is not None:
        return found
    held, name = text, str(reader._keys[place])  # whatever becomes of the example meanwhile
    answer = reader._column_of_text(name, held)
    if answer is None:
        return -1
    column, coded, code = answer
    if coded < 0:  # any number of texts share one of the others
        reader._texts_at[place] = reader.texts.setdefault(name, {})
        (<dict>reader._texts_at[place])[held] = column
    elif reader._came[coded] == reader._number:
        return -1
    else:
        reader._came[coded] = reader._number
        reader.row[coded] = <float>code
    return column
