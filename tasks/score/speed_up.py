"""Speed-up of a policy to the validation score with which another one ended."""

from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd

from leaseboard.algorithms.events import Event, TrialFinished, of
from leaseboard.tasks.score.table import Floats

REFERENCES = ("smac-joint", "tpe-joint", "random-joint", "average")
"""Algorithms whose final score is the target, the first that ran (Li et al., Tables 3 and 4)."""


def progress_of(events: Iterable[Event]) -> Floats | None:
    """Return units, CPU seconds and best reward after each trial of a run; None without trials.

    Shape (3, n_trials).
    """
    trials = [(trial.at, trial.cpu_seconds, trial.reward) for trial in of(events, TrialFinished)]
    if not trials:
        return None
    units, seconds, rewards = np.array(trials, dtype=np.float64).T
    return np.vstack([units, seconds.cumsum(), np.maximum.accumulate(rewards.clip(min=0))])


def needed(progress: Floats, target: float) -> Floats:
    """Return units and CPU seconds until the best reward is at least `target`; infinite if never.

    Examples
    --------
    >>> needed(np.array([[1.0, 2.0], [0.5, 1.5], [0.3, 0.8]]), 0.7).tolist()
    [2.0, 1.5]
    """
    reached = np.flatnonzero(progress[2] >= target)
    return progress[:2, reached[0]] if len(reached) else np.full(2, np.inf)


def reference_of(labels: Iterable[str]) -> str | None:
    """Return the label whose final score is the target, if any of them ran."""
    here = set(labels)
    return next((label for label in REFERENCES if label in here), None)


def speed_ups(
    runs: Mapping[tuple[str, int], Mapping[str, Floats]], reference: str
) -> pd.DataFrame:
    """Return medians of every algorithm against `reference`, on repetitions both finished.

    - `runs`: progress by dataset and repetition, then by label.

    Returns
    -------
    DataFrame
        ``data``, ``label``; ``runs`` and ``reached``, repetitions and those in which the target
        was reached; ``units`` and ``cpu_seconds`` until then; ``times_units`` and ``times_cpu``,
        what the reference needed to reach its own final score over that. A run that never
        reaches the target needs infinitely much, and its speed-up is 0. Where there are several
        datasets, those over all of them come first, with `data` empty.
    """
    rows = []
    for (data, _), by_label in runs.items():
        if reference not in by_label:
            continue
        target = by_label[reference][2, -1]
        theirs = needed(by_label[reference], target)
        for label, progress in by_label.items():
            if label != reference:
                mine = needed(progress, target)
                # Synthetic trials cost nothing at all: then neither is faster.
                times = np.divide(theirs, mine, out=np.ones(2), where=mine > 0)
                rows.append((data, label, *mine, *times))
    measures = ["units", "cpu_seconds", "times_units", "times_cpu"]
    frame = pd.DataFrame(rows, columns=["data", "name", *measures])
    if frame.empty:
        return frame

    def medians(*keys: str) -> pd.DataFrame:
        groups = frame.groupby(list(keys), sort=False)
        reached = groups["units"].agg(lambda units: int(np.isfinite(units).sum()))
        return groups[measures].median().assign(runs=groups.size(), reached=reached).reset_index()

    found = medians("data", "name")
    if found["data"].nunique() > 1:
        found = pd.concat([medians("name").assign(data=""), found], ignore_index=True)
    return found
