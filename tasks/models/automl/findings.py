"""Findings of a selection, for readers: a table of configurations, and the guarantee."""

from collections.abc import Sequence

import pandas as pd

from leaseboard.algorithms.environments.samples import FoldsEnvironment
from leaseboard.algorithms.events import (
    BoundsUpdated,
    ChampionChanged,
    ConfigurationFailed,
    Eliminated,
    Event,
    ExploitivenessViolated,
    MonotonicityViolated,
    ProbeFinished,
    Started,
    of,
)


def table(events: Sequence[Event], names: Sequence[str]) -> pd.DataFrame:
    """Return a row for each configuration, by its number, the best first.

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
        row |= {name: getattr(probe, name) for name in ("rows", "train_accuracy", "test_accuracy")}
        row["cpu_seconds"] += probe.cpu_seconds  # type: ignore[operator]
    for bounds in of(events, BoundsUpdated):
        found = {"test_accuracy": bounds.value, "lower": bounds.lower, "upper": bounds.upper}
        rows[bounds.configuration] |= found
    for left in of(events, Eliminated):
        rows[left.configuration] |= {"outcome": "dropped", "reason": left.reason}
    for failed in of(events, ConfigurationFailed):
        rows[failed.configuration] |= {"outcome": "failed", "reason": failed.reason}
    for champion in of(events, ChampionChanged)[-1:]:
        rows[champion.configuration]["outcome"] = "chosen"
    measured = ["train_accuracy", "test_accuracy", "lower", "upper"]
    columns = ["name", "outcome", "rows", *measured, "cpu_seconds", "reason"]
    board = pd.DataFrame(rows, columns=columns).astype(dict.fromkeys(measured, "float64"))
    board["outcome"] = pd.Categorical(
        board["outcome"], ["chosen", "left", "dropped", "failed"], ordered=True
    )
    return board.sort_values(["outcome", "rows", "test_accuracy"], ascending=[True, False, False])


def guarantee(events: Sequence[Event], names: Sequence[str]) -> str:
    """Return the algorithm's guarantee for its choice, and observations that speak against it."""
    started, *_ = of(events, Started)
    epsilon, delta = (started.settings.get(name) for name in ("epsilon", "delta"))
    if epsilon is None or delta is None or started.settings.get("time_limit") is not None:
        return f"{started.algorithm} gives no guarantee without epsilon or under a time limit"
    likely = f"with probability {1 - delta:.4g} "
    if started.environment == FoldsEnvironment.kind:
        return (
            f"{likely}the best of {len(names)} or one at most {epsilon:g} worse was not dropped,"
            " if rows are exchangeable and the folds of each alike"
        )
    fits = (
        "the best fits its sample best or goes on to gain no faster than in its last two samples"
    )
    if started.settings.get("bounds") == "paper":
        fits = "each of them fits its sample best and gets no worse with more rows"
    said = (
        f"{likely}the choice, trained on all training rows, loses at most {epsilon:g} of the"
        f" accuracy on the test rows of the best of {len(names)} configurations, if rows are"
        f" exchangeable and {fits}"
    )
    for kind, what in (
        (MonotonicityViolated, "the best fit of samples is broken, which was allowed for, by"),
        (ExploitivenessViolated, "the final check covers that accuracy fell with more rows for"),
    ):
        if found := sorted({names[event.configuration] for event in of(events, kind)}):
            said += f"; {what} {found}"
    return said
