"""What others do when this process compiles or loads kernels."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

beginning: list[Callable[[], object]] = []
"""What is called when this process compiles its first kernel."""

measured: Callable[[], AbstractContextManager[object]] = nullcontext
"""What a kernel is compiled or loaded within, and perhaps further ones in it."""
