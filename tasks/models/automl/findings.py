"""Findings of a selection, for readers: a table of configurations, and the guarantee."""

import re
from collections.abc import Sequence

import pandas as pd

from leaseboard.algorithms.environments.folds import FoldsEnvironment
from leaseboard.algorithms.events import (
    BoundsUpdated,
    ChampionChanged,
    ConfigurationFailed,
    Eliminated,
    Event,
    ExploitivenessViolated,
    Finished,
    MonotonicityViolated,
    ProbeFinished,
    Started,
    of,
)

_NUMBER = re.compile(r"configuration (\d+)")


def table(events: Sequence[Event], names: Sequence[str]) -> pd.DataFrame:
    """Return a row for each configuration, the best first.

    Columns: name; outcome, ``chosen``, ``left``, ``dropped`` or ``failed``, with its reason; the
    training rows of its last probe, accuracies on these and on the test rows, bounds, and the CPU
    seconds of all its probes. What was not measured is missing.
    """
    rows: list[dict[str, object]] = [
        {"name": name, "outcome": "left", "reason": "", "rows": 0, "cpu_seconds": 0.0}
        for name in names
    ]
    for probe in of(events, ProbeFinished):
        row = rows[probe.configuration]
        row["rows"] = probe.rows
        row["train_accuracy"] = probe.train_accuracy
        row["test_accuracy"] = probe.test_accuracy
        row["cpu_seconds"] += probe.cpu_seconds  # type: ignore[operator]
    for bounds in of(events, BoundsUpdated):
        found = {"test_accuracy": bounds.value, "lower": bounds.lower, "upper": bounds.upper}
        rows[bounds.configuration] |= found
    for left in of(events, Eliminated):
        reason = with_names(left.reason, names)
        rows[left.configuration] |= {"outcome": "dropped", "reason": reason}
    for failed in of(events, ConfigurationFailed):
        rows[failed.configuration] |= {"outcome": "failed", "reason": failed.reason}
    for champion in of(events, ChampionChanged)[-1:]:
        rows[champion.configuration]["outcome"] = "chosen"
    measured = ["train_accuracy", "test_accuracy", "lower", "upper"]
    columns = ["name", "outcome", "rows", *measured, "cpu_seconds", "reason"]
    board = pd.DataFrame(rows, columns=columns).astype(dict.fromkeys(measured, "float64"))
    rank = board["outcome"].map({"chosen": 0, "left": 1, "dropped": 2, "failed": 3})
    order = board.assign(rank=rank).sort_values(
        ["rank", "rows", "test_accuracy"], ascending=[True, False, False], kind="stable"
    )
    return board.loc[order.index]


def with_names(reason: str, names: Sequence[str]) -> str:
    """Return a reason with the names of configurations in place of their numbers.

    Examples
    --------
    >>> with_names("duplicate of configuration 1", ["tree", "forest"])
    "duplicate of 'forest'"
    """
    return _NUMBER.sub(lambda found: repr(names[int(found[1])]), reason)


def guarantee(events: Sequence[Event], names: Sequence[str]) -> str:
    """Return the algorithm's guarantee for its choice, and observations that speak against it."""
    started, *_ = of(events, Started)
    epsilon, delta = (started.settings.get(name) for name in ("epsilon", "delta"))
    if epsilon is None or delta is None:
        return f"{started.algorithm} gives no guarantee"
    if started.settings.get("time_limit") is not None:
        return f"{started.algorithm} gives no guarantee under a time limit"
    guarantee = f"with probability {1 - delta:.4g} "
    if started.environment == FoldsEnvironment.kind:
        guarantee += f"the best of {len(names)} or one at most {epsilon:g} worse was not dropped"
        guarantee += ", if rows are exchangeable and the folds of each alike"
        return f"{guarantee}; this cannot be seen broken"
    guarantee += (
        f"the choice, trained on all training rows, loses at most {epsilon:g} of the accuracy on"
        f" the test rows of the best of {len(names)} configurations, if rows are"
        " exchangeable and "
    )
    if started.settings.get("bounds") == "paper":
        guarantee += "each of them fits its sample best and gets no worse with more rows"
        return f"{guarantee}; neither is checked"
    guarantee += "the best fits its sample best or goes on to gain no faster than in its last two"
    guarantee += " samples"
    guarantee += _checked(events, names)
    seen: tuple[tuple[type[MonotonicityViolated | ExploitivenessViolated], str], ...] = (
        (MonotonicityViolated, "the best fit of samples is broken, which was allowed for, by {}"),
        (
            ExploitivenessViolated,
            "accuracy fell with more rows for {}; the final check covers this",
        ),
    )
    for kind, what in seen:
        if found := sorted({names[event.configuration] for event in of(events, kind)}):
            guarantee += f"; {what.format(found)}"
    return guarantee


def _checked(events: Sequence[Event], names: Sequence[str]) -> str:
    """Return the accuracy in full of the choice and the bounds of those that were dropped."""
    choice = names[of(events, ChampionChanged)[-1].configuration]
    checked = f"; checked: {choice!r} reaches {of(events, Finished)[-1].score:.4f} in full"
    upper = {event.configuration: event.upper for event in of(events, BoundsUpdated)}
    dropped = [upper[e.configuration] for e in of(events, Eliminated) if e.configuration in upper]
    bound = f", those dropped at most {max(dropped):.4f} by their bounds" if dropped else ""
    return checked + bound


def failure(error: str, events: Sequence[Event], names: Sequence[str]) -> str:
    """Return why nothing can be chosen: if all failed, the reason of the first."""
    failed = of(events, ConfigurationFailed)
    if not failed or len(failed) < len(names) - 1:
        return with_names(error, names)
    first = failed[0]
    return f"all {len(names)} configurations fail, {names[first.configuration]!r}: {first.reason}"
