"""Estimators and encoders in skops' format: no pickle, and only types that are trusted."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import skops.io

from leaseboard.algorithms.errors import UsageError

TRUSTED = frozenset(
    {
        "collections.OrderedDict",
        "lightgbm.basic.Booster",
        "lightgbm.sklearn.LGBMClassifier",
        "lightgbm.sklearn.LGBMRegressor",
        "numpy.dtype",
        "leaseboard.tasks.evaluate.learners.classifiers.FixedStepNetwork",
        "leaseboard.tasks.evaluate.learners.classifiers.SharedBinsClassifier",
        "leaseboard.tasks.models.automl.ensemble.EnsembleModel",
        "leaseboard.tasks.models.automl.ensemble.EnsembleMember",
        "leaseboard.tasks.models.automl.estimators.PolicyClassifier",
        "leaseboard.tasks.models.automl.estimators.PolicyRegressor",
        "leaseboard.tasks.models.automl.search.SelectionSearch",
        "leaseboard.tasks.preprocess.sparse.SparseEncoder",
        "leaseboard.tasks.preprocess.tables.TableEncoder",
        "leaseboard.tasks.preprocess.unit_range.UnitRangeEncoder",
    }
)
"""What a file may hold beside classes of scikit-learn, whoever wrote it.

Names one by one: a package has more than models, such as ``numpy.memmap``, which writes the file
that it is told to.
"""


def dump(value: Any, path: Path) -> None:
    """Write `value`; UsageError if it holds types that are not trusted."""
    skops.io.dump(value, path)
    _types(path)


def load(path: Path) -> Any:
    """What `dump` wrote; UsageError if the file holds types that are not trusted."""
    return skops.io.load(path, trusted=_types(path))


def _types(path: Path) -> list[str]:
    """The types that a skops file names beside skops' own; UsageError for one not trusted."""
    found: list[str] = skops.io.get_untrusted_types(file=path)
    foreign = sorted(name for name in found if not _is_trusted(name))
    if foreign and f"leaseboard.{foreign[0]}" in TRUSTED:
        raise UsageError(
            f"the model is of an earlier version, whose {foreign[0]} is leaseboard.{foreign[0]} in"
            " this one: learn and register it anew"
        )
    if foreign:
        raise UsageError(
            f"the model holds a {foreign[0]}: only classes of scikit-learn, and a few of LightGBM"
            " and Leaseboard, are registered and loaded"
        )
    return found


def _is_trusted(name: str) -> bool:
    """Whether `name` is in `TRUSTED` or that of a class of scikit-learn, not of a function."""
    module, _, attribute = name.rpartition(".")
    if module.partition(".")[0] != "sklearn":
        return name in TRUSTED
    try:
        found = getattr(importlib.import_module(module), attribute, None)
    except ImportError:
        return False
    return isinstance(found, type)
