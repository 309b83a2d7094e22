"""The portfolio of configurations that did well on other tables, chosen from a record of fits.

``python -m benchmarks.portfolio record --mirror DIR`` fits candidates of each arm of the spaces
``tables-classification`` and ``tables-regression`` on `SETS`, none of which is in the suite
``tables``, and adds a row to the record for each; it goes on where it was broken off.
``python -m benchmarks.portfolio choose`` chooses from the record, greedily for each arm, the
configurations whose best is the least behind the best of all, prints the lists `first` of the two
spaces, and what a set would lose by a portfolio that was chosen without it.

The candidates of an arm are its default, which is first in any case, the portfolio that it has,
and draws from its space. Scores are the accuracy, or R², on a quarter of the rows; a set counts by
the distance between its best and its median candidate.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import threadpoolctl
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import train_test_split

from leaseboard.algorithms.seeds import generator
from leaseboard.tasks.evaluate.trials import recipes
from leaseboard.tasks.evaluate.trials.spaces import SUITED, load_space
from leaseboard.tasks.fetch import loading
from leaseboard.tasks.preprocess import CODE, INDICATOR
from leaseboard.tasks.preprocess.tables import TableEncoder, labels_of

KEY = ("task", "data", "arm", "configuration")
RECORD = Path(__file__).with_suffix(".csv")
SETS = {
    "classification": (
        "mirror:poker_train", "mirror:covtype", "mirror:32", "mirror:54", "mirror:40984",
        "mirror:1557", "mirror:917", "mirror:847", "mirror:60", "mirror:28",
        "mirror:balance-scale", "mirror:chess_kr-vs-kp", "mirror:messidor", "mirror:151",
        "mirror:shuttle",
    ),
    "regression": (
        "mirror:344", "mirror:201", "mirror:218", "mirror:183_abalone", "mirror:23515",
        "mirror:42225", "mirror:42688", "mirror:564",
    ),
}  # fmt: skip
"""Tables by task; none is in the suite, nor has rows of one that is."""
ROWS = {"lightgbm": 8_000}
"""Of each table, at most, by arm; `FEW` of another arm."""
FEW = 5_000
DRAWS = {
    "lightgbm": 0, "mlp": 8, "extra_trees": 5, "random_forest": 4, "svc": 5, "svr": 5,
    "k_nearest_neighbors": 5,
}  # fmt: skip
"""Draws of an arm next to its default, of those that have a portfolio."""
NEAR: Mapping[str, Sequence[Mapping[str, Any]]] = {
    "lightgbm": (
        {"num_leaves": 127}, {"num_leaves": 8}, {"min_child_samples": 5},
        {"learning_rate": 0.05}, {"learning_rate": 0.2}, {"n_estimators": 200},
        {"extra_trees": True}, {"colsample_bytree": 0.5},
        {"num_leaves": 127, "min_child_samples": 5, "colsample_bytree": 0.7},
        {"n_estimators": 200, "learning_rate": 0.05, "num_leaves": 8, "min_child_samples": 10,
         "colsample_bytree": 0.7},
        {"n_estimators": 200, "extra_trees": True},
        {"n_estimators": 300, "learning_rate": 0.05, "subsample": 0.9, "colsample_bytree": 0.8},
        {"n_estimators": 300, "learning_rate": 0.05, "num_leaves": 127, "min_child_samples": 5,
         "colsample_bytree": 0.7},
    ),
    "k_nearest_neighbors": ({"n_neighbors": 15, "p": 1},),
    "extra_trees": ({"max_features": 0.8, "criterion": "entropy"},),
    "svc": ({"C": 30.0},),
}  # fmt: skip
"""Candidates that are near the default, by what they differ in."""
RANGES: Mapping[str, Mapping[str, tuple[float, float]]] = {
    "mlp": {"num_nodes_per_layer": (64, 264), "learning_rate_init": (0.001, 0.03)},
}
"""Narrower ranges than the space's, in which draws are worth a fit; log-uniform."""
MOST = 2
"""Cheap configurations of an arm in the portfolio, and others, at most."""
WORTH = 0.05
"""Of the default's regret, which a configuration must take off at least."""
CHEAP = 2.0
"""Times the default's CPU seconds that a cheap one takes at most, of all sets together, of which
the large ones and those of many classes count most, as where a budget is short."""


