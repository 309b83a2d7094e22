"""Many arrays handed to compiled code as one, which says where each is in memory.

Python takes an array apart for compiled code in a tenth of a microsecond, so a dozen of them cost
more than one example's arithmetic. The owner of a handle keeps its arrays, and makes a new one
when they change. What is called for every example is called by its `entry`.
"""

from __future__ import annotations

import functools
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


def address_of(array: NDArray[Any]) -> int:
    """Return where an array is in memory."""
    address: int = array.__array_interface__["data"][0]
    return address


def handle_of(*arrays: NDArray[Any]) -> Handle:
    """Return where these arrays are, of at most three dimensions; ValueError if one has gaps."""
    rows = np.zeros((len(arrays), 1 + _MOST_DIMENSIONS), dtype=np.int64)
    for row, array in zip(rows, arrays, strict=True):
        if not array.flags.c_contiguous:
            raise ValueError(f"an array of shape {array.shape} is not contiguous: copy it")
        row[: 1 + array.ndim] = address_of(array), *array.shape
    return rows


def entry(function: Any, *arguments: Any) -> Callable[..., Any]:
    """Return what calls a compiled function with arguments of the same types as these.

    It does not ask for them, which takes as long as the call: the caller knows that every array
    is of its type and contiguous. An object that outlives the call holds it inside a function of
    its own: what walks the references of a model, as River's measure of memory does, stops at
    functions, and would go through all of numba otherwise.
    """
    called: Callable[..., Any] = function.compile(tuple(map(typeof, arguments)))
    return called


def quick(function: Any) -> Callable[..., Any]:
    """Let a compiled function be called as for the arguments of its first call.

    For one that Python calls for every example, always with contiguous arrays of the same types:
    to find out types takes as long as the arithmetic.
    """
    found: Callable[..., Any] | None = None

    @functools.wraps(function.py_func)
    def call(*arguments: Any) -> Any:
        nonlocal found
        if found is None:
            found = function.compile(tuple(map(typeof, arguments)))
        return found(*arguments)

    call.py_func = function.py_func  # type: ignore[attr-defined]
    return call


def _pointer(typing_context: Any, address: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], context.get_value_type(types.voidptr))

    return types.voidptr(types.int64), generate


pointer: Any = intrinsic(_pointer)
array_at: Any = carray
"""``array_at(pointer(address), shape, dtype)`` is the array there."""
