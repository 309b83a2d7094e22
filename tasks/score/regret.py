"""Regret over time of policies over arms, against the best reward on record of each repetition."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from leaseboard.tasks.score.inference import mean_interval
from leaseboard.tasks.score.table import Floats, significant

Where = tuple[str, int]
"""A dataset and a repetition."""


def regret_of(curve: Floats, top: float, n_trials: int) -> float:
    """Return the mean regret over `n_trials` trials.

    `curve`: the best reward after each trial; a policy that stopped keeps its last one.

    Examples
    --------
    >>> regret_of(np.array([0.5, 0.75]), 1.0, 4)
    0.3125
    """
    left = top - np.concatenate([curve, np.full(n_trials - len(curve), curve[-1])])
    return float(left.mean())


def regrets(runs: Mapping[Where, Mapping[str, Floats]]) -> pd.DataFrame:
    """Return every algorithm's mean regret in hundredths and rank, the least regret first.

    - `runs`: the best reward after each trial, by dataset and repetition, then by label. Only
      those that all labels finished count.

    Returns
    -------
    DataFrame
        By label: the number of runs; regret over time and rank among all within a repetition, as
        `Interval`; how many times it is the regret of the first label. Empty if there is nothing
        to compare.
    """
    labels = list(dict.fromkeys(label for by_label in runs.values() for label in by_label))
    whole = {where: runs[where] for where in runs if runs[where].keys() == set(labels)}
    if len(labels) < 2 or not whole:
        return pd.DataFrame()
    found = {}
    for where, by_label in whole.items():
        top, n_trials = max(c.max() for c in by_label.values()), max(map(len, by_label.values()))
        found[where] = {label: regret_of(by_label[label], top, n_trials) for label in labels}
    frame = pd.DataFrame(found).T  # a row a dataset and repetition, a column a label
    ranks = frame.apply(lambda column: significant(column.to_numpy())).rank(axis=1)
    # What intervals are over: dataset means, or the repetitions of a single dataset.
    level = 0 if frame.index.get_level_values(0).nunique() > 1 else 1
    regret, rank = (each.groupby(level=level).mean() for each in (100 * frame, ranks))
    means = regret.mean().sort_values(kind="stable")
    shown = {
        "Runs": dict.fromkeys(labels, len(whole)),
        "Mean regret": {label: mean_interval(regret[label].to_numpy()) for label in labels},
        "Times the first": (means / (means.iloc[0] or np.nan)).fillna(1.0),
        "Mean rank": {label: mean_interval(rank[label].to_numpy()) for label in labels},
    }
    return pd.DataFrame(shown, means.index)