def candidates(task: str, arm: str) -> list[dict[str, Any]]:
    """Return the default of an arm, what is near it, and draws."""
    found = load_space(SUITED[task]).arms[arm]
    rng = generator("portfolio", task, arm)
    every = {name: spec.default for name, spec in found.hyperparameters.items()}
    drawn = [found.active({**every, **near}) for near in ({}, *NEAR.get(arm, ()))]
    for _ in range(DRAWS[arm]):
        values = found.draw(rng)
        for name, (low, high) in RANGES.get(arm, {}).items():
            if name in values:
                value = float(np.exp(rng.uniform(np.log(low), np.log(high))))
                values[name] = found.hyperparameters[name].clipped(value)
        drawn.append({k: v if isinstance(v, (str, bool)) else short(v) for k, v in values.items()})
    return drawn


def short(value: Any) -> Any:
    """Return a number with two significant digits; a whole one stays so."""
    rounded = float(f"{value:.2g}")
    return int(rounded) if isinstance(value, int) else rounded


def record(mirrors: Sequence[Path], path: Path = RECORD) -> None:
    """Fit what is not on record yet, and add it."""
    known = set()
    if path.exists():
        known = set(zip(*(pd.read_csv(path)[name] for name in KEY), strict=True))
    else:
        path.write_text(",".join([*KEY, "score", "cpu_seconds"]) + "\n")
    parts = {}
    for arm in DRAWS:
        for task, reference in [(each, name) for each in SETS for name in SETS[each]]:
            if arm not in load_space(SUITED[task]).arms:
                continue
            asked = [json.dumps(each) for each in candidates(task, arm)]
            asked = [text for text in asked if (task, reference, arm, text) not in known]
            at = reference, ROWS.get(arm, FEW)
            if asked and at not in parts:
                parts[at] = divided(*at, mirrors)
            for text in asked:
                score, seconds = fitted(task, arm, json.loads(text), parts[at])
                row = pd.DataFrame(
                    [[task, reference, arm, text, f"{score:.4f}", f"{seconds:.2f}"]]
                )
                row.to_csv(path, mode="a", header=False, index=False)
                print(task, reference, arm, text, f"{score:.4f} {seconds:.2f} s", flush=True)


def divided(reference: str, n_rows: int, mirrors: Sequence[Path]) -> tuple[Any, ...]:
    """Return encoded training and test rows, their targets, and the kinds of features."""
    dataset = loading.load(reference, mirrors=tuple(mirrors))
    y = labels_of(dataset)
    stratify = y if dataset.task == "classification" else None
    few = stratify is not None and np.bincount(y)[np.bincount(y) > 0].min() < 4
    rows = np.arange(len(y))
    if len(y) > n_rows:
        rows, _ = train_test_split(rows, train_size=n_rows, random_state=0)
    train, test = train_test_split(
        rows, test_size=0.25, random_state=0, stratify=None if few or len(y) > n_rows else stratify
    )
    encoder = TableEncoder("standard", codes=True).fit(dataset.features.iloc[train])
    X = [encoder.transform(dataset.features.iloc[part]) for part in (train, test)]
    return *X, y[train], y[test], encoder.kinds_


def fitted(task: str, arm: str, values: Mapping[str, Any], parts: Any) -> tuple[float, float]:
    """Return the test score of a configuration, NaN if it fails, and its CPU seconds."""
    found = load_space(SUITED[task]).arms[arm]
    *X, train_y, test_y, kinds = parts
    train_x, test_x = (each[:, kinds != (INDICATOR if found.codes else CODE)] for each in X)
    began = time.process_time()
    try:
        with threadpoolctl.threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = recipes.build(found.estimator, {**found.constants, **values},
                                  train_x.shape[1], 0)  # fmt: skip
            predicted = model.fit(train_x, train_y).predict(test_x)
            judge = accuracy_score if task == "classification" else r2_score
            score = float(judge(test_y, predicted))
    except ValueError as error:
        print(f"{arm}: {error}", flush=True)
        score = float("nan")
    return score, time.process_time() - began


