"""``--oaa`` of a real Vowpal Wabbit workspace, with any of VW's options."""

from __future__ import annotations

import numpy as np
import pylibvw
from numpy.typing import NDArray
from vowpalwabbit import Workspace

from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.online.configuration import VWConfiguration
from leaseboard.algorithms.online.learner import command_options
from leaseboard.algorithms.online.one_against_all import OneAgainstAll
from leaseboard.algorithms.online.schema import Schema
from leaseboard.algorithms.online.workspace import text_line

_MULTICLASS = pylibvw.vw.lMulticlass


class WorkspaceOneAgainstAll(OneAgainstAll):
    """A workspace of all classes.

    Parameters
    ----------
    schema, configuration, n_classes
        See `OneAgainstAll`.
    options : sequence of str
        Further options of VW, the logistic loss among them, which chances ask for.
    """

    def __init__(
        self,
        schema: Schema,
        configuration: VWConfiguration,
        n_classes: int,
        options: tuple[str, ...],
    ) -> None:
        super().__init__(schema, n_classes)
        tokens = [*command_options(schema, configuration), *options, "--probabilities"]
        tokens += ["--oaa", str(n_classes), "--quiet", "--no_stdin"]
        try:
            self._workspace = Workspace(arg_list=tokens)
        except RuntimeError as error:
            raise UsageError(f"Vowpal Wabbit refuses {' '.join(options)}: {error}") from error

    def learn_many(
        self, examples: NDArray[np.float32], numbers: NDArray[np.integer]
    ) -> NDArray[np.float64]:
        """See `OneAgainstAll.learn_many`."""
        chances = np.empty((len(numbers), self.n_classes))
        for t, (row, number) in enumerate(zip(examples.tolist(), numbers.tolist(), strict=True)):
            line = f"{number + 1} {text_line(self.schema, row)}"
            example = self._workspace.parse(line, _MULTICLASS)
            chances[t] = self._workspace.predict(example)
            self._workspace.learn(example)
            self._workspace.finish_example(example)
        return chances
