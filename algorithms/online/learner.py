"""One model that learns online, by itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from leaseboard.algorithms.array_types import Floats
from leaseboard.algorithms.online.configuration import VWConfiguration
from leaseboard.algorithms.online.kernel_models import LOSSES, KernelModels
from leaseboard.algorithms.online.schema import Schema


class Learner:
    """A model by itself, the only one of `models`.

    Examples
    --------
    >>> schema = Schema(("a",), ((0, 1),), ("0", "1"))
    >>> model = make_learner(schema, VWConfiguration())
    >>> for _ in range(3):
    ...     before = model.learn([1.0, 2.0], 3.0)
    >>> round(before, 4), round(model.predict([1.0, 2.0]), 4)
    (1.2159, 1.5518)
    """

    def __init__(self, models: KernelModels) -> None:
        self.models = models
        self._live = np.zeros(1, dtype=np.int64)

    @property
    def schema(self) -> Schema:
        """The columns of its examples."""
        return self.models.schema

    @property
    def configuration(self) -> VWConfiguration:
        """The configuration of its model."""
        return self.models.configuration(0)

    def predict(self, example: ArrayLike) -> float:
        """Return the prediction for one example, an array of shape (n_features,)."""
        out = np.zeros(1, dtype=np.float32)
        self.models.predict(self._row(example), self._live, out)
        return float(out[0])

    def learn(self, example: ArrayLike, label: float, importance: float = 1.0) -> float:
        """Learn one example; return the prediction that was due before."""
        given, weight = np.array([[label], [importance]], dtype=np.float32)
        return float(self._learn(self._row(example)[None], given, weight)[0])

    def learn_many(self, examples: Floats, labels: Floats) -> Floats:
        """Learn a block in order; return its progressive predictions, shape (n_examples,)."""
        return self._learn(examples, labels, np.ones(len(labels), dtype=np.float32))

    def predict_many(self, examples: Floats) -> Floats:
        """Return the predictions for a block, of which nothing is learned, shape (n_examples,)."""
        return np.array([self.predict(example) for example in examples], dtype=np.float32)

    def state(self) -> dict[str, Any]:
        """Return what it is and what it has learned, as plain values."""
        one = self.configuration
        return {
            "configuration": [one.interactions, one.learning_rate, one.namespaces],
            "loss": self.models.loss,
            "model": self.models.state(0),
        }

    @classmethod
    def restored(cls, state: Mapping[str, Any], schema: Schema) -> Learner:
        """Return the model of which `state` is the state, for examples of `schema`."""
        models = KernelModels(schema, 1, state["loss"])
        models.restore(0, VWConfiguration(*state["configuration"]), state["model"])
        return cls(models)

    def _learn(self, examples: Floats, labels: Floats, importances: Floats) -> Floats:
        block = [np.ascontiguousarray(each) for each in (examples, labels, importances)]
        out = np.empty((len(labels), 1), dtype=np.float32)
        self.models.learn(block[0], block[1], block[2], self._live, out)
        return out[:, 0]

    def _row(self, example: ArrayLike) -> Floats:
        """Return an example as models take it; ValueError if it has another length."""
        row = np.ascontiguousarray(example, dtype=np.float32)
        if row.shape != (self.schema.n_features,):
            raise ValueError(
                f"an example of shape {row.shape} given to a model of {self.schema.n_features}"
                " features: pass one value per column"
            )
        return row


def make_learner(
    schema: Schema, configuration: VWConfiguration, task: str = "regression"
) -> Learner:
    """Return one model of `configuration` that has learned nothing."""
    models = KernelModels(schema, 1, LOSSES[task])
    models.start(0, configuration)
    return Learner(models)
