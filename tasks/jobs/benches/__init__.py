"""A bench for a job: the data set as the environment that the algorithm's kind works against.

Each module but `kinds` is named after a kind of bench and offers
``Options``, a pydantic model of the bench's own options, ``make(dataset, job, parts)``, and
``measure(options)``: what its scores measure. One that preprocesses all of the data at the start
offers ``parts(dataset, options, seed)``, which does so, and ``shared_by(options, seed)``: what the
parts depend on beside the data. One whose options name what is kept elsewhere offers
``check_names(given)``, which raises SettingError for a name that nobody knows.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from leaseboard.algorithms.errors import SettingError, UsageError, invalid, unknown
from leaseboard.tasks.jobs.benches.kinds import KINDS

if TYPE_CHECKING:
    from leaseboard.algorithms.base import Bench
    from leaseboard.tasks.fetch import Dataset
    from leaseboard.tasks.jobs.job import Job


def options(kind: str) -> frozenset[str]:
    """The names of the options that a kind of bench takes."""
    return frozenset(_module(kind).Options.model_fields)


def check_options(kind: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The given options in the types they have, which a command line writes as text.

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
            known = unknown(f"option of the {kind} bench", name, model.model_fields)
            raise SettingError(known, name)
    try:
        checked: dict[str, Any] = model(**given).model_dump(include=set(given))
    except ValidationError as error:
        first = error.errors()[0]
        if not first["loc"]:  # options that do not go together
            reason = first["msg"].removeprefix("Value error, ")
            raise UsageError(f"{kind} bench: {reason}") from error
        where = str(first["loc"][0])
        raise SettingError(
            invalid(f"{kind} bench: option {where}", error.errors()), where
        ) from error
    if hasattr(_module(kind), "check_names"):
        _module(kind).check_names(given)
    return checked


def identity(kind: str, given: Mapping[str, Any]) -> str:
    """What a bench's options stand for beyond what they say, such as a file's content.

    A bench whose options name files offers ``identity(options)``; for the others it is empty.
    """
    module = _module(kind)
    if not hasattr(module, "identity"):
        return ""
    found: str = module.identity(module.Options(**given))
    return found


def measure(kind: str, given: Mapping[str, Any]) -> str:
    """What the scores of a bench measure: on one data set, those of one measure can be compared.

    Examples
    --------
    >>> measure("holdout", {}), measure("holdout", {"score_on": "progressive"})
    ('test error', 'progressive squared loss')
    """
    module = _module(kind)
    found: str = module.measure(module.Options(**given))
    return found


def unit_of(kind: str, given: Mapping[str, Any]) -> str:
    """What the budget of a job counts, by its bench alone: its data need not be there.

    Raises UsageError for options that the bench has not.

    Examples
    --------
    >>> unit_of("stream", {}), unit_of("pulls", {}), unit_of("systems", {})
    ('examples', 'trials', 'cpu_seconds')
    >>> unit_of("samples", {"unit": "seconds"})
    'seconds'
    """
    checked = check_options(kind, given)
    unit: str = KINDS[kind].unit or _module(kind).Options(**checked).unit
    return unit


def shared_by(kind: str, given: Mapping[str, Any], seed: int) -> Any:
    """What the parts of a bench depend on beside the data: jobs alike in it share them."""
    module = _module(kind)
    return module.shared_by(module.Options(**given), seed) if hasattr(module, "parts") else None


def parts(kind: str, dataset: Dataset, job: Job) -> Any:
    """What the bench of `job` is made of; None for a bench that preprocesses when it is asked."""
    module = _module(kind)
    if not hasattr(module, "parts"):
        return None
    return module.parts(dataset, module.Options(**job.bench), job.environment_seed)


def make(kind: str, dataset: Dataset, job: Job, parts: Any = None) -> Bench:
    """The bench of `kind` on `dataset`, with the job's options, environment seed and budget.

    `parts` are those that `parts` made for this or for another job with the same `shared_by`.
    """
    check_options(kind, job.bench)
    bench: Bench = _module(kind).make(dataset, job, parts)
    return bench


def _module(kind: str) -> ModuleType:
    return importlib.import_module(f"leaseboard.tasks.jobs.benches.{kind}")
