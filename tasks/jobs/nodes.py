"""Where the nodes of a parallel learner work: here, in local processes, or on a Dask cluster.

The results are the same byte for byte.
"""

from __future__ import annotations

import functools
import importlib.util
import logging
import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from typing import Any, Literal

from leaseboard.algorithms.benches.holdout import Cluster, Nodes, one_by_one
from leaseboard.algorithms.errors import SkipError
from leaseboard.algorithms.parts import mend

Workers = Literal["serial", "processes", "dask"]


def cluster(workers: Workers, address: str = "") -> Cluster:
    """Nodes of that kind.

    Raises SkipError if Dask is not installed.

    - `address`: a Dask scheduler's; without one, a local cluster is started.
    """
    if workers == "serial":
        return one_by_one
    if workers == "processes":
        return _processes
    if importlib.util.find_spec("distributed") is None:
        raise SkipError(f"workers=dask needs the extra: {mend('dask')}")
    return functools.partial(_dask, address)


@contextmanager
def _processes(count: int) -> Iterator[Nodes]:
    # Spawned, because a fork would copy numba's and Arrow's threads in any state.
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(count, mp_context=spawn) as pool:
        yield pool


@contextmanager
def _dask(address: str, count: int) -> Iterator[Nodes]:
    from distributed import Client, LocalCluster

    if address:
        with Client(address) as client:
            yield client.get_executor()
        return
    quiet: dict[str, Any] = {
        "dashboard_address": ":0",
        "threads_per_worker": 1,
        "silence_logs": logging.ERROR,
    }
    with LocalCluster(n_workers=count, **quiet) as local, Client(local) as client:
        yield client.get_executor()
