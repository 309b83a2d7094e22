"""Forecasters of other people's libraries on a stream, in environments of their own."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic.dataclasses import dataclass

from leaseboard.algorithms.reference.outside_forecaster import OutsideForecaster


@dataclass(frozen=True, kw_only=True)
class StreamPeer(OutsideForecaster):
    """A forecaster of River, set up as its documentation advises, in its own environment.

    It runs where ``leaseboard peers install river`` has been, on the rows, the order and the loss
    of all others, and is told a label when its forecast of it has come.

    Parameters
    ----------
    system : {"river"}
    learner : {"linear", "linear-plain", "hat", "arf", "srp", "bandit"}
        Linear models whose gradient is clipped, or is not; a Hoeffding adaptive tree; an adaptive
        random forest; streaming random patches; linear models with a bandit over their learning
        rates.

    Notes
    -----
    CPU and wall seconds are those of forecasting and learning alone; ``peak_memory_mb`` is the
    memory of its process. The event log does not tell what it does within.
    """

    many_classes: ClassVar[bool] = True

    system: Literal["river"] = "river"
    learner: Literal["linear", "linear-plain", "hat", "arf", "srp", "bandit"] = "linear"


@dataclass(frozen=True, kw_only=True)
class NumbersPeer(OutsideForecaster):
    """River's adaptive model rules, which forecast numbers alone; else as `StreamPeer`."""

    tasks: ClassVar[frozenset[str]] = frozenset(("regression",))

    system: Literal["river"] = "river"
    learner: Literal["amrules"] = "amrules"


@dataclass(frozen=True, kw_only=True)
class TwoClassPeer(OutsideForecaster):
    """River's ALMA, which tells two classes apart and no more; else as `StreamPeer`."""

    tasks: ClassVar[frozenset[str]] = frozenset(("classification",))

    system: Literal["river"] = "river"
    learner: Literal["alma"] = "alma"


@dataclass(frozen=True, kw_only=True)
class SamlbPeer(OutsideForecaster):
    """An AutoML system for streams as SAMLB 0.6 has it, at its defaults; else as `StreamPeer`.

    It runs where ``leaseboard peers install samlb`` has been.
    """

    many_classes: ClassVar[bool] = True

    system: Literal["samlb"] = "samlb"
    learner: Literal["asml", "evolutionary"] = "asml"


@dataclass(frozen=True, kw_only=True)
class SamlbClassesPeer(OutsideForecaster):
    """One of SAMLB's systems for classes alone; else as `SamlbPeer`."""

    many_classes: ClassVar[bool] = True
    tasks: ClassVar[frozenset[str]] = frozenset(("classification",))

    system: Literal["samlb"] = "samlb"
    learner: Literal["autoclass", "oaml"] = "autoclass"


@dataclass(frozen=True, kw_only=True)
class SamlbChaCha(OutsideForecaster):
    """FLAML's AutoVW as SAMLB calls it, for numbers alone; else as `SamlbPeer`.

    It writes all features into one namespace, so AutoVW, which tries interactions of namespaces,
    has none to try: it is no ChaCha but a choice of learning rates.
    """

    tasks: ClassVar[frozenset[str]] = frozenset(("regression",))

    system: Literal["samlb"] = "samlb"
    learner: Literal["chacha"] = "chacha"
