"""Tests over data sets: Friedman, Nemenyi's critical difference, pairwise Wilcoxon-Holm.

Nemenyi's verdict on two algorithms depends on which others take part; Wilcoxon's does not, so
the groups of the diagram are Wilcoxon-Holm's and Nemenyi's distance is shown beside them
(Demsar 2006; Benavoli et al. 2016).
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from leaseboard.tasks.score.table import Floats, ScoreTable, significant

ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class Pair:
    """One pairwise test; `p` is Holm-adjusted, `smallest` the least p that n data sets allow."""

    first: str
    second: str
    p: float
    n: int
    different: bool


@dataclass(frozen=True)
class Comparison:
    """What the tests say of the algorithms that have a score on every counted data set."""

    labels: tuple[str, ...]
    mean_ranks: tuple[float, ...]
    """The compared algorithms, best mean rank first."""
    excluded: tuple[str, ...]
    """Algorithms left out because they have results on too few data sets."""
    n: int
    """Data sets on which all compared algorithms have a score."""
    friedman_p: float
    """NaN for fewer than three algorithms or two data sets."""
    critical_difference: float
    """Nemenyi's, of mean ranks; NaN likewise."""
    pairs: tuple[Pair, ...]
    groups: tuple[tuple[str, ...], ...]
    """Maximal sets of neighbouring algorithms without a difference by Wilcoxon-Holm."""
    note: str
    """What the tests cannot tell with so few data sets; empty if they can."""


def compare_all(table: ScoreTable) -> Comparison:
    """Every test on the mean scores of `table`, failures counted by its missing rule."""
    ranks = table.ranks()
    counted = np.isfinite(ranks).any(axis=0)
    full = np.isfinite(ranks[:, counted]).sum(axis=1) == counted.sum()
    chosen = np.flatnonzero(full & bool(counted.any()))
    standings = table.standings[chosen][:, counted]
    ranks = ranks[chosen][:, counted]
    n = int(counted.sum())
    mean_ranks = ranks.mean(axis=1) if n else np.empty(0)
    order = np.argsort(mean_ranks, kind="stable")
    labels = tuple(table.labels[chosen[i]] for i in order)
    k = len(labels)
    pairs = wilcoxon_holm(labels, standings[order]) if n else ()
    return Comparison(
        labels=labels,
        mean_ranks=tuple(float(mean_ranks[i]) for i in order),
        excluded=tuple(label for label in table.labels if label not in labels),
        n=n,
        friedman_p=friedman(ranks) if k > 2 and n > 1 else np.nan,
        critical_difference=nemenyi(k, n) if k > 1 and n > 1 else np.nan,
        pairs=pairs,
        groups=cliques(labels, pairs),
        note=_power(k, n),
    )


def friedman(ranks: Floats) -> float:
    """The p-value of Friedman's test that all rows rank alike; 1.0 if all ranks are tied.

    `ranks`, shape (n_labels, n_problems)
    """
    if (ranks == ranks[0]).all():
        return 1.0
    from scipy import stats

    return float(stats.friedmanchisquare(*ranks).pvalue)


def nemenyi(k: int, n: int) -> float:
    """The critical difference of mean ranks, ``q sqrt(k (k + 1) / (6 n))``.

    Examples
    --------
    Demsar (2006), section 3.2.2: four classifiers on 14 data sets.

    >>> round(nemenyi(4, 14), 2)
    1.25
    """
    from scipy import stats

    q = stats.studentized_range.ppf(1 - ALPHA, k, np.inf) / np.sqrt(2)
    return float(q * np.sqrt(k * (k + 1) / (6 * n)))


def wilcoxon_holm(labels: tuple[str, ...], cells: Floats) -> tuple[Pair, ...]:
    """Wilcoxon's signed-rank test of every pair over data sets, adjusted by Holm.

    `cells`, shape (n_labels, n_problems): mean scores, more is better; the tests take the
    differences' signs and sizes.
    """
    found = list(itertools.combinations(range(len(labels)), 2))
    raw = [_wilcoxon(cells[i], cells[j]) for i, j in found]
    adjusted = holm(raw)
    return tuple(
        Pair(labels[i], labels[j], p, cells.shape[1], p <= ALPHA)
        for (i, j), p in zip(found, adjusted, strict=True)
    )


def holm(p_values: list[float]) -> list[float]:
    """Holm's step-down adjustment.

    Examples
    --------
    >>> [round(p, 3) for p in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p_values, kind="stable")
    adjusted = [0.0] * len(p_values)
    running = 0.0
    for step, i in enumerate(order):
        running = max(running, min(1.0, (len(p_values) - step) * p_values[i]))
        adjusted[i] = running
    return adjusted


def cliques(labels: tuple[str, ...], pairs: tuple[Pair, ...]) -> tuple[tuple[str, ...], ...]:
    """Maximal runs of neighbours (by mean rank) of which no pair differs."""
    differ = {frozenset((pair.first, pair.second)) for pair in pairs if pair.different}
    runs: list[tuple[str, ...]] = []
    for start in range(len(labels)):
        stop = start + 1
        while stop < len(labels) and not any(
            frozenset((labels[stop], other)) in differ for other in labels[start:stop]
        ):
            stop += 1
        run = labels[start:stop]
        if len(run) > 1 and not any(set(run) <= set(other) for other in runs):
            runs.append(run)
    return tuple(runs)


def _wilcoxon(first: Floats, second: Floats) -> float:
    both_without = ~np.isfinite(first) & ~np.isfinite(second)
    with np.errstate(invalid="ignore"):
        differences = np.where(both_without, 0.0, significant(first) - significant(second))
    if not differences.any() or len(differences) == 1:  # one sign alone is never a surprise
        return 1.0
    from scipy import stats

    # A total failure differs by more than any score; the test only asks for its rank.
    largest = np.abs(differences[np.isfinite(differences)]).max(initial=1.0)
    differences = np.clip(differences, -2 * largest, 2 * largest)
    return float(stats.wilcoxon(differences, zero_method="wilcox").pvalue)


def _power(k: int, n: int) -> str:
    pairs = k * (k - 1) // 2
    if n == 0 or k < 2:
        return "Nothing to compare: two algorithms with scores on the same data set are needed."
    least = 2.0 ** (1 - n) * pairs
    if least <= ALPHA:
        return ""
    needed = int(np.ceil(np.log2(pairs / ALPHA))) + 1
    return (
        f"Rank tests over {n} data set{'s' if n > 1 else ''} cannot show a difference: the least"
        f" adjusted p-value that {pairs} pairwise tests can have is {min(1.0, least):.2g};"
        f" with {needed} data sets they could."
    )
