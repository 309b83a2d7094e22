"""What others do when this process compiles or loads kernels."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

beginning: list[Callable[[], object]] = []
"""What is called when this process compiles its first kernel."""

measuring: Callable[[], AbstractContextManager[object]] = nullcontext
"""Its context managers, nested, count the time in which kernels are compiled or loaded."""
