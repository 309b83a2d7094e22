"""A user's own list of scikit-learn classifiers or pipelines as the configurations."""

import inspect
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sklearn.base import BaseEstimator, clone, is_classifier

from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.events import Parameters
from leaseboard.algorithms.user_files import import_file
from leaseboard.tasks.keys.closure import hash_of, reachable

NAME = "PIPELINES"


@dataclass(frozen=True, slots=True)
class Pipelines:
    """Estimators by name, as configurations and as their builder."""

    estimators: Mapping[str, Any]
    digest: str = ""

    @property
    def configurations(self) -> list[Parameters]:
        """Return one configuration for each, with the parameters of the estimator as text."""
        simple = bool, int, float, str, type(None)
        return [
            {"name": name, "learner": type(estimator).__name__}
            | {
                key: value if isinstance(value, simple) else repr(value)
                for key, value in sorted(estimator.get_params().items())
            }
            | ({"file": self.digest} if self.digest else {})
            for name, estimator in self.estimators.items()
        ]

    def build(self, parameters: Parameters) -> Any:
        """Return a fresh copy of the estimator that `parameters` name."""
        return clone(self.estimators[str(parameters["name"])])

    @property
    def classes(self) -> list[str]:
        """Return all that the estimators are made of and inherit, as ``module:Class``.

        Python's own are left out: its version is not a learner's.
        """
        found: set[type[Any]] = set()
        for estimator in self.estimators.values():
            for part in (estimator, *estimator.get_params(deep=True).values()):
                own = inspect.isfunction(part) or inspect.isclass(part)
                found |= {part} if own else set(type(part).__mro__)
        return sorted(
            f"{each.__module__}:{each.__qualname__}"
            for each in found
            if each.__module__ == "__main__"
            or each.__module__.partition(".")[0] not in sys.stdlib_module_names
        )


def named(pipelines: Sequence[Any] | Mapping[str, Any], digest: str = "") -> Pipelines:
    """Return `pipelines` by name; those of a list are numbered after their class.

    Raises UsageError if the list is empty, or one is not a classifier.
    """
    if not isinstance(pipelines, Mapping):
        pipelines = {
            f"{type(pipeline).__name__}-{index}": pipeline
            for index, pipeline in enumerate(pipelines)
        }
    if not pipelines:
        raise UsageError("no pipelines: give at least one scikit-learn classifier")
    for name, pipeline in pipelines.items():
        # Only an estimator has the tags that is_classifier reads.
        if not (isinstance(pipeline, BaseEstimator) and is_classifier(pipeline)):
            raise UsageError(
                f"pipeline {name!r} is not a classifier ({type(pipeline).__name__}):"
                " give scikit-learn classifiers or pipelines that end in one"
            )
    return Pipelines(dict(pipelines), digest)


def read(path: Path) -> Pipelines:
    """Return the list or mapping called ``PIPELINES`` of a Python file; the file is run.

    Raises
    ------
    UsageError
        If the file is missing, or defines no classifiers of that name.
    UserFileError
        If running it raises.
    """
    found = getattr(import_file(path, "pipelines"), NAME, None)
    if not isinstance(found, (list, tuple, Mapping)):
        raise UsageError(f"{str(path)!r} defines no list or mapping called {NAME}")
    file = path.resolve()
    return named(found, hash_of(reachable([file], folders=frozenset([file.parent]))))
