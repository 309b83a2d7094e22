"""One online learner, whichever engine trains it: predict, learn, hand over to VW."""

from __future__ import annotations

import functools
import logging
import re
import shlex
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import AfterValidator

from leaseboard.algorithms.benches.arrays import uniform
from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.online import kernel
from leaseboard.algorithms.online.configuration import VWConfiguration
from leaseboard.algorithms.online.handles import handle_of
from leaseboard.algorithms.online.kernel import (
    ADAPTIVE,
    LOGISTIC,
    OPTIONS,
    RANGE,
    SQUARED,
    WEIGHT,
    Floats,
)
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
        """Return the prediction for one example, an array of shape (n_features,)."""

    @abstractmethod
    def learn(self, example: ArrayLike, label: float, importance: float = 1.0) -> float:
        """Learn one example; return the prediction that was due before."""

    def learn_many(self, examples: Floats, labels: Floats) -> Floats:
        """Learn a block in order; return its progressive predictions, shape (n_examples,)."""
        pairs = zip(examples, labels.tolist(), strict=True)
        return np.array([self.learn(x, y) for x, y in pairs], dtype=np.float32)

    def predict_many(self, examples: Floats) -> Floats:
        """Return the predictions for a block, of which nothing is learned, shape (n_examples,)."""
        return np.array([self.predict(example) for example in examples], dtype=np.float32)

    @abstractmethod
    def save(self, path: Path) -> None:
        """Write a VW model file whose predictions equal this model's."""

    def command_line(self) -> str:
        """Return the options with which ``vw`` trains this configuration."""
        return " ".join(command_options(self.schema, self.configuration))

    def parameters(self) -> dict[str, Any]:
        """Return the configuration as plain values."""
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


def as_example(example: ArrayLike, schema: Schema) -> Floats:
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
        n_terms, order = self.layout.factors.shape
        self.pool = kernel.empty_pool(1, len(self.layout.indices), n_terms, order)
        self.pool.factors[0], self.pool.cells[0] = self.layout.factors, self.layout.cells
        self.pool.n_terms[0], self.pool.rates[0] = n_terms, configuration.learning_rate
        self.pool.labels[0] = RANGE[loss]

    @property
    def table(self) -> Floats:
        """The model's cells, shape (n_cells, 4)."""
        return np.asarray(self.pool.tables[0])

    @property
    def sums(self) -> NDArray[np.float64]:
        """Those of the normaliser, shape (2,)."""
        return np.asarray(self.pool.sums[0])

    @property
    def labels(self) -> Floats:
        """The range of labels seen, shape (2,)."""
        return np.asarray(self.pool.labels[0])

    def predict(self, example: ArrayLike) -> float:
        """Return the prediction for one example, an array of shape (n_features,)."""
        row, live = as_example(example, self.schema), np.zeros(1, dtype=np.int64)
        kernel.predict_live(row, live, handle_of(*self.pool), self.pool.outputs)
        return float(self.pool.outputs[0])

    def learn(self, example: ArrayLike, label: float, importance: float = 1.0) -> float:
        """Learn one example; return the prediction that was due before."""
        row = as_example(example, self.schema)[None]
        given, weight = np.array([[label], [importance]], dtype=np.float32)
        return float(self._learn(row, given, weight)[0])

    def learn_many(self, examples: Floats, labels: Floats) -> Floats:
        """Learn a block in order; return its progressive predictions, shape (n_examples,)."""
        return self._learn(examples, labels, np.ones(len(labels), dtype=np.float32))

    def _learn(self, examples: Floats, labels: Floats, importances: Floats) -> Floats:
        block = uniform(examples), uniform(labels), uniform(importances)
        predictions = np.empty((len(labels), 1), dtype=np.float32)
        kernel.learn_block(*block, 0, self.pool, self.loss, predictions)
        return predictions[:, 0]

    def rescale(self, ratio: float, shift: float) -> None:
        """Predict ``ratio * p + shift`` where it predicted p."""
        rescale(self.table, self.labels, self.layout, ratio, shift)

    def over(self, schema: Schema, configuration: VWConfiguration) -> KernelLearner:
        """Return the same model of other columns: each weight keeps its place in VW's table."""
        other = KernelLearner(schema, configuration, self.loss)
        mine, its = self.layout.shared_with(other.layout)
        other.table[its] = self.table[mine]
        other.sums[:], other.labels[:] = self.sums, self.labels
        return other

    def command_line(self) -> str:
        """Return the options with which ``vw`` trains this configuration."""
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


