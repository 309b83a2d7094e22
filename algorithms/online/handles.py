"""Many arrays handed to compiled code as one, which says where each is in memory.

Python takes an array apart for compiled code in a tenth of a microsecond, so a dozen of them cost
more than one example's arithmetic. Whoever makes a handle keeps its arrays, and makes a new one
when they change. What is called for every example is called by its `entry`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import typeof, types
from numba.extending import intrinsic
from numba.np.numpy_support import carray
from numpy.typing import NDArray

Handle = NDArray[np.int64]
"""A row an array: its address and its shape, padded with zeros."""

_MOST_DIMENSIONS = 3


def handle_of(*arrays: NDArray[Any]) -> Handle:
    """Where these arrays are, each of three dimensions at most; ValueError if one has gaps."""
    rows = np.zeros((len(arrays), 1 + _MOST_DIMENSIONS), dtype=np.int64)
    for row, array in zip(rows, arrays, strict=True):
        if not array.flags.c_contiguous:
            raise ValueError(f"an array of shape {array.shape} is not contiguous: copy it")
        row[: 1 + array.ndim] = array.ctypes.data, *array.shape
    return rows


def entry(function: Any, *arguments: Any) -> Callable[..., Any]:
    """What calls a compiled function with arguments of the same types as these.

    It does not ask for them, which takes as long as the call: who calls it knows that every array
    is of its type and contiguous.
    """
    called: Callable[..., Any] = function.compile(tuple(map(typeof, arguments)))
    return called


def _pointer(typing_context: Any, address: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], context.get_value_type(types.voidptr))

    return types.voidptr(types.int64), generate


pointer: Any = intrinsic(_pointer)
array_at: Any = carray
"""``array_at(pointer(address), shape, dtype)`` is the array there."""
