"""The regression gate: scores and promises of a run against the accepted ones."""

from tasks.gate.baseline import (
    Baseline,
    Scenario,
    accept,
    dropped,
    read_baseline,
    write_baseline,
)
from tasks.gate.promises import PromiseVerdict
from tasks.gate.quantities import DERIVED, Evidence, Quantity, measure
from tasks.gate.scores import TOLERANCE, Check
from tasks.gate.verdict import NOTHING_COMPARED, PASSED, REGRESSION, RUN_FAILED, Verdict, gate

__all__ = [
    "DERIVED",
    "NOTHING_COMPARED",
    "PASSED",
    "REGRESSION",
    "RUN_FAILED",
    "TOLERANCE",
    "Baseline",
    "Check",
    "Evidence",
    "PromiseVerdict",
    "Quantity",
    "Scenario",
    "Verdict",
    "accept",
    "dropped",
    "gate",
    "measure",
    "read_baseline",
    "write_baseline",
]
