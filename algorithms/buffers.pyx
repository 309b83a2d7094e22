"""Arrays by name, whose numbers compiled code reads and writes where they are."""

import numpy as np


cdef class Buffers:
    """Owner of arrays, and of other owners: attributes for Python, and typed ones for kernels.

    The array that Python calls `losses` is `_losses` in the methods of a subclass, which declares
    it. Each is written in place, and none is replaced but by `put`. All are saved
    (`leaseboard.algorithms.plain`).
    """

    def __init__(self, **arrays):
        self.arrays = {}
        self.put(**arrays)

    def __getattr__(self, str name):
        try:
            return self.arrays[name]
        except KeyError:
            raise AttributeError(name) from None

    @property
    def kept(self):
        return tuple(self.arrays)

    def put(self, **arrays):
        """Replace arrays; ValueError if one has gaps, or another type."""
        self.arrays |= arrays
        for name, array in arrays.items():
            setattr(self, "_" + name, array)


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
