"""Vowpal Wabbit's own way with many classes: a learner of each against all others, ``--oaa``."""

from __future__ import annotations

import numpy as np
import pylibvw
from numpy.typing import NDArray
from vowpalwabbit import Workspace

from algorithms.errors import UsageError
from algorithms.online.configuration import VWConfiguration
from algorithms.online.learner import command_options
from algorithms.online.schema import Schema
from algorithms.online.workspace import text_line

_MULTICLASS = pylibvw.vw.lMulticlass


class OneAgainstAll:
    """A workspace that tells the chance of each class before it learns which one came.

    Parameters
    ----------
    schema, configuration
        See `algorithms.online.learner.Learner`.
    n_classes : int
        VW has to know it beforehand; what it thinks of a class that has not come is what it
        thinks of the others.
    options : sequence of str
        Further options of VW, the logistic loss among them, which chances ask for.

    Examples
    --------
    >>> schema = Schema(("a",), ((0,),), ("x",))
    >>> learner = OneAgainstAll(schema, VWConfiguration(), 3, ("--loss_function", "logistic"))
    >>> numbers = np.tile([0, 1, 2], 200)
    >>> chances = learner.learn_many(numbers[:, None].astype(np.float32) - 1, numbers)
    >>> chances.shape, chances[0].round(2).tolist(), chances[-1].argmax()
    ((600, 3), [0.33, 0.33, 0.33], np.int64(2))
    """

    def __init__(
        self,
        schema: Schema,
        configuration: VWConfiguration,
        n_classes: int,
        options: tuple[str, ...],
    ) -> None:
        self.schema, self.n_classes = schema, n_classes
        tokens = [*command_options(schema, configuration), *options, "--probabilities"]
        tokens += ["--oaa", str(n_classes), "--quiet", "--no_stdin"]
        try:
            self._workspace = Workspace(arg_list=tokens)
        except RuntimeError as error:
            raise UsageError(f"Vowpal Wabbit refuses {' '.join(options)}: {error}") from error

    def learn_many(
        self, examples: NDArray[np.float32], numbers: NDArray[np.integer]
    ) -> NDArray[np.float64]:
        """Learn a block in order; its progressive chances, shape (n_examples, n_classes).

        Parameters
        ----------
        examples : ndarray of float32, shape (n_examples, n_features)
        numbers : ndarray of int, shape (n_examples,)
            Of the classes, from 0.
        """
        chances = np.empty((len(numbers), self.n_classes))
        for t, (row, number) in enumerate(zip(examples.tolist(), numbers.tolist(), strict=True)):
            line = f"{number + 1} {text_line(self.schema, row)}"
            example = self._workspace.parse(line, _MULTICLASS)
            chances[t] = self._workspace.predict(example)
            self._workspace.learn(example)
            self._workspace.finish_example(example)
        return chances
