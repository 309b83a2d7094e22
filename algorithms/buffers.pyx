"""Arrays by name, whose numbers compiled code reads and writes where they are."""

from libc.stdint cimport int64_t

import numpy as np

from cpython.buffer cimport (
    PyBUF_C_CONTIGUOUS,
    PyBUF_FORMAT,
    PyBuffer_Release,
    PyObject_GetBuffer,
)


cdef class Buffers:
    """Owner of arrays: attributes for Python, addresses for the methods of a subclass.

    Each is written in place, and none is replaced but by `put`. All are saved
    (`leaseboard.algorithms.plain`).

    Examples
    --------
    >>> import numpy as np
    >>> known = Buffers(losses=np.zeros(2))
    >>> known.losses[0] = 3.0
    >>> known.losses.tolist(), known.kept
    ([3.0, 0.0], ('losses',))
    """

    def __init__(self, **arrays):
        self.arrays = arrays
        self.locate()

    def __getattr__(self, str name):
        try:
            return self.arrays[name]
        except KeyError:
            raise AttributeError(name) from None

    @property
    def kept(self):
        return tuple(self.arrays)

    def put(self, **arrays):
        """Replace arrays."""
        self.arrays |= arrays
        self.locate()

    cdef int locate(self) except -1:
        """Find out where the arrays are; a subclass keeps their addresses."""
        return 0

    cdef double *doubles(self, str name) except NULL:
        return <double *> place_of(self.arrays[name], "d")

    cdef float *floats(self, str name) except NULL:
        return <float *> place_of(self.arrays[name], "f")

    cdef int64_t *numbers(self, str name) except NULL:
        return <int64_t *> place_of(self.arrays[name], "l")

    cdef unsigned char *flags(self, str name) except NULL:
        return <unsigned char *> place_of(self.arrays[name], "?")


cdef void *place_of(array, str code) except NULL:
    """Return where an array is; ValueError if it has gaps, or another type."""
    cdef Py_buffer found
    PyObject_GetBuffer(array, &found, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT)
    is_fit, place = found.format == code.encode(), found.buf
    PyBuffer_Release(&found)
    if not is_fit:
        raise ValueError(f"an array of {array.dtype} in the place of one of {code!r}")
    return place


def aligned_zeros(shape, dtype=np.float64):
    """Return zeros that begin with a line of the processor's cache, as vectors are read fastest.

    Examples
    --------
    >>> rows = aligned_zeros((3, 4), np.float32)
    >>> rows.shape, rows.dtype.name, rows.ctypes.data % 64
    ((3, 4), 'float32', 0)
    """
    n_bytes = int(np.prod(shape)) * np.dtype(dtype).itemsize
    room = np.zeros(n_bytes + 64, np.uint8)
    skipped = -room.ctypes.data % 64
    return room[skipped : skipped + n_bytes].view(dtype).reshape(shape)
