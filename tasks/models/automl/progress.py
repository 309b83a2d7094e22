"""A search as it runs: its audit, and MLflow kept out."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
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


@contextmanager
def without_autologging() -> Iterator[None]:
    """Keep MLflow's autologging, which the caller may have enabled, out of the fits within."""
    mlflow = sys.modules.get("mlflow.utils.autologging_utils")
    with mlflow.disable_autologging() if mlflow else nullcontext():
        yield
