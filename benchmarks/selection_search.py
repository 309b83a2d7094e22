"""What a search costs and what it chooses: ours next to scikit-learn's, on the same grid.

``python -m benchmarks.selection_search --mirror DIR [--data REFERENCE ...] [--seeds N] [--rows N]
[--only SEARCH ...]`` fits, on a part of each table, `SelectionSearch` with each of its algorithms,
``GridSearchCV(cv=5)`` and ``HalvingGridSearchCV(cv=5)`` over one grid of ordinary learners. It
prints the CPU seconds of each, the refit included, and the accuracy of its choice on the rows that
none of them saw; at the end the median of the seconds over those of the first, and what was lost
against it.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import mean, median
from time import process_time
from typing import Any

import pandas as pd
import threadpoolctl

from leaseboard.tasks.fetch import loading

DATA = ("mirror:31", "mirror:181", "mirror:40984", "mirror:spambase", "mirror:28", "mirror:32",
        "mirror:magic04", "mirror:adult", "mirror:census_income?rows=100000")  # fmt: skip
SEEDS = 2
TEST_FRACTION = 0.25


def pipeline() -> Any:
    """Return a pipeline from columns to numbers, and a model that the grid sets."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import Pipeline

    from leaseboard.tasks.preprocess.tables import TableEncoder

    return Pipeline([("columns", TableEncoder("standard")), ("model", LogisticRegression())])


def grid() -> list[dict[str, list[Any]]]:
    """Return fourteen configurations of five learners."""
    from lightgbm import LGBMClassifier
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB
    from sklearn.tree import DecisionTreeClassifier

    boosted = LGBMClassifier(n_estimators=50, n_jobs=1, verbose=-1, random_state=0)
    forest = RandomForestClassifier(30, n_jobs=1, random_state=0)
    tree = DecisionTreeClassifier(random_state=0)
    return [
        {"model": [LogisticRegression(max_iter=200)], "model__C": [0.01, 1.0, 100.0]},
        {"model": [GaussianNB()]},
        {"model": [tree], "model__max_depth": [2, 5, 10, None]},
        {"model": [forest], "model__min_samples_leaf": [1, 10]},
        {"model": [boosted], "model__learning_rate": [0.03, 0.1], "model__num_leaves": [7, 31]},
    ]


def searches(seed: int) -> dict[str, Callable[[], Any]]:
    """Return every search by name, not fitted."""
    from sklearn.experimental import enable_halving_search_cv  # noqa: F401
    from sklearn.model_selection import GridSearchCV, HalvingGridSearchCV

    from leaseboard.algorithms.abc_selection.cross_validation import EarlyStoppedCV
    from leaseboard.tasks.models.automl.search import SelectionSearch

    def ours(algorithm: Any) -> Callable[[], Any]:
        return lambda: SelectionSearch(pipeline(), grid(), algorithm=algorithm, random_state=seed)

    return {
        "GridSearchCV": lambda: GridSearchCV(pipeline(), grid(), cv=5),
        "HalvingGridSearchCV": lambda: HalvingGridSearchCV(
            pipeline(), grid(), cv=5, random_state=seed
        ),
        "early-stopped-cv": ours("early-stopped-cv"),
        "early-stopped-cv, folds=any": ours(EarlyStoppedCV(folds="any")),
        "abc": ours("abc"),
    }


def measured(
    reference: str, seed: int, given: argparse.Namespace, out: Callable[[str], None]
) -> dict[str, tuple[float, float]]:
    """Return CPU seconds and test accuracy of each search on one division of a table."""
    from sklearn.model_selection import train_test_split

    dataset = loading.load(reference, mirrors=tuple(given.mirror))
    X, y = dataset.features, dataset.target.astype(str).to_numpy()
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, train_size=given.rows or 1 - TEST_FRACTION, random_state=seed, stratify=y
    )
    found = {}
    out(f"{reference}, {len(y_train)} rows to search on, seed {seed}")
    made = searches(seed)
    for name in given.only or made:
        search = made[name]()
        began = process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            search.fit(X_train, y_train)
        seconds = process_time() - began
        right = float((pd.Series(search.predict(X_test)).to_numpy() == y_test).mean())
        found[name] = seconds, right
        model = type(search.best_params_["model"]).__name__
        out(f"  {name:28} {seconds:8.1f} CPU s  {right:.4f}  {model}")
    return found


def main(arguments: Sequence[str] | None = None, out: Callable[[str], None] = print) -> int:
    """Run the command line of the module."""
    parser = argparse.ArgumentParser(description="searches over one grid")
    parser.add_argument("--mirror", type=Path, action="append", default=[])
    parser.add_argument("--data", nargs="+", default=DATA)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--rows", type=int, help="to search on; three quarters if not said")
    parser.add_argument("--only", nargs="+", help="these searches, the first as the base")
    given = parser.parse_args(arguments)
    with threadpoolctl.threadpool_limits(1):
        runs = [
            measured(each, seed, given, out) for each in given.data for seed in range(given.seeds)
        ]
    base = next(iter(runs[0]))
    out(f"over {len(runs)} runs: CPU seconds over those of {base}, and accuracy less its own")
    for name in runs[0]:
        share = median(run[name][0] / run[base][0] for run in runs)
        more = [run[name][1] - run[base][1] for run in runs]
        out(f"  {name:28} median {share:5.2f}  mean {mean(more):+.4f}, worst {min(more):+.4f}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
