"""A search as it runs: its audit, and MLflow kept out."""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from leaseboard.algorithms.audit import Auditor
from leaseboard.algorithms.base import Algorithm, Environment, play
from leaseboard.algorithms.events import Event


def audited(
    name: str, algorithm: Algorithm[Any], env: Environment, seed: int, log: list[Event]
) -> Auditor:
    """Run an algorithm; return the auditor of its events, which are appended to `log`."""
    auditor = Auditor()
    for event in play(name, algorithm, env, seed):
        auditor(event)
        log.append(event)
    auditor.close()
    return auditor


_SWITCH = "_AUTOLOGGING_GLOBALLY_DISABLED"
_lock = threading.Lock()
_found: list[bool] = []
"""What each fit that runs now found MLflow's switch to be; the first found what the caller set."""


@contextmanager
def without_autologging() -> Iterator[None]:
    """Keep MLflow's autologging, which the caller may have enabled, out of the fits within."""
    mlflow = sys.modules.get("mlflow.utils.autologging_utils")
    if mlflow is None:
        yield
        return
    with _lock:
        _found.append(vars(mlflow)[_SWITCH])
        vars(mlflow)[_SWITCH] = True
    try:
        yield
    finally:
        with _lock:  # the last value: the caller's comes last, whichever fit ends first
            vars(mlflow)[_SWITCH] = _found.pop()
