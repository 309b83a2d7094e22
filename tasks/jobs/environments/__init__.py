"""The environment of a job: the dataset as the algorithm's kind acts on it.

`KINDS` has all that others need to know of the kinds. The options of each are a pydantic model,
which says by the methods of `KindOptions` what they mean.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import ValidationError

from leaseboard.algorithms.errors import SettingError, refused, unknown
from leaseboard.tasks.preprocess.splits import division

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from leaseboard.algorithms.base import Environment
    from leaseboard.tasks.fetch.dataset import Dataset
    from leaseboard.tasks.jobs.job import Job


KINDS: Mapping[str, str] = {
    "stream": "model",
    "holdout": "model",
    "pulls": "arm",
    "samples": "configuration",
    "systems": "system",
}
"""What algorithms of a kind choose: a model that they trained themselves, the arm to tune next,
one of given configurations, or a whole framework, which keeps what it finds."""

REWARDING = frozenset(name for name, chosen in KINDS.items() if chosen != "model")
"""The names of those by which more is better; a job that failed early has no kind. Their trials or
probes are recorded, and charged what they cost when they ran."""


class KindOptions:
    """Options of a kind of environment, and what follows from them."""

    def check_names(self) -> None:
        """Raise SettingError for a name of a space that does not exist."""

    def identity(self) -> str:
        """Return what the options denote beyond their values, such as a file's content."""
        return ""

    def measure(self) -> str:
        """Return what the scores measure: those of one measure can be compared."""
        raise NotImplementedError

    def shared_by(self, seed: int) -> Any:
        """Return what the parts depend on, in addition to the data."""

    def parts(self, dataset: Dataset, seed: int) -> Any:
        """Return what the environment is made of; None if it preprocesses on demand."""

    def divided(self, dataset: Dataset, seed: int) -> Sequence[NDArray[np.intp]]:
        """Return the rows to train on, to validate on if there are any, and to test on.

        Nothing where no rows are held out.
        """
        return ()

    def make(self, dataset: Dataset, job: Job, parts: Any = None) -> Environment:
        """Return the environment of `job` on `dataset`, with the job's seed and budget.

        `parts` are those that `parts` made for this or another job with the same ``shared_by``.
        """
        raise NotImplementedError


def names(kind: str) -> frozenset[str]:
    """Return the names of the options that a kind of environment takes."""
    return frozenset(_model(kind).model_fields)


def resolve(kind: str, given: Mapping[str, Any]) -> Any:
    """Return the options of a kind of environment, of which a command line writes texts.

    Raises
    ------
    SettingError
        Names the option that is unknown or out of range.
    UsageError
        For options that do not go together.

    Examples
    --------
    >>> resolve("holdout", {}).measure(), resolve("pulls", {"protocol": "table"}).measure()
    ('test error', 'best feedback')
    """
    model = _model(kind)
    for name in given:
        if name not in model.model_fields:
            known = unknown(f"option of the {kind} environment", name, model.model_fields)
            raise SettingError(known, name)
    try:
        options = model(**given)
    except ValidationError as error:
        raise refused(f"{kind} environment", "option", error) from error
    options.check_names()
    return options


def divided(dataset: Dataset, job: Job) -> Dataset:
    """Return the dataset with the rule by which `job` divides its rows."""
    return replace(dataset, split=job.environment.get("split"))


def facts_of_parts(options: KindOptions, dataset: Dataset, seed: int) -> dict[str, Any]:
    """Return what the measures of a job are of and compared with, where rows are held out.

    - ``split``: which rows are held out, and why;
    - ``majority_tested``: the share of test rows with the commonest class of the training rows.
    """
    parts = options.divided(dataset, seed)
    if not parts:
        return {}
    own = getattr(options, "split_column", None)
    held_out = f"rows are held out by column {own!r}" if own else division(dataset)
    facts: dict[str, Any] = {"split": str(held_out)}
    sides = getattr(options, "positive", ())  # not classes
    if dataset.task == "classification" and not sides:
        train, test = (dataset.target.cat.codes.to_numpy()[rows] for rows in (parts[0], parts[-1]))
        facts |= {"majority_tested": float(np.mean(test == np.bincount(train).argmax()))}
    return facts


def _model(kind: str) -> Any:
    return importlib.import_module(f"leaseboard.tasks.jobs.environments.{kind}").Options
