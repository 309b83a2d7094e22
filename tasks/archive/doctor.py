"""Checks of an installation: native libraries and the tracking store."""

import importlib
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from importlib.util import find_spec

from leaseboard.algorithms.errors import LeaseboardError, command_for
from leaseboard.tasks.machine.addresses import redacted
from leaseboard.tasks.track.store import SQLITE, open_store, reported

NATIVE = (
    "leaseboard.algorithms.transcendental", "vowpalwabbit", "lightgbm", "pyarrow.parquet",
)  # fmt: skip
"""Compiled modules; the first is one of our kernels."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Result of a check, and what to do if it is not healthy."""

    name: str
    healthy: bool
    detail: str


def examine(uri: str) -> Iterator[Finding]:
    """Yield the findings of all checks."""
    yield native_libraries()
    if find_spec("mlflow") is None:
        yield Finding("tracking store", True, f"MLflow is not installed: {command_for('flows')}")
        return
    try:
        open_store(uri)
        with reported(uri):
            yield store(uri)
    except LeaseboardError as error:
        yield Finding("tracking store", False, str(error))


def native_libraries() -> Finding:
    """Check that the learners' native code loads; LightGBM needs the system's libgomp."""
    broken = []
    for name in NATIVE:
        try:
            importlib.import_module(name)
        except (ImportError, OSError) as error:
            broken.append(f"{name}: {str(error).partition(chr(10))[0]}")
    return Finding("native libraries", not broken, "; ".join(broken) or ", ".join(NATIVE))


def store(uri: str) -> Finding:
    """Check that the tracking store is whole."""
    verdict = "ok"
    if uri.startswith(SQLITE):
        with closing(sqlite3.connect(uri.removeprefix(SQLITE), timeout=20)) as connection:
            (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    detail = redacted(uri) + ("" if verdict == "ok" else f" is damaged: {verdict}")
    return Finding("tracking store", verdict == "ok", detail)