def rescale(table: Floats, labels: Floats, layout: Layout, ratio: float, shift: float) -> None:
    """Let a model predict ``ratio * p + shift`` where it predicted p.

    It goes on as if it had learned labels in that unit, at a rate that fits it.
    """
    table[:, WEIGHT] *= np.float32(ratio)
    grown = table[:, ADAPTIVE].astype(np.float64) * ratio**2
    table[:, ADAPTIVE] = np.minimum(grown, np.finfo(np.float32).max)
    constant = layout.cells[int(np.argmax(layout.factors[:, 0] < 0))]
    table[constant, WEIGHT] += np.float32(shift)
    labels[:] = ratio * labels + shift


EngineName = Literal["auto", "kernel", "vw"]

LOSSES = {"regression": SQUARED, "classification": LOGISTIC}
"""The loss that each task is learned with; classes are labelled -1 and 1."""

OUTSIDE = frozenset(
    f"--{name}"
    for name in (
        *("data", "initial_regressor", "final_regressor", "readable_model", "invert_hash"),
        *("predictions", "raw_predictions", "cache", "cache_file", "kill_cache", "save_per_pass"),
        *("input_feature_regularizer", "output_feature_regularizer_binary", "feature_mask"),
        *("output_feature_regularizer_text", "dump_json_weights_experimental", "extra_metrics"),
        *("dictionary", "dictionary_path", "stdin", "daemon", "foreground", "port", "port_file"),
        *("pid_file", "num_children", "span_server", "span_server_port", "audit_regressor"),
    )
)
"""Options of VW by which a workspace reads, writes or serves by itself."""

_SHORT_OUTSIDE = re.compile(r"-[difprck]")

_log = logging.getLogger(__name__)


def choose_engine(
    name: EngineName, task: str, vw_options: str = ""
) -> tuple[Literal["kernel", "vw"], tuple[str, ...]]:
    """Return the engine that will train, and the options that its workspaces get.

    Parameters
    ----------
    name : "auto", "kernel" or "vw"
    task : "regression" or "classification"
        Of `LOSSES`.
    vw_options : str
        Further options of VW.

    Raises
    ------
    UsageError
        If the kernel is asked for what it cannot do.

    Examples
    --------
    >>> choose_engine("auto", "regression")
    ('kernel', ())
    >>> choose_engine("auto", "classification")
    ('kernel', ('--loss_function', 'logistic'))
    >>> choose_engine("auto", "regression", "--l2 1e-6")
    ('vw', ('--l2', '1e-6'))
    """
    own, further = OPTIONS[LOSSES[task]], shlex.split(vw_options)
    if not further:
        return ("vw" if name == "vw" else "kernel"), own
    if name == "kernel":
        raise UsageError(
            f"engine 'kernel' cannot train with {vw_options}: it has only VW's default"
            " update (squared or logistic loss); use engine 'vw' or 'auto'"
        )
    if name == "auto":
        _tell_fallback(vw_options)
    return "vw", (*own, *further)


@functools.cache  # once a process: a run makes many models, and is prepared before it starts
def _tell_fallback(options: str) -> None:
    _log.warning("falling back to engine 'vw', slower: the kernel has no %s", options)


@functools.lru_cache(maxsize=8)
def accepted(vw_options: str) -> str:
    """`vw_options` if a workspace opens with them; UsageError in VW's own words otherwise.

    Options that name a file or a port are refused before VW sees them: settings come from suites
    and saved models, and what a model learns from, and where it goes, is not theirs to say.
    """
    if vw_options:
        from leaseboard.algorithms.online.workspace import WorkspaceLearner

        tokens = tuple(shlex.split(vw_options))
        for token in tokens:
            if token.partition("=")[0] in OUTSIDE or _SHORT_OUTSIDE.match(token):
                raise ValueError(f"option {token!r} is about files or ports: leave it out")
        tiny = Schema(("a",), ((0,),), ("0",))
        WorkspaceLearner(tiny, VWConfiguration(), tokens).close()
    return vw_options


VwOptions = Annotated[str, AfterValidator(accepted)]
"""A setting that holds further options of VW."""


def make_learner(
    name: EngineName,
    schema: Schema,
    configuration: VWConfiguration,
    task: str = "regression",
    vw_options: str = "",
) -> Learner:
    """One model of `configuration`, trained by the engine called `name`."""
    chosen, options = choose_engine(name, task, vw_options)
    if chosen == "kernel":
        return KernelLearner(schema, configuration, LOSSES[task])
    from leaseboard.algorithms.online.workspace import WorkspaceLearner

    return WorkspaceLearner(schema, configuration, options)
