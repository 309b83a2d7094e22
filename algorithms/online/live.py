"""The live models of a race, behind one interface for both engines."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from leaseboard.algorithms.benches.sealed import uniform
from leaseboard.algorithms.online.configuration import VWConfiguration
from leaseboard.algorithms.online.kernel_learner import KernelLearner
from leaseboard.algorithms.online.learner import Learner
from leaseboard.algorithms.online.lockstep import learn_live, predict_live
from leaseboard.algorithms.online.losses import SQUARED
from leaseboard.algorithms.online.pool import Pool
from leaseboard.algorithms.online.schema import Schema, require_same_naming
from leaseboard.algorithms.plain import fill

if TYPE_CHECKING:
    from leaseboard.algorithms.online.workspace import WorkspaceLearner

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Slots = NDArray[np.int64]

SingleCalls = tuple[Callable[[], float], Callable[[float, float], bool]]
"""What predicts the example in a row, and what learns it: see `Race.single_calls`."""


class LiveModels(ABC):
    """Numbered slots that hold one model each."""

    @abstractmethod
    def start(self, slot: int, configuration: VWConfiguration, parent: int | None = None) -> None:
        """Put a new model into `slot`.

        Parameters
        ----------
        slot : int
        configuration : VWConfiguration
        parent : int, optional
            The slot of a model whose weights and state the new one starts with; what only the
            new one has starts at zero. The configuration must have all its interactions.
        """

    @abstractmethod
    def stop(self, slot: int) -> None:
        """Empty `slot`."""

    def require_same_naming(self, schema: Schema) -> None:
        """ValueError if a new namespace of `schema` would be taken for an earlier one."""

    @abstractmethod
    def grow(self, schema: Schema) -> None:
        """Go on with a schema of more columns, see `require_same_naming`."""

    @abstractmethod
    def learn(
        self,
        examples: Floats,
        labels: Floats,
        importances: Floats,
        live: Slots,
        predictions: Floats,
    ) -> None:
        """Let the models in the `live` slots learn a block.

        Their progressive predictions are written into ``predictions[:, live]``.
        """

    @abstractmethod
    def predict(self, example: Floats, live: Slots, predictions: Floats) -> None:
        """Write into ``predictions[live]`` what the live models predict for one example."""

    @abstractmethod
    def learner(self, slot: int) -> Learner:
        """The model in `slot`, to be kept after the race."""

    @abstractmethod
    def state(self, slot: int) -> dict[str, Any]:
        """What the model in `slot` has learned, as arrays and bytes."""

    @abstractmethod
    def restore(self, slot: int, configuration: VWConfiguration, state: dict[str, Any]) -> None:
        """Put a model into `slot` that has learned `state`; ValueError if it cannot have."""


class KernelModels(LiveModels):
    """Models of the numba kernel."""

    def __init__(self, schema: Schema, n_slots: int, loss: int = SQUARED) -> None:
        self.pool = Pool(schema, n_slots, loss)

    def start(self, slot: int, configuration: VWConfiguration, parent: int | None = None) -> None:
        """Put a new model into `slot`, a branch of `parent` if there is one."""
        if parent is None:
            self.pool.start(slot, configuration)
        else:
            self.pool.branch(slot, configuration, parent)

    def stop(self, slot: int) -> None:
        """Empty `slot`."""
        self.pool.clear(slot)

    def grow(self, schema: Schema) -> None:
        """Go on with a schema of more columns."""
        self.pool.grow(schema)

    def learn(
        self,
        examples: Floats,
        labels: Floats,
        importances: Floats,
        live: Slots,
        predictions: Floats,
    ) -> None:
        """One compiled loop over all live models."""
        learn_live(
            uniform(examples), uniform(labels), uniform(importances), live, *self.pool.learning,
            predictions,
        )  # fmt: skip

    def predict(self, example: Floats, live: Slots, predictions: Floats) -> None:
        """One compiled loop over all live models."""
        predict_live(uniform(example), live, *self.pool.predicting, predictions)

    def rescale(self, live: Slots, ratio: float, shift: float) -> None:
        """Go on with labels y in the place of which ``ratio * y + shift`` is learned.

        The `live` models predict the same in the new unit.
        """
        for slot in live.tolist():
            self.pool.rescale(slot, ratio, shift)

    def extend(self, slot: int, configuration: VWConfiguration) -> None:
        """Let the model in `slot` go on as one of `configuration`, which has all that it has."""
        self.pool.put(slot, self.pool.learner(slot).over(self.pool.schema, configuration))

    def learner(self, slot: int) -> Learner:
        """A copy of the model in `slot`."""
        return self.pool.learner(slot)

    def state(self, slot: int) -> dict[str, Any]:
        """The model's cells, the sums of its normaliser, its range of labels."""
        learner = self.pool.learner(slot)
        return {"table": learner.table, "sums": learner.sums, "labels": learner.labels}

    def restore(self, slot: int, configuration: VWConfiguration, state: dict[str, Any]) -> None:
        """Put a model into `slot` that has learned `state`; ValueError if it cannot have."""
        learner = KernelLearner(self.pool.schema, configuration, self.pool.loss)
        fill(learner, state, ("table", "sums", "labels"))
        self.pool.put(slot, learner)


