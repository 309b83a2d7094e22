"""Regret over time of policies over arms, against the best reward on record of each repetition."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from leaseboard.tasks.score.inference import mean_interval
from leaseboard.tasks.score.table import Floats, nanmean, significant

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
    """Return every algorithm's regret and rank, the one with the least mean regret first.

    - `runs`: the best reward after each trial, by dataset and repetition, then by label. Only
      those that all labels finished count.

    Returns
    -------
    DataFrame
        By label: ``runs``; ``regret`` over time, ``rank`` among all within a repetition and how
        much it is ``behind`` the first's, as `Interval`; ``times`` the regret of the first label;
        then the regret after `SHARES`.
    """
    labels = list(dict.fromkeys(label for by_label in runs.values() for label in by_label))
    whole = {where: runs[where] for where in runs if runs[where].keys() == set(labels)}
    data = list(dict.fromkeys(data for data, _ in whole))
    repetitions = sorted({repetition for _, repetition in whole})
    found = np.full((1 + len(SHARES), len(labels), len(data), len(repetitions)), np.nan)
    for (name, repetition), by_label in whole.items():
        top = max(curve.max() for curve in by_label.values())
        n_trials = max(map(len, by_label.values()))
        at = data.index(name), repetitions.index(repetition)
        for row, label in enumerate(labels):
            found[:, row, *at] = regret_of(by_label[label], top, n_trials)
    if len(labels) < 2 or not whole:
        return pd.DataFrame()
    ranks = pd.DataFrame(significant(found[0]).reshape(len(labels), -1)).rank().to_numpy()
    ranks = ranks.reshape(found[0].shape)
    means = nanmean(nanmean(found, axis=3), axis=2)
    first = int(means[0].argmin())
    # What intervals are over: dataset means, or the repetitions of a single dataset.
    regret, rank = (
        nanmean(each, axis=2) if len(data) > 1 else each[:, 0] for each in (found[0], ranks)
    )
    rows = {
        label: {
            "runs": int(np.isfinite(found[0, row]).sum()),
            "regret": mean_interval(regret[row]),
            "times": means[0, row] / means[0, first] if means[0, first] else 1.0,
            "rank": mean_interval(rank[row]),
            "behind": mean_interval(rank[row] - rank[first]),
            **{f"after {share}": means[1 + at, row] for at, share in enumerate(SHARES)},
        }
        for row, label in enumerate(labels)
    }
    return pd.DataFrame.from_dict(rows, orient="index").loc[
        [labels[row] for row in means[0].argsort(kind="stable")]
    ]
