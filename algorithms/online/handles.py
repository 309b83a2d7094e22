"""Many arrays handed to compiled code as one, which says where each is in memory.

Python takes an array apart for compiled code in a tenth of a microsecond, so a dozen of them cost
more than one example's arithmetic. The owner of a handle keeps its arrays, and makes a new one
when they change. What is called for every example is called by its `entry`.

A kernel that calls others by name contains them, and takes as long to compile as all of them. What
is compiled already it can call by its address (`Quick.address`, `call_at`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numba import typeof, types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.numpy_support import carray
from numpy.typing import NDArray

from leaseboard.algorithms.compilation import writable

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


class Quick(Protocol):
    """What calls a compiled function always for arguments of the same types."""

    py_func: Callable[..., Any]

    def __call__(self, *arguments: Any) -> Any:
        """Call it."""

    def address(self, *arguments: Any) -> int:
        """Return where it is, for `call_at` with arguments of the same types as these."""


def quick(function: Any) -> Quick:
    """Let a compiled function be called as for the arguments of its first call.

    For one that Python calls for every example, always with contiguous arrays of the same types:
    to find out types takes as long as the arithmetic.
    """
    found: Callable[..., Any] | None = None
    where = 0

    @functools.wraps(function.py_func)
    def call(*arguments: Any) -> Any:
        nonlocal found
        if found is None:
            found = function.compile(tuple(map(typeof, arguments)))
        return found(*arguments)

    def address(*arguments: Any) -> int:
        nonlocal where
        if not where:
            kinds = tuple(map(typeof, arguments))
            function.compile(kinds)
            one = function.overloads[tuple(map(writable, kinds))]
            where = one.library.get_pointer_to_function(one.fndesc.llvm_func_name)
        return where

    quick_call: Any = call
    quick_call.py_func, quick_call.address = function.py_func, address
    return quick_call  # type: ignore[no-any-return]


def _pointer(typing_context: Any, address: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], context.get_value_type(types.voidptr))

    return types.voidptr(types.int64), generate


pointer: Any = intrinsic(_pointer)
array_at: Any = carray
"""``array_at(pointer(address), shape, dtype)`` is the array there."""


def _call_at(typing_context: Any, address: Any, result: Any, arguments: Any) -> Any:
    returned, *kinds = map(types.unliteral, (result, *arguments))

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        tools: Any = cgutils
        given = tools.unpack_tuple(builder, values[2], len(kinds))
        given = [
            context.cast(builder, *each)
            for each in zip(given, signature.args[2], kinds, strict=True)
        ]
        type_of_code = context.call_conv.get_function_type(returned, kinds)
        code = builder.inttoptr(values[0], type_of_code.as_pointer())
        status, found = context.call_conv.call_function(builder, code, returned, kinds, given)
        with tools.if_unlikely(builder, status.is_error):
            context.call_conv.return_status_propagate(builder, status)
        return found

    return returned(types.int64, result, arguments), generate


call_at: Any = intrinsic(_call_at)
"""``call_at(address, result, arguments)`` calls the function there, which was compiled for just
these types of the arguments in a tuple, and returns a value of the type of `result`."""