def chosen(scores: pd.DataFrame, seconds: pd.DataFrame, default: str) -> list[str]:
    """Return the configurations that take most off the mean regret, greedily, the cheap first.

    The first ones are chosen from those that cost little more than the default, so that a search
    with a short budget, or with many classes, has a portfolio of its own.

    - `scores`, `seconds`: by set (rows) and configuration (columns); worst possible where a fit
      failed.
    """
    best, spread = scores.max(axis=1), scores.max(axis=1) - scores.median(axis=1)
    lost = scores.rsub(best, axis=0).div(spread.clip(lower=1e-3), axis=0).clip(upper=1.0)
    cost = seconds.sum() / seconds[default].sum()
    portfolio: list[str] = []
    reached = lost[default]
    for limit in (CHEAP, np.inf):
        added: list[str] = []
        while len(added) < MOST:
            left = lost.loc[:, cost <= limit].clip(upper=reached, axis=0).mean()
            if reached.mean() - left.min() <= WORTH * lost[default].mean():
                break
            added.append(str(left.idxmin()))
            reached = np.minimum(reached, lost[added[-1]])
        portfolio += sorted(added, key=lambda name: cost[name])
    return portfolio


def portfolio_of(rows: pd.DataFrame, default: str, left_out: Sequence[str] = ()) -> list[str]:
    """Return the portfolio of an arm by its rows of the record, without those of some sets."""
    rows = rows[~rows["data"].isin(left_out)]
    tables = (
        rows.pivot(index="data", columns="configuration", values=name)
        for name in ("score", "cpu_seconds")
    )
    scores, seconds = tables
    return chosen(scores.fillna(-1.0), seconds, default)


def portfolios(path: Path = RECORD) -> Iterator[tuple[str, str, str, pd.DataFrame, list[str]]]:
    """Yield task, arm, default, rows of the record and portfolio of each arm."""
    for (task, arm), rows in pd.read_csv(path).groupby(["task", "arm"], sort=False):
        default = json.dumps(load_space(SUITED[task]).arms[arm].defaults())
        yield task, arm, default, rows, portfolio_of(rows, default)


def differences(name: str, default: str) -> dict[str, Any]:
    """Return the values of a configuration that are not the default's, as `first` names them."""
    known = json.loads(default)
    return {k: v for k, v in json.loads(name).items() if known.get(k) != v}


def choose(path: Path = RECORD) -> None:
    """Print the portfolio of each arm, and what it loses on sets that had no part in it."""
    for task, arm, default, rows, names in portfolios(path):
        scores = rows.pivot(index="data", columns="configuration", values="score").fillna(-1.0)
        without = []
        for data in scores.index:
            others = [default, *portfolio_of(rows, default, [data])]
            without.append(scores.loc[data, others].max())
        best, alone = scores.max(axis=1), scores[default]
        all_in = scores[[default, *names]].max(axis=1)
        print(
            f"{task} {arm}: mean loss against the best of {scores.shape[1]}: default"
            f" {(best - alone).mean():.4f}, portfolio {(best - all_in).mean():.4f}, one chosen"
            f" without the set {(best - np.array(without)).mean():.4f}"
        )
        for name in names:
            found = differences(name, default).items()
            print(f"      - {{{', '.join(f'{k}: {json.dumps(v)}' for k, v in found)}}}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line of the module."""
    parser = argparse.ArgumentParser(description="the portfolio of known good configurations")
    parser.add_argument("step", choices=("record", "choose"))
    parser.add_argument("--mirror", type=Path, action="append", default=[])
    given = parser.parse_args(arguments)
    if given.step == "record":
        record(given.mirror)
    else:
        choose()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
