"""Regret over time of policies over arms, against the best reward on record of each repetition."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from leaseboard.tasks.score.inference import mean_interval
from leaseboard.tasks.score.table import Floats, significant

Where = tuple[str, int]
"""A dataset and a repetition."""
SHARES = (0.25, 0.5, 1.0)
"""Of the budget, after which the regret is shown next to its mean over time."""


def regret_of(curve: Floats, top: float, n_trials: int) -> Floats:
    """Return the mean regret over `n_trials` trials, and that after `SHARES` of them.

    `curve`: the best reward after each trial; a policy that stopped keeps its last one.

    Examples
    --------
    >>> regret_of(np.array([0.5, 0.75]), 1.0, 4).tolist()
    [0.3125, 0.5, 0.25, 0.25]
    """
    left = top - np.concatenate([curve, np.full(n_trials - len(curve), curve[-1])])
    at = [max(round(share * n_trials), 1) - 1 for share in SHARES]
    return np.array([left.mean(), *left[at]])


def regrets(runs: Mapping[Where, Mapping[str, Floats]]) -> pd.DataFrame:
    """Return every algorithm's regret in hundredths and rank, the least mean regret first.

    - `runs`: the best reward after each trial, by dataset and repetition, then by label. Only
      those that all labels finished count.

    Returns
    -------
    DataFrame
        By label: the number of runs; regret over time and rank among all within a repetition,
        as `Interval`; how many times it is the regret of the
        first label; then the regret after `SHARES`. Empty if there is nothing to compare.
    """
    labels = list(dict.fromkeys(label for by_label in runs.values() for label in by_label))
    whole = {where: runs[where] for where in runs if runs[where].keys() == set(labels)}
    if len(labels) < 2 or not whole:
        return pd.DataFrame()
    found = []
    for (data, repetition), by_label in whole.items():
        top = max(curve.max() for curve in by_label.values())
        n_trials = max(map(len, by_label.values()))
        found += [
            (data, repetition, label, *regret_of(curve, top, n_trials))
            for label, curve in by_label.items()
        ]
    names = ["data", "repetition", "label", "regret", *SHARES]
    frame = pd.DataFrame(found, columns=names)
    frame["rank"] = significant(frame["regret"].to_numpy())
    frame["rank"] = frame.groupby(["data", "repetition"])["rank"].rank()
    # What intervals are over: dataset means, or the repetitions of a single dataset.
    over = "data" if frame["data"].nunique() > 1 else "repetition"
    cells = frame.groupby(["label", over]).mean(numeric_only=True)
    means = cells.groupby("label").mean()[["regret", *SHARES]]
    means = means.loc[labels].sort_values("regret", kind="stable")
    regret, rank = cells["regret"].unstack(), cells["rank"].unstack()
    least = means["regret"].iloc[0]
    rows = {
        label: {
            "Runs": len(whole),
            "Mean regret": mean_interval(regret.loc[label].to_numpy()).times(100),
            "Times the first": mean["regret"] / least if least else 1.0,
            "Mean rank": mean_interval(rank.loc[label].to_numpy()),
            **{f"Regret after {100 * share:g} %": 100 * mean[share] for share in SHARES},
        }
        for label, mean in means.iterrows()
    }
    return pd.DataFrame(list(rows.values()), index=list(rows))
