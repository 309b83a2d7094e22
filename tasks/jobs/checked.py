"""One promise of an algorithm, checked where its clocks are looked at too."""

from __future__ import annotations

from leaseboard.algorithms import checks
from leaseboard.tasks.machine import clocks


def broken(algorithm: str, name: str) -> str:
    """As `leaseboard.algorithms.checks.broken`; an algorithm that changes the clocks keeps no
    promise.
    """
    return checks.broken(algorithm, name) or clocks.changed()
