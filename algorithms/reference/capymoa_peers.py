"""CapyMOA's learners on a stream, in an environment of their own."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic.dataclasses import dataclass

from leaseboard.algorithms.reference.outside_forecaster import OutsideForecaster


@dataclass(frozen=True, kw_only=True)
class CapyMoaForest(OutsideForecaster):
    """CapyMOA 0.15's adaptive random forest of a hundred trees, for numbers and classes.

    It runs where ``leaseboard peers install capymoa`` has been, which brings the Java machine that
    MOA runs in; all threads of it count.

    Parameters
    ----------
    system : {"capymoa"}
    learner : {"arf"}
    """

    many_classes: ClassVar[bool] = True

    system: Literal["capymoa"] = "capymoa"
    learner: Literal["arf"] = "arf"


@dataclass(frozen=True, kw_only=True)
class CapyMoaClassesPeer(OutsideForecaster):
    """One of CapyMOA's classifiers at its defaults; else as `CapyMoaForest`.

    Parameters
    ----------
    system : {"capymoa"}
    learner : {"hat", "srp", "boost", "leveraging", "autoclass"}
        A Hoeffding adaptive tree, streaming random patches, OzaBoost, leveraging bagging, or
        AutoClass as CapyMOA's notebook has it.
    """

    many_classes: ClassVar[bool] = True
    tasks: ClassVar[frozenset[str]] = frozenset(("classification",))

    system: Literal["capymoa"] = "capymoa"
    learner: Literal["hat", "srp", "boost", "leveraging", "autoclass"] = "hat"


@dataclass(frozen=True, kw_only=True)
class CapyMoaNumbersPeer(OutsideForecaster):
    """CapyMOA's self-optimising k nearest leaves, for numbers alone; else as `CapyMoaForest`."""

    tasks: ClassVar[frozenset[str]] = frozenset(("regression",))

    system: Literal["capymoa"] = "capymoa"
    learner: Literal["soknl"] = "soknl"
