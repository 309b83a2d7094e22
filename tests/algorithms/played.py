"""Whole runs, audited event by event, and what a generator leaves."""

from leaseboard.algorithms.audit import Auditor
from leaseboard.algorithms.base import play


def audited(name, algorithm, env, seed=0):
    """Return the events of a run, which the auditor has seen."""
    auditor, log = Auditor(), []
    for event in play(name, algorithm, env, seed):
        auditor(event)
        log.append(event)
    auditor.close()
    return log


def ended(generator):
    """Return what a generator yields, and what it returns."""
    found = []
    while True:
        try:
            found.append(next(generator))
        except StopIteration as stop:
            return found, stop.value
