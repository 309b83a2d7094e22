"""What scikit-learn asks of a transformer, as a base that does not import scikit-learn."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import Any, Self

import pandas as pd

from leaseboard.algorithms.errors import DataError


@contextmanager
def naming(reference: str) -> Iterator[None]:
    """Begin what is said of data that cannot be encoded with their name."""
    try:
        yield
    except DataError as error:
        raise DataError(f"{reference}: {error}") from error


@dataclass(eq=False)
class Transformer(ABC):
    """A transformer from raw columns to features, for pipelines of scikit-learn and for benches.

    A subclass is a dataclass whose fields are its parameters; what it learns from training rows
    ends with an underscore. It stands in a `Pipeline`, and can be cloned, pickled and saved by
    skops.

    Notes
    -----
    ``BaseEstimator`` would give the same. Its import takes a second and 50 MB, which a job on a
    stream, whose features are encoded in a few milliseconds, would pay for nothing.
    """

    @abstractmethod
    def fit(self, frame: pd.DataFrame, y: Any = None) -> Self:
        """Learn the encoding from the training rows alone."""

    @abstractmethod
    def transform(self, frame: pd.DataFrame) -> Any:
        """The features of any rows of the same columns."""

    def fit_transform(self, frame: pd.DataFrame, y: Any = None) -> Any:
        """`fit`, then `transform`, of the same rows."""
        return self.fit(frame, y).transform(frame)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def set_params(self, **parameters: Any) -> Self:
        """Set parameters by name."""
        for name, value in parameters.items():
            if name not in self.get_params():
                known = ", ".join(self.get_params())
                raise ValueError(f"{type(self).__name__} has no parameter {name!r}: use {known}")
            setattr(self, name, value)
        return self

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn may assume."""
        from sklearn.utils import InputTags, Tags, TargetTags, TransformerTags

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=False),
            transformer_tags=TransformerTags(),
            input_tags=InputTags(allow_nan=True, categorical=True, string=True),
        )
