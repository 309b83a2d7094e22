"""Does a run depend on what it had not been told? Two runs whose benches differ only from then on.

A prediction of example k may depend on the labels before it and on the features up to its own,
whatever the size of the block in which it is handed in; on the hold-out bench the features of all
training rows are known at once, the test rows' are not known to training. The choice of a pull or
a probe may depend on the results of those before. What happened until then, in deeds and events,
must be the same in both runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from leaseboard.algorithms.base import Bench
from leaseboard.algorithms.benches.holdout import HoldoutBench
from leaseboard.algorithms.benches.referee import Referee
from leaseboard.algorithms.benches.stream import StreamBench
from leaseboard.algorithms.events import Event, Finished, ProbeFinished, TrialFinished
from leaseboard.algorithms.log_format import to_json


@dataclass(frozen=True, slots=True)
class Played:
    """A whole run: its bench, who watched it, and its events."""

    bench: Bench
    referee: Referee
    log: list[Event]


def first_difference(same: int, one: Played, other: Played) -> str:
    """Where the runs part although their benches do so only after `same` answers; or nothing.

    Parameters
    ----------
    same : int
        How many answers were alike: labels, trials or probes.
    """
    if not one.bench.paid:
        found = _predicted(same, one, other) or _events(_until(same, one), _until(same, other))
        if not found and isinstance(one.bench, HoldoutBench) and same >= one.bench.n_train:
            found = _deeds(one.referee.deeds, other.referee.deeds)
        return found and f"{found} although nothing changes before the label of example {same}"
    found = _deeds(_up_to(same, one), _up_to(same, other)) or _events(
        _answered(same, one), _answered(same, other)
    )
    return found and f"{found} although the first {same} answers are the same"


def _predicted(same: int, one: Played, other: Played) -> str:
    mine, theirs = (_predictions(played)[: same + 1] for played in (one, other))
    n = min(len(mine), len(theirs))
    alike = (mine[:n] == theirs[:n]) | (np.isnan(mine[:n]) & np.isnan(theirs[:n]))
    moved = np.argwhere(~alike)
    if len(moved):
        t = tuple(moved[0].tolist())
        which = str(t[0]) + "".join(f", class {k}," for k in t[1:])
        return f"the prediction of example {which} moves from {mine[t]:g} to {theirs[t]:g}"
    return "" if len(mine) == len(theirs) else f"{len(mine)} predictions become {len(theirs)}"


def _predictions(played: Played) -> Any:
    """What was handed in, of three and more classes a column each."""
    blocks = [np.asarray(given[0]) for name, given, _ in played.referee.deeds if name == "record"]
    bench = played.bench
    many: tuple[str, ...] = ()
    if isinstance(bench, StreamBench):
        many = bench.stream.classes
    elif isinstance(bench, HoldoutBench):
        many = bench.holdout.classes
    if many:
        blocks = [np.pad(each, ((0, 0), (0, len(many) - each.shape[1]))) for each in blocks]
    return np.concatenate([np.empty((0, len(many)) if many else 0, np.float32), *blocks])


def _until(same: int, played: Played) -> list[Event]:
    return [e for e in played.log if e.at <= same and not isinstance(e, Finished)]


def _up_to(same: int, played: Played) -> list[Any]:
    """The deeds until `same` answers were paid for, and the next that is."""
    paid = [i for i, deed in enumerate(played.referee.deeds) if deed[0] in played.bench.paid]
    return played.referee.deeds[: paid[same] + 1 if same < len(paid) else None]


def _answered(same: int, played: Played) -> list[Event]:
    """The events until `same` answers were told."""
    told = (TrialFinished, ProbeFinished)
    places = [i for i, event in enumerate(played.log) if isinstance(event, told)]
    if same > len(places):
        return played.log[:-1]
    return played.log[: places[same - 1] + 1 if same else 1]


def _deeds(mine: Sequence[Any], theirs: Sequence[Any]) -> str:
    for n, (one, other) in enumerate(zip(mine, theirs, strict=False)):
        if _plain(one) != _plain(other):
            return f"its deed {n} moves from {_said(one)} to {_said(other)}"
    return "" if len(mine) == len(theirs) else f"{len(mine)} deeds become {len(theirs)}"


def _plain(deed: Any) -> Any:
    """A deed as values that can be compared: arrays by their bytes."""
    name, given, named = deed
    values = [*given, *named.values()]
    return name, list(named), [v.tobytes() if isinstance(v, np.ndarray) else v for v in values]


def _said(deed: Any) -> str:
    """A deed in a few words."""
    name, given, named = deed
    values = [*given, *named.values()]
    said = (f"{len(v)} values" if isinstance(v, np.ndarray) else repr(v) for v in values)
    return f"{name}({', '.join(said)})"


def _events(mine: Sequence[Event], theirs: Sequence[Event]) -> str:
    told, other = ([to_json(_tested(event)) for event in log] for log in (mine, theirs))
    for n, (one, two) in enumerate(zip(told, other, strict=False)):
        if one != two:
            return f"its event {n} moves from {one} to {two}"
    return "" if len(told) == len(other) else f"{len(told)} events become {len(other)}"


def _tested(event: Event) -> Event:
    """An event without the test score, which the bench adds and no policy is told."""
    return replace(event, test=None) if isinstance(event, TrialFinished) else event
