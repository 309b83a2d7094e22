"""FLAML's AutoVW on a stream, in an environment of its own."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic.dataclasses import dataclass

from algorithms.reference.outside_forecaster import OutsideForecaster


@dataclass(frozen=True, kw_only=True)
class AutoVWPeer(OutsideForecaster):
    """AutoVW of FLAML 2.7 with Vowpal Wabbit 9, on numbers, as its notebook has it.

    It runs where ``leaseboard peers install autovw`` has been, on the bench's groups of columns
    as namespaces.

    Parameters
    ----------
    system : {"autovw"}
    learner : {"stock", "patched"}
        As it is; or with the absolute error of one number computed without scikit-learn.

    Notes
    -----
    It goes through a set in the order of memory addresses, so two runs of one seed may differ.
    Its page knows regressions alone.
    """

    tasks: ClassVar[frozenset[str]] = frozenset(("regression",))

    system: Literal["autovw"] = "autovw"
    learner: Literal["stock", "patched"] = "stock"
