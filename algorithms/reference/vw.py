"""Vowpal Wabbit itself on a stream: what our kernels agree with, and its further options."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic.dataclasses import dataclass

from leaseboard.algorithms.environments.arrays import Floats
from leaseboard.algorithms.environments.arrival import StreamLearner
from leaseboard.algorithms.environments.stream import OneModel, StreamEnvironment
from leaseboard.algorithms.events import Parameters
from leaseboard.algorithms.online.configuration import VWConfiguration
from leaseboard.algorithms.online.schema import Schema, stream_schema


@dataclass(frozen=True, kw_only=True)
class VowpalWabbit(OneModel):
    """Vowpal Wabbit's learner, one model without interactions; of many classes its ``--oaa``.

    Parameters
    ----------
    options : str
        Further options of its command line, such as ``--l2 1e-6 --interactions ab``.
    """

    options: str = ""

    def model(self, env: StreamEnvironment) -> StreamLearner:
        """Return the wheel's workspace."""
        stream, options = env.stream, shlex.split(self.options)
        schema = stream_schema(stream)
        return Wheel(schema, [*OPTIONS[stream.task], *options], len(stream.classes))

    def parameters(self) -> Parameters:
        """See `OneModel.parameters`."""
        return {**VWConfiguration().parameters(), "options": self.options}


OPTIONS = {"regression": (), "classification": ("--loss_function", "logistic")}
"""What names the loss of each task on the command line."""


class Wheel:
    """Workspace of Vowpal Wabbit that learns rows of numbers.

    Parameters
    ----------
    schema : Schema
    options : sequence of str
        See `OPTIONS`.
    n_classes : int
        Where there are more than two, whose labels are their numbers from 0.
    """

    def __init__(self, schema: Schema, options: Sequence[str] = (), n_classes: int = 0) -> None:
        from vowpalwabbit.pyvw import Workspace, pylibvw

        classes = ("--oaa", str(n_classes), "--probabilities") if n_classes else ()
        self.schema, self.n_classes = schema, n_classes
        self._kind = pylibvw.vw.lMulticlass if n_classes else pylibvw.vw.lSimple
        self._type = np.float64 if n_classes else np.float32
        self.workspace = Workspace(
            arg_list=["--bit_precision", str(schema.bits), *options, *classes, "--quiet",
                      "--no_stdin"]
        )  # fmt: skip

    def learn_many(self, examples: Floats, labels: Floats) -> NDArray[Any]:
        """Learn a block in order; return its progressive predictions, of classes probabilities."""
        found = []
        for row, label in zip(examples.tolist(), labels.tolist(), strict=True):
            said = f"{label + 1:g}" if self.n_classes else label.hex()
            found.append(self._pass(f"{said} {text_line(self.schema, row)}", learns=True))
        return np.array(found, dtype=self._type)

    def predict_waiting(self, examples: Floats, pending: int) -> NDArray[Any]:
        """See `leaseboard.algorithms.environments.arrival.StreamLearner`."""
        lines = (text_line(self.schema, row) for row in examples.tolist())
        return np.array([self._pass(line, learns=False) for line in lines], dtype=self._type)

    def _pass(self, line: str, *, learns: bool) -> Any:
        """Return the prediction of an example in VW's text format, and learn it."""
        example = self.workspace.parse(line, self._kind)
        prediction = self.workspace.predict(example)
        if learns:
            self.workspace.learn(example)
        self.workspace.finish_example(example)
        return prediction


def text_line(schema: Schema, values: Sequence[float]) -> str:
    """Return the example in VW's text format without a label; numbers are hexadecimal.

    VW's own parser of decimals is off by a unit in the last place, that of hexadecimals is exact.

    Examples
    --------
    >>> text_line(Schema(("a", "b"), ((0,), (1, 2)), ("0", "x", "y")), [0.5, 0.0, 3.0])
    '|a 0:0x1.0000000000000p-1 |b y:0x1.8000000000000p+1'
    """
    groups = []
    for name, columns in schema.groups():
        features = [f"{schema.features[c]}:{values[c].hex()}" for c in columns if values[c]]
        groups.append(" ".join([f"|{name}", *features]))
    return " ".join(groups)
