"""A learner trained by the numba kernel."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from algorithms.online import kernel
from algorithms.online.configuration import VWConfiguration
from algorithms.online.layout import lay_out
from algorithms.online.learner import Learner, as_example, command_options
from algorithms.online.schema import Schema


class KernelLearner(Learner):
    """VW's default learner in numba: squared loss, bit-identical to the wheel.

    Examples
    --------
    >>> schema = Schema(("a",), ((0, 1),), ("0", "1"))
    >>> model = KernelLearner(schema, VWConfiguration())
    >>> for _ in range(3):
    ...     before = model.learn([1.0, 2.0], 3.0)
    >>> round(before, 4), round(model.predict([1.0, 2.0]), 4)
    (1.2159, 1.5518)
    """

    def __init__(self, schema: Schema, configuration: VWConfiguration) -> None:
        super().__init__(schema, configuration)
        self.layout = lay_out(schema, configuration)
        n_terms = len(self.layout.cells)
        self.table = np.zeros((len(self.layout.indices), 4), dtype=np.float32)
        self.sums = np.zeros(2, dtype=np.float64)
        self.labels = np.zeros(2, dtype=np.float32)
        self._values = np.zeros(n_terms, dtype=np.float32)
        self._places = np.zeros(n_terms, dtype=np.int32)

    def predict(self, example: ArrayLike) -> float:
        """The prediction for one example, an array of shape (n_features,)."""
        count = self._gather(as_example(example, self.schema))
        prediction = kernel.predict(self.table, self.labels, self._values, self._places, count)
        return float(prediction)

    def learn(self, example: ArrayLike, label: float, importance: float = 1.0) -> float:
        """Learn one example; return the prediction that was due before."""
        count = self._gather(as_example(example, self.schema))
        before = kernel.learn(
            self.table,
            self.sums,
            self.labels,
            np.float32(self.configuration.learning_rate),
            self._values,
            self._places,
            count,
            np.float32(label),
            np.float32(importance),
        )
        return float(before)

    def learn_many(
        self, examples: NDArray[np.float32], labels: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        """Learn a block in order; return its progressive predictions, shape (n_examples,)."""
        predictions = np.empty(len(labels), dtype=np.float32)
        kernel.learn_many(
            examples,
            labels,
            self.table,
            self.sums,
            self.labels,
            np.float32(self.configuration.learning_rate),
            self.layout.factors,
            self.layout.cells,
            self._values,
            self._places,
            predictions,
        )
        return predictions

    def save(self, path: Path) -> None:
        """Write a VW model file whose predictions equal this model's.

        VW keeps the range of labels but offers no way to set it, so the new workspace first
        learns two empty examples with the extreme labels; then all weights are overwritten.
        """
        from vowpalwabbit import Workspace

        options = command_options(self.schema, self.configuration)
        workspace = Workspace(arg_list=[*options, "--quiet"])
        for label in self.labels.tolist():
            workspace.learn(f"{label.hex()} |")
        for index, cell in zip(self.layout.indices.tolist(), self.table.tolist(), strict=True):
            for offset, value in enumerate(cell):
                workspace.set_weight(index, offset, value)
        workspace.save(str(path))
        workspace.finish()

    def _gather(self, row: NDArray[np.float32]) -> int:
        layout = self.layout
        count: int = kernel.gather(
            row, layout.factors, layout.cells, len(layout.cells), self._values, self._places
        )
        return count
