"""One model that learns online, by itself."""

from __future__ import annotations

import numpy as np

from leaseboard.algorithms.array_types import Floats
from leaseboard.algorithms.online.configuration import VWConfiguration
from leaseboard.algorithms.online.kernel_models import LOSSES, KernelModels
from leaseboard.algorithms.online.schema import Schema


class Learner:
    """A model by itself, the only one of `models`; it has learned nothing.

    Examples
    --------
    >>> model = Learner(Schema(("a",), ((0, 1),), ("0", "1")), VWConfiguration())
    >>> examples = np.tile(np.float32([1, 2]), (3, 1))
    >>> [f"{each:.3f}" for each in model.learn_many(examples, np.float32([3, 3, 3]))]
    ['0.000', '0.752', '1.216']
    """

    def __init__(
        self, schema: Schema, configuration: VWConfiguration, task: str = "regression"
    ) -> None:
        self.models, self._live = KernelModels(schema, 1, LOSSES[task]), np.zeros(1, np.int64)
        self.models.start(0, configuration)

    def learn_many(
        self, examples: Floats, labels: Floats, importances: Floats | None = None
    ) -> Floats:
        """Learn a block in order; return its progressive predictions, shape (n_examples,)."""
        weights = np.ones(len(labels), np.float32) if importances is None else importances
        out = np.empty((len(labels), 1), dtype=np.float32)
        self.models.learn(examples, labels, weights, self._live, out)
        return out[:, 0]

    def predict_many(self, examples: Floats) -> Floats:
        """Return the predictions for a block, of which nothing is learned, shape (n_examples,)."""
        out = np.empty((len(examples), 1), dtype=np.float32)
        for example, said in zip(examples, out, strict=True):
            self.models.predict(example, self._live, said)
        return out[:, 0]
