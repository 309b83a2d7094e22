"""FLAML's AutoVW on a stream, in an environment of its own."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic.dataclasses import dataclass

from leaseboard.algorithms.reference.outside_forecaster import OutsideForecaster


@dataclass(frozen=True, kw_only=True)
class AutoVWPeer(OutsideForecaster):
    """AutoVW of FLAML 2.7 with Vowpal Wabbit 9, on numbers, as its notebook has it.

    It runs where ``leaseboard peers install autovw`` has been, on the bench's groups of columns
    as namespaces.

    Parameters
    ----------
    system : {"autovw"}
    learner : {"stock", "patched", "squared"}
        As it is; or with the error of one number computed without scikit-learn; or this, and told
        that the squared error is what counts.

    Notes
    -----
    It goes through a set in the order of memory addresses, so two runs of one seed may differ.
    Its page knows regressions alone. Unless it is told otherwise it chooses by the absolute error
    of forecasts within the labels seen so far; the bench scores the squared one.
    """

    tasks: ClassVar[frozenset[str]] = frozenset(("regression",))

    system: Literal["autovw"] = "autovw"
    learner: Literal["stock", "patched", "squared"] = "stock"
