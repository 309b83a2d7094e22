"""How often the real accuracy left its interval, and which assumption that breaks."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from leaseboard.algorithms.events import (
    BoundsUpdated,
    ChampionChanged,
    Event,
    ProbeFinished,
    Started,
    of,
)


@dataclass(frozen=True, slots=True)
class Calibration:
    """Intervals of one run held against the accuracies of full training.

    Attributes
    ----------
    intervals : int
        Intervals whose configuration's real accuracy is known, those at full size left out.
    above : int
        Of them, those whose lower bound is above the real accuracy: the configuration did
        better on a sample than in full, so exploitiveness broke, or by chance.
    below : int
        Those whose upper bound is below it: the configuration did not fit its sample as well
        as it could, so fitness broke (or by chance). Under ``bounds="best"`` only those of the
        best configuration, as no other upper bound is guaranteed.
    loss : float or None
        A_i* - A_i' of the answer; None if an accuracy is unknown.
    """

    intervals: int
    above: int
    below: int
    loss: float | None


def real_accuracies(events: Iterable[Event], full: int | None = None) -> dict[int, float]:
    """Return A_i of every configuration that a log, such as Full-run's, has trained in full.

    Parameters
    ----------
    events : iterable of Event
    full : int, optional
        |D_tr|; by default the most rows of any probe in the log.
    """
    probes = [probe for probe in of(events, ProbeFinished) if probe.status == "ok"]
    full = full or max((probe.rows for probe in probes), default=0)
    return {probe.configuration: probe.test_accuracy for probe in probes if probe.rows == full}


def calibrate(events: Iterable[Event], real: Mapping[int, float], full: int) -> Calibration:
    """Return how the intervals of a log compare with the real accuracies.

    Parameters
    ----------
    events : iterable of Event
        Of a run with bounds.
    real : mapping of int to float
        A_i by configuration, from Full-run on the same environment.
    full : int
        |D_tr|.
    """
    log = list(events)
    known = [b for b in of(log, BoundsUpdated) if b.configuration in real and b.units < full]
    loss = None
    for last in of(log, ChampionChanged)[-1:]:
        if last.configuration in real:
            loss = max(real.values()) - real[last.configuration]
    guaranteed = set(real)
    if any(started.settings.get("bounds") == "best" for started in of(log, Started)):
        guaranteed = {index for index, accuracy in real.items() if accuracy == max(real.values())}
    return Calibration(
        intervals=len(known),
        above=sum(bounds.lower > real[bounds.configuration] for bounds in known),
        below=sum(
            bounds.upper < real[bounds.configuration]
            for bounds in known
            if bounds.configuration in guaranteed
        ),
        loss=loss,
    )
