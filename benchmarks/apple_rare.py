"""Effect of class weights and thresholds in `PolynomialExpansionClassifier` if a class is rare.

``python -m benchmarks.apple_rare [NAME ...] [--mirror FOLDER]`` prints a line for each of three
ways: as it comes, with ``class_weight="balanced"``, and as it comes with a threshold on
`predict_proba`, the share of the rare class.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

from sklearn.metrics import balanced_accuracy_score, log_loss, roc_auc_score

from leaseboard.algorithms.apple.classifier import ClassWeight, PolynomialExpansionClassifier
from leaseboard.algorithms.environments.holdout import Holdout
from leaseboard.tasks.fetch import loading
from leaseboard.tasks.jobs.environments.holdout import Options, as_holdout

SETS = {
    "census": ("mirror:census_income", {"missing": "zero"}),
    "letter A": ("mirror:letter", {"positive": "A"}),
    "pc4": ("openml:1049", {}),
    "fried": ("synthetic:fried?rows=20000&threshold=22.5&seed=0", {}),
}
HEAD = ("set", "rare", "way", "error", "balanced accuracy", "AUC", "log loss")


def lines(name: str, holdout: Holdout) -> Iterator[tuple[str, ...]]:
    """Yield the three ways on a set of two classes."""
    train, test = holdout.train, holdout.test
    known, truth = train.labels > 0, test.labels > 0
    share = min(known.mean(), 1 - known.mean())
    for way in ("as it comes", "balanced", "threshold"):
        weight: ClassWeight = "balanced" if way == "balanced" else None
        model = PolynomialExpansionClassifier(class_weight=weight, random_state=0).fit(
            train.rows, known
        )
        probabilities = model.predict_proba(test.rows)[:, 1]
        said = probabilities > (known.mean() if way == "threshold" else 0.5)
        figures = (
            (said != truth).mean(),
            balanced_accuracy_score(truth, said),
            roc_auc_score(truth, probabilities),
            log_loss(truth, probabilities),
        )
        yield name, f"{share:.1%}", way, *(f"{figure:.4f}" for figure in figures)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line of the module."""
    parser = argparse.ArgumentParser(
        description="PolynomialExpansionClassifier where one class is rare"
    )
    parser.add_argument("names", nargs="*", default=list(SETS), help=f"sets: {', '.join(SETS)}")
    parser.add_argument("--mirror", type=Path, action="append", default=[])
    given = parser.parse_args(arguments)
    print(" | ".join(HEAD))
    for name in given.names:
        if name not in SETS:
            parser.error(f"{name} is not a set: name one of {', '.join(SETS)}")
        reference, options = SETS[name]
        data = loading.load(reference, mirrors=tuple(given.mirror))
        raw = Options(**{"scale": False, "clip": 0, **options})
        for line in lines(name, as_holdout(data, raw, seed=0)):
            print(" | ".join(line))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
