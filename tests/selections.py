"""Configurations without learners, in which the assumptions of ABC hold exactly."""

from collections.abc import Sequence

import numpy as np

from leaseboard.algorithms.environments.samples import KnownVerdicts
from leaseboard.algorithms.seeds import generator


def _configurations(count: int) -> list[dict[str, object]]:
    return [{"learner": "simulated", "index": index} for index in range(count)]


class SimulatedLearners(KnownVerdicts):
    """Configurations whose hypothesis classes hold one hypothesis each.

    So every sample trains the same model: fitness and exploitiveness hold with equality, which
    leaves the bounds no slack and is the hardest case for their coverage. All that is random is
    which rows of D are training rows, and in which order.

    Parameters
    ----------
    accuracies : sequence of float
        Of each configuration's hypothesis on D.
    train_rows, test_rows, seed : int
        |D_tr| and |D_te|, and the seed of the split and the order.
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
        right = np.arange(train_rows + test_rows) < np.round(
            np.multiply(accuracies, train_rows + test_rows)
        ).reshape(-1, 1)
        right = generator(seed, "simulated split").permuted(right.astype(np.int32), axis=1)
        super().__init__(right, train_rows, seconds_per_row or [1e-3] * len(accuracies))

    def real_accuracy(self, configuration: int) -> float:
        """Return A_i on all test rows."""
        return float(self._test[configuration, -1]) / self.test_rows
