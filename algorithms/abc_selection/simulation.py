"""An environment without learners, in which the assumptions of ABC hold exactly."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leaseboard.algorithms.environments.folds import FoldProbe, Folds
from leaseboard.algorithms.environments.samples import Probes
from leaseboard.algorithms.environments.selecting import Probe
from leaseboard.algorithms.events import Parameters
from leaseboard.algorithms.seeds import generator

NEAR_TIES = (0.81, 0.80, 0.785, 0.78)
"""Accuracies so close that a wrong interval can cost the right answer."""


def _configurations(count: int) -> list[Parameters]:
    return [{"learner": "simulated", "index": index} for index in range(count)]


class KnownVerdicts(Probes):
    """Probes of classifiers that are fixed beforehand: no row that they are trained on matters.

    - `right`, shape (n_configurations, n_rows): 1 where one is right; first the training rows.
    - `seconds`: cost of training each on a row.
    """

    def __init__(self, right: NDArray[Any], train_rows: int, seconds: Sequence[float]) -> None:
        self.train_rows, self.test_rows = train_rows, right.shape[1] - train_rows
        self._train = right[:, :train_rows].cumsum(axis=1)
        self._test = right[:, train_rows:].cumsum(axis=1)
        self._seconds = seconds

    def measure(self, configuration: int, rows: int, test_rows: int) -> Probe:
        """Return the counts of correct rows in the two prefixes, at a linear cost."""
        seconds = self._seconds[configuration] * rows
        full = rows == self.train_rows
        train, test = self._train[configuration], self._test[configuration]
        return Probe(
            rows=rows,
            test_rows=test_rows,
            train_correct=None if full else int(train[rows - 1]),
            half_correct=None if full else int(train[: rows // 2][-1:].sum()),
            test_correct=int(test[test_rows - 1]),
            half_test_correct=int(test[: test_rows // 2][-1:].sum()),
            fit_cpu=seconds,
            fit_wall=seconds,
        )

    def real_accuracy(self, configuration: int) -> float:
        """Return A_i on all test rows."""
        return float(self._test[configuration, -1]) / self.test_rows


class SimulatedLearners(KnownVerdicts):
    """Configurations whose hypothesis classes hold one hypothesis each.

    So every sample trains the same model: fitness and exploitiveness hold with equality, which
    leaves the bounds no slack and is the hardest case for their coverage. All that is random is
    which rows of D are training rows, and in which order.

    Parameters
    ----------
    accuracies : sequence of float
        Of each configuration's hypothesis on D.
    train_rows, test_rows : int
        |D_tr| and |D_te|.
    seed : int
        Of the split and the order.
    seconds_per_row : sequence of float, optional
        Cost of training on a row; one millisecond by default.
    """

    def __init__(
        self,
        accuracies: Sequence[float],
        train_rows: int,
        test_rows: int,
        seed: int,
        seconds_per_row: Sequence[float] | None = None,
    ) -> None:
        self.configurations = _configurations(len(accuracies))
        rows = train_rows + test_rows
        correct = np.zeros((len(accuracies), rows), dtype=np.int32)
        for index, accuracy in enumerate(accuracies):
            correct[index, : round(accuracy * rows)] = 1
        correct = generator(seed, "simulated split").permuted(correct, axis=1)
        super().__init__(correct, train_rows, seconds_per_row or [1e-3] * len(accuracies))


class SimulatedFolds(Folds):
    """Configurations that hold one hypothesis each, tested fold by fold: folds are alike.

    Parameters
    ----------
    accuracies : sequence of float
        Of each configuration's hypothesis, on rows drawn independently.
    rows, folds : int
        Of the table, and into how many parts it is divided.
    seed : int
        Of the rows.
    """

    def __init__(self, accuracies: Sequence[float], rows: int, folds: int, seed: int) -> None:
        self.configurations = _configurations(len(accuracies))
        self.folds = folds
        rng = generator(seed, "simulated folds")
        right = rng.random((len(accuracies), rows)) < np.array(accuracies)[:, None]
        self._right = np.array_split(right, folds, axis=1)

    def measure(self, configuration: int, fold: int) -> FoldProbe:
        """Return the verdicts of a fold, for a second."""
        right = self._right[fold][configuration]
        return FoldProbe(
            rows=sum(part.shape[1] for part in self._right) - len(right),
            test_rows=len(right),
            test_correct=int(right.sum()),
            fit_cpu=1.0,
            fit_wall=1.0,
            right="".join("01"[each] for each in right.astype(int)),
        )
