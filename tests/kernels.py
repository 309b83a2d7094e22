"""Each kernel is compiled by one process, while the others that want it wait and load it then."""

import fcntl
import os
from pathlib import Path

from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import Dispatcher

import leaseboard.algorithms  # noqa: F401 - it names the folder of compiled kernels


def compile_once():
    """Change numba in this process; left alone, all that start together compile the same."""
    compiled = Dispatcher.compile
    folder = Path(os.environ["NUMBA_CACHE_DIR"]) / "locks"
    folder.mkdir(parents=True, exist_ok=True)

    def compile_(self, signature):
        name = f"{self.py_func.__module__}.{self.py_func.__qualname__}"
        # A thread that compiles what needs this one must not wait for a lock that we hold.
        with global_compiler_lock, (folder / name).open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            try:
                return compiled(self, signature)
            finally:
                fcntl.flock(lock, fcntl.LOCK_UN)

    Dispatcher.compile = compile_
