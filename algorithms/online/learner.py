"""One online learner, whichever engine trains it: predict, learn, hand over to VW."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leaseboard.algorithms.benches.sealed import uniform
from leaseboard.algorithms.online.configuration import VWConfiguration
from leaseboard.algorithms.online.schema import Schema


class Learner(ABC):
    """A model of one configuration over the columns of a schema.

    Both engines keep to VW's protocol: a prediction is clipped to the labels learned before,
    and `learn` returns the prediction that was due before learning.
    """

    def __init__(self, schema: Schema, configuration: VWConfiguration) -> None:
        self.schema = schema
        self.configuration = configuration

    @abstractmethod
    def predict(self, example: ArrayLike) -> float:
        """The prediction for one example, an array of shape (n_features,)."""

    @abstractmethod
    def learn(self, example: ArrayLike, label: float, importance: float = 1.0) -> float:
        """Learn one example; return the prediction that was due before."""

    def learn_many(
        self, examples: NDArray[np.float32], labels: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        """Learn a block in order; return its progressive predictions, shape (n_examples,)."""
        pairs = zip(examples, labels.tolist(), strict=True)
        return np.array([self.learn(x, y) for x, y in pairs], dtype=np.float32)

    def predict_many(self, examples: NDArray[np.float32]) -> NDArray[np.float32]:
        """The predictions for a block, of which nothing is learned, shape (n_examples,)."""
        return np.array([self.predict(example) for example in examples], dtype=np.float32)

    @abstractmethod
    def save(self, path: Path) -> None:
        """Write a VW model file whose predictions equal this model's."""

    def command_line(self) -> str:
        """The options with which ``vw`` trains this configuration."""
        return " ".join(command_options(self.schema, self.configuration))

    def parameters(self) -> dict[str, Any]:
        """The configuration as plain values."""
        return self.configuration.parameters()


def command_options(schema: Schema, configuration: VWConfiguration) -> list[str]:
    """VW's command line for `configuration`, as tokens.

    VW's ``--interactions`` names namespaces by their first letters. Where that is not enough to
    tell them apart, ``--experimental_full_name_interactions`` is used.

    Examples
    --------
    >>> schema = Schema(("a", "b"), ((0,), (1,)), ("0", "1"))
    >>> " ".join(command_options(schema, VWConfiguration((("a", "b"),), 0.25)))
    '--bit_precision 18 --learning_rate 0.25 --interactions ab'
    """
    tokens = ["--bit_precision", str(schema.bits)]
    tokens += ["--learning_rate", repr(configuration.learning_rate)]
    for interaction in schema.ordered(configuration.interactions):
        if schema.full_names:
            tokens += ["--experimental_full_name_interactions", "|".join(interaction)]
        else:
            tokens += ["--interactions", "".join(name[0] for name in interaction)]
    return tokens


def as_example(example: ArrayLike, schema: Schema) -> NDArray[np.float32]:
    """`example` as the row that engines take; ValueError if it has another length."""
    row = np.ascontiguousarray(example, dtype=np.float32)
    if row.shape != (schema.n_features,):
        raise ValueError(
            f"an example of shape {row.shape} given to a model of {schema.n_features} features:"
            " pass one value per column"
        )
    return uniform(row)
