"""The environment of a job: the dataset as the algorithm's kind acts on it.

Each module but `kinds` is named after a kind of environment and offers ``Options``, a pydantic
model of the environment's own options, ``make(dataset, job, parts)``, and ``measure(options)``:
what its scores measure. One that preprocesses all of the data at the start offers
``parts(dataset, options, seed)``, which does so, and ``shared_by(options, seed)``: what the parts
depend on in addition to the data. One whose options name spaces or files offers
``check_names(given)``, which raises SettingError for an unknown name. One that holds rows out
offers ``divided(dataset, options, seed)``: the numbers of those to train on, to validate on if
there are any, and to test on; nothing where the data are not learned from.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import replace
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import ValidationError

from leaseboard.algorithms.errors import SettingError, UsageError, invalid, rule, unknown
from leaseboard.tasks.preprocess.splits import division

if TYPE_CHECKING:
    from leaseboard.algorithms.base import Environment
    from leaseboard.tasks.fetch.dataset import Dataset
    from leaseboard.tasks.jobs.job import Job


def options(kind: str) -> frozenset[str]:
    """Return the names of the options that a kind of environment takes."""
    return frozenset(_module(kind).Options.model_fields)


def check_options(kind: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the given options, which a command line writes as text, in their types.

    Raises
    ------
    SettingError
        Names the option that is unknown or out of range.
    UsageError
        For options that do not go together.
    """
    model = _module(kind).Options
    for name in given:
        if name not in model.model_fields:
            known = unknown(f"option of the {kind} environment", name, model.model_fields)
            raise SettingError(known, name)
    try:
        checked: dict[str, Any] = model(**given).model_dump(include=set(given))
    except ValidationError as error:
        first = error.errors()[0]
        if not first["loc"]:  # options that do not go together
            raise UsageError(f"{kind} environment{rule(first)}") from error
        where = str(first["loc"][0])
        raise SettingError(
            invalid(f"{kind} environment: option {where}", error.errors()), where
        ) from error
    if hasattr(_module(kind), "check_names"):
        _module(kind).check_names(given)
    return checked


def effective(kind: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return all options of an environment: those given, and the defaults of the others."""
    options: dict[str, Any] = _module(kind).Options(**given).model_dump()
    return options


def identity(kind: str, given: Mapping[str, Any]) -> str:
    """Return what an environment's options denote beyond their values, such as a file's content.

    A kind whose options name files offers ``identity(options)``; for the others it is empty.
    """
    module = _module(kind)
    if not hasattr(module, "identity"):
        return ""
    return module.identity(module.Options(**given))


def measure(kind: str, given: Mapping[str, Any]) -> str:
    """Return what the scores of an environment measure: those of one measure can be compared.

    Examples
    --------
    >>> measure("holdout", {}), measure("holdout", {"score_on": "progressive"})
    ('test error', 'progressive squared loss')
    """
    module = _module(kind)
    return module.measure(module.Options(**given))


def shared_by(kind: str, given: Mapping[str, Any], seed: int) -> Any:
    """Return what the parts of an environment depend on, in addition to the data."""
    module = _module(kind)
    return module.shared_by(module.Options(**given), seed) if hasattr(module, "parts") else None


def parts(kind: str, dataset: Dataset, job: Job) -> Any:
    """Return what the environment of `job` is made of; None if it preprocesses on demand."""
    module = _module(kind)
    if not hasattr(module, "parts"):
        return None
    options = module.Options(**job.environment)
    return module.parts(divided(dataset, job), options, job.environment_seed)


def divided(dataset: Dataset, job: Job) -> Dataset:
    """Return the dataset with the rule by which `job` divides its rows."""
    return replace(dataset, split=job.environment.get("split"))


def facts_of_parts(kind: str, dataset: Dataset, job: Job) -> dict[str, Any]:
    """Return what the measures of a job are of and compared with, where rows are held out.

    - ``split``: which rows are held out, and why;
    - ``majority_tested``: the share of test rows with the commonest class of the training rows.
    """
    module = _module(kind)
    options = module.Options(**job.environment)
    if not hasattr(module, "divided"):
        return {}
    dataset = divided(dataset, job)
    parts = module.divided(dataset, options, job.environment_seed)
    own = getattr(options, "split_column", None)
    held_out = f"rows are held out by column {own!r}" if own else division(dataset)
    facts: dict[str, Any] = {"split": str(held_out)} if parts else {}
    sides = getattr(options, "positive", ())  # not classes
    if parts and dataset.task == "classification" and not sides:
        train, test = (dataset.target.cat.codes.to_numpy()[rows] for rows in (parts[0], parts[-1]))
        facts |= {"majority_tested": float(np.mean(test == np.bincount(train).argmax()))}
    return facts


def make(kind: str, dataset: Dataset, job: Job, parts: Any = None) -> Environment:
    """Return the environment of `kind` on `dataset`, with the job's options, seed and budget.

    `parts` are those that `parts` made for this or for another job with the same `shared_by`.
    """
    check_options(kind, job.environment)
    return _module(kind).make(divided(dataset, job), job, parts)


def _module(kind: str) -> ModuleType:
    return importlib.import_module(f"leaseboard.tasks.jobs.environments.{kind}")
