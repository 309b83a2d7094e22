"""Where the nodes of parallel apple work: here, in local processes, or on a Dask cluster.

All three are a ``concurrent.futures.Executor``, so the algorithm knows no difference, and the
results are the same byte for byte.
"""

from __future__ import annotations

import importlib
import importlib.util
import logging
import multiprocessing
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from typing import Any, Literal

from algorithms.errors import SkipError

Workers = Literal["serial", "processes", "dask"]


class Serial(Executor):
    """Runs each call at once in this process, one after the other."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Run `fn`; an exception is raised here already."""
        future: Future[Any] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


@contextmanager
def executor(workers: Workers, n_workers: int, address: str = "") -> Iterator[Executor]:
    """An executor that is shut down at the end.

    Parameters
    ----------
    workers : {"serial", "processes", "dask"}
    n_workers : int
        Processes of a local pool or of a local Dask cluster.
    address : str
        A Dask scheduler's; without one, a local cluster is started.
    """
    if workers == "serial":
        yield Serial()
    elif workers == "processes":
        # Spawned, because a fork would copy numba's and Arrow's threads in any state.
        spawn = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(n_workers, mp_context=spawn) as pool:
            yield pool
    else:
        with _dask(n_workers, address) as client:
            yield client.get_executor()


@contextmanager
def _dask(n_workers: int, address: str) -> Iterator[Any]:
    if importlib.util.find_spec("distributed") is None:
        raise SkipError("workers=dask needs the extra: pip install 'leaseboard[dask]'")
    distributed = importlib.import_module("distributed")
    if address:
        with distributed.Client(address) as client:
            yield client
    else:
        quiet = {"dashboard_address": ":0", "threads_per_worker": 1, "silence_logs": logging.ERROR}
        with (
            distributed.LocalCluster(n_workers=n_workers, **quiet) as cluster,
            distributed.Client(cluster) as client,
        ):
            yield client
