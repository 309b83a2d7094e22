"""Our classes for streams next to River's own pipelines, on the streams of River's package.

``python -m benchmarks.river [--data NAME ...] [--rows N]`` runs River's own
``evaluate.progressive_val_score`` with our classes and with pipelines as River's
documentation sets them up, all in one run. It prints a table a stream: errors, microseconds of CPU
a row in that loop, metrics included, their ratio to ours, and what the
documentation prints for that pipeline there, if anything.
"""

from __future__ import annotations

import argparse
import functools
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from river import (
    datasets,
    drift,
    ensemble,
    evaluate,
    forest,
    linear_model,
    metrics,
    multiclass,
    neighbors,
    optim,
    rules,
    tree,
    utils,
)
from river.preprocessing import MinMaxScaler, StandardScaler

from leaseboard.algorithms.online_automl.streaming import (
    OnlineAutoMLClassifier,
    OnlineAutoMLRegressor,
)

Make = Callable[[], Any]
_ADWIN: Any = drift.ADWIN  # which has no types

NUMBERS: dict[str, Make] = {
    "online-automl": OnlineAutoMLRegressor,
    "linear regression": lambda: (
        StandardScaler() | linear_model.LinearRegression(intercept_lr=0.1)
    ),
    "Hoeffding tree": lambda: (
        StandardScaler() | tree.HoeffdingTreeRegressor(grace_period=100, model_selector_decay=0.9)
    ),
    "adaptive rules": lambda: (
        StandardScaler() | rules.AMRules(delta=0.01, n_min=50, drift_detector=_ADWIN())
    ),
    "bagged regressions": lambda: (
        StandardScaler()
        | ensemble.BaggingRegressor(
            linear_model.LinearRegression(intercept_lr=0.1), n_models=3, seed=42
        )
    ),
    "nearest neighbours": neighbors.KNNRegressor,
    "adaptive forest": lambda: StandardScaler() | forest.ARFRegressor(seed=42),
    "Mondrian forest": lambda: MinMaxScaler() | forest.AMFRegressor(seed=42),
}
CLASSES: dict[str, Make] = {
    "online-automl": OnlineAutoMLClassifier,
    "logistic regression": lambda: (
        StandardScaler() | linear_model.LogisticRegression(optimizer=optim.SGD(0.1))
    ),
    "Hoeffding tree": tree.HoeffdingTreeClassifier,
    "boosted trees": lambda: ensemble.AdaBoostClassifier(
        tree.HoeffdingTreeClassifier(split_criterion="gini", delta=1e-5, grace_period=2000),
        n_models=5,
        seed=42,
    ),
    "nearest neighbours": lambda: (
        StandardScaler()
        | neighbors.KNNClassifier(
            engine=neighbors.SWINN(
                dist_func=functools.partial(utils.math.minkowski_distance, p=1), seed=42
            )
        )
    ),
    "Mondrian forest": lambda: (
        MinMaxScaler()
        | forest.AMFClassifier(n_estimators=10, use_aggregation=True, dirichlet=0.5, seed=1)
    ),
}
MANY: dict[str, Make] = {
    **{name: CLASSES[name] for name in ("online-automl", "Hoeffding tree", "Mondrian forest")},
    "softmax regression": lambda: StandardScaler() | linear_model.SoftmaxRegression(),
    "one against the rest": lambda: (
        StandardScaler() | multiclass.OneVsRestClassifier(linear_model.LogisticRegression())
    ),
}

MODELS = {
    "TrumpApproval": NUMBERS,
    "ChickWeights": NUMBERS,
    "Phishing": CLASSES,
    "Bananas": CLASSES,
    "ImageSegments": MANY,
}
PRINTED = {
    ("TrumpApproval", "linear regression"): "MAE .558735",
    ("TrumpApproval", "Hoeffding tree"): "MAE .793345",
    ("TrumpApproval", "adaptive rules"): "MAE 1.119553",
    ("TrumpApproval", "bagged regressions"): "MAE .677586",
    ("TrumpApproval", "adaptive forest"): "MAE .772113",
    ("TrumpApproval", "Mondrian forest"): "MAE .427341",
    ("Phishing", "logistic regression"): "Accuracy 88.96%",
    ("Phishing", "boosted trees"): "LogLoss .370805",
    ("Phishing", "nearest neighbours"): "Accuracy 89.51%",
    ("Bananas", "Mondrian forest"): "Accuracy 84.05%",
    ("ImageSegments", "softmax regression"): "MacroF1 81.88%",
    ("ImageSegments", "one against the rest"): "MacroF1 77.46%",
}
"""What the documentation of River 0.26 says of the same pipeline on the same stream."""


@dataclass(frozen=True, slots=True)
class Rated:
    """One model on one stream; `figures` are those of the stream's metrics, by name."""

    data: str
    model: str
    figures: dict[str, float]
    us_a_row: float

    @property
    def printed(self) -> str:
        """Return what River's documentation prints; empty if nothing."""
        return PRINTED.get((self.data, self.model), "")


def rated(data: str, names: Sequence[str] = (), rows: int | None = None) -> Iterator[Rated]:
    """Measure the models of a stream one after another."""
    models = MODELS[data]
    for name in names or models:
        for _ in evaluate.iter_progressive_val_score(
            _examples(data, 20), models[name](), _metrics(models), step=20
        ):
            pass
        found, examples = _metrics(models), _examples(data, rows)
        started = time.process_time()
        evaluate.progressive_val_score(examples, models[name](), found)
        spent = 1e6 * (time.process_time() - started) / len(examples)
        yield Rated(data, name, {type(each).__name__: each.get() for each in found}, spent)


def _examples(data: str, rows: int | None) -> list[Any]:
    stream: Any = getattr(datasets, data)()
    return list(stream)[:rows]  # to its end, which closes the file


def _metrics(models: dict[str, Make]) -> Any:
    known: Any = metrics  # whose classes have no types
    if models is NUMBERS:
        return known.MAE() + known.RMSE()
    loss = known.LogLoss() if models is CLASSES else known.CrossEntropy()
    return known.Accuracy() + known.MacroF1() + loss


def main(arguments: Sequence[str] | None = None, out: Callable[[str], None] = print) -> int:
    """Print a table a stream."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--rows", type=int, help="only the first so many examples")
    asked = parser.parse_args(arguments)
    for data in asked.data:
        ours = 0.0
        for i, row in enumerate(rated(data, rows=asked.rows)):
            if not i:
                ours, heads = row.us_a_row, "".join(f"{name:>14}" for name in row.figures)
                out(f"\n{data:24}{heads}{'us a row':>10}{'ratio':>7}  River's documentation")
            cells = "".join(f"{value:14.5g}" for value in row.figures.values())
            cost = f"{row.us_a_row:10.1f}{row.us_a_row / ours:7.2f}"
            out(f"{row.model:24}{cells}{cost}  {row.printed}".rstrip())
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
