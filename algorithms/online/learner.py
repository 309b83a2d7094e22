"""One online learner, whichever engine trains it: predict, learn, hand over to VW."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leaseboard.algorithms.benches.arrays import uniform
from leaseboard.algorithms.online import kernel
from leaseboard.algorithms.online.configuration import VWConfiguration
from leaseboard.algorithms.online.kernel import ADAPTIVE, OPTIONS, RANGE, SQUARED, WEIGHT
from leaseboard.algorithms.online.layout import Layout, layouts
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


class KernelLearner(Learner):
    """VW's default learner in numba, bit-identical to the wheel.

    Parameters
    ----------
    schema, configuration
        See `Learner`.
    loss : int
        One of `leaseboard.algorithms.online.kernel`.

    Examples
    --------
    >>> schema = Schema(("a",), ((0, 1),), ("0", "1"))
    >>> model = KernelLearner(schema, VWConfiguration())
    >>> for _ in range(3):
    ...     before = model.learn([1.0, 2.0], 3.0)
    >>> round(before, 4), round(model.predict([1.0, 2.0]), 4)
    (1.2159, 1.5518)
    """

    def __init__(
        self, schema: Schema, configuration: VWConfiguration, loss: int = SQUARED
    ) -> None:
        super().__init__(schema, configuration)
        self.loss = loss
        self.layout = layouts(schema).of(configuration)
        n_terms = len(self.layout.cells)
        self.table = np.zeros((len(self.layout.indices), 4), dtype=np.float32)
        self.sums = np.zeros(2, dtype=np.float64)
        self.labels = np.array(RANGE[loss], dtype=np.float32)
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
            self.loss,
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
            uniform(examples),
            uniform(labels),
            self.table,
            self.sums,
            self.labels,
            np.float32(self.configuration.learning_rate),
            self.loss,
            self.layout.factors,
            self.layout.cells,
            self._values,
            self._places,
            predictions,
        )
        return predictions

    def rescale(self, ratio: float, shift: float) -> None:
        """Predict ``ratio * p + shift`` where it predicted p."""
        rescale(self.table, self.labels, self.layout, ratio, shift)

    def over(self, schema: Schema, configuration: VWConfiguration) -> KernelLearner:
        """The same model of other columns: each weight keeps its place in VW's table."""
        other = KernelLearner(schema, configuration, self.loss)
        mine, its = self.layout.shared_with(other.layout)
        other.table[its] = self.table[mine]
        other.sums[:], other.labels[:] = self.sums, self.labels
        return other

    def command_line(self) -> str:
        """The options with which ``vw`` trains this configuration."""
        return " ".join(self._options())

    def save(self, path: Path) -> None:
        """Write a VW model file whose predictions equal this model's.

        VW keeps the range of labels in the file; its options for the range of predictions set it.
        """
        from vowpalwabbit import Workspace

        low, high = self.labels.tolist()
        limits = ["--min_prediction", repr(low), "--max_prediction", repr(high)]
        workspace = Workspace(arg_list=[*self._options(), *limits, "--quiet"])
        for index, cell in zip(self.layout.indices.tolist(), self.table.tolist(), strict=True):
            for offset, value in enumerate(cell):
                workspace.set_weight(index, offset, value)
        workspace.save(str(path))
        workspace.finish()

    def _options(self) -> list[str]:
        return [*command_options(self.schema, self.configuration), *OPTIONS[self.loss]]

    def _gather(self, row: NDArray[np.float32]) -> int:
        layout = self.layout
        count: int = kernel.gather(
            row, layout.factors, layout.cells, len(layout.cells), self._values, self._places
        )
        return count


def rescale(
    table: NDArray[np.float32],
    labels: NDArray[np.float32],
    layout: Layout,
    ratio: float,
    shift: float,
) -> None:
    """Let a model predict ``ratio * p + shift`` where it predicted p.

    It goes on as if it had learned labels in that unit, at a rate that fits it.
    """
    table[:, WEIGHT] *= np.float32(ratio)
    grown = table[:, ADAPTIVE].astype(np.float64) * ratio**2
    table[:, ADAPTIVE] = np.minimum(grown, np.finfo(np.float32).max)
    constant = layout.cells[int(np.argmax(layout.factors[:, 0] < 0))]
    table[constant, WEIGHT] += np.float32(shift)
    labels[:] = ratio * labels + shift