class WorkspaceModels(LiveModels):
    """Real VW workspaces; they branch by way of model files."""

    def __init__(self, schema: Schema, n_slots: int, options: tuple[str, ...] = ()) -> None:
        from leaseboard.algorithms.online.workspace import ExampleBuilder

        self.schema = schema
        self.options = options
        self._builder = ExampleBuilder(schema)
        self._learners: list[WorkspaceLearner | None] = [None] * n_slots

    def start(self, slot: int, configuration: VWConfiguration, parent: int | None = None) -> None:
        """Put a new workspace into `slot`, a branch of `parent` if there is one."""
        from leaseboard.algorithms.online.workspace import WorkspaceLearner

        if parent is None:
            self._learners[slot] = WorkspaceLearner(
                self.schema, configuration, self.options, self._builder
            )
        else:
            self._learners[slot] = self._at(parent).branch(configuration)

    def stop(self, slot: int) -> None:
        """Close the workspace in `slot`."""
        self._at(slot).close()
        self._learners[slot] = None

    def require_same_naming(self, schema: Schema) -> None:
        """See `LiveModels.require_same_naming`."""
        require_same_naming(self.schema, schema)

    def grow(self, schema: Schema) -> None:
        """Go on with a schema of more columns; VW's table has room for them already."""
        from leaseboard.algorithms.online.workspace import ExampleBuilder

        self.require_same_naming(schema)
        self.schema = schema
        self._builder = ExampleBuilder(schema)
        for learner in self._learners:
            if learner is not None:
                learner.grow(schema, self._builder)

    def learn(
        self,
        examples: Floats,
        labels: Floats,
        importances: Floats,
        live: Slots,
        predictions: Floats,
    ) -> None:
        """Every example is built once and learned by each workspace in turn."""
        triples = zip(examples, labels.tolist(), importances.tolist(), strict=True)
        for t, (row, label, importance) in enumerate(triples):
            built = self._builder.build(row, label, importance)
            for slot in live.tolist():
                predictions[t, slot] = self._at(slot).learn_built(built, label)

    def predict(self, example: Floats, live: Slots, predictions: Floats) -> None:
        """Each workspace predicts in turn."""
        for slot in live.tolist():
            predictions[slot] = self._at(slot).predict(example)

    def learner(self, slot: int) -> Learner:
        """The workspace in `slot`."""
        return self._at(slot)

    def state(self, slot: int) -> dict[str, Any]:
        """VW's model file, and the range of labels."""
        learner = self._at(slot)
        return {"model": learner.content(), "labels": learner.labels}

    def restore(self, slot: int, configuration: VWConfiguration, state: dict[str, Any]) -> None:
        """Put a model into `slot` that has learned `state`; ValueError if it cannot have."""
        from leaseboard.algorithms.online.workspace import WorkspaceLearner

        fresh = WorkspaceLearner(self.schema, configuration, self.options, self._builder)
        fill(fresh, state, ("labels",))
        fresh.replace(state["model"])
        self._learners[slot] = fresh

    def _at(self, slot: int) -> WorkspaceLearner:
        learner = self._learners[slot]
        assert learner is not None, f"slot {slot} is empty"
        return learner
