"""Base of the members of a pool: predictors that learn each example once."""

import numpy as np


cdef class Member:
    """Predictor of numbers, or of the probabilities of classes.

    Parameters
    ----------
    n_features : int
    n_classes : int
        0 for numbers.
    seed : int
        What it draws by.
    """

    def __init__(self, n_features: int, n_classes: int, seed: int = 0) -> None:
        self.n_features, self.n_classes, self.seed = n_features, n_classes, seed

    cdef void take(self, const Given *given, double *found) noexcept nogil:
        pass

    @property
    def left(self):
        """The number of examples to learn before `draw`; very many if there is nothing to draw."""
        return 2**62

    @property
    def is_silent(self):
        """Whether it does not predict yet, though it learns."""
        return False

    def wake(self) -> None:
        """Go on after a pause."""

    def draw(self) -> bool:
        """Draw what is drawn from examples if it is time; return whether it was."""
        return False

    def learn(self, rows, targets):
        """Learn a block of standardised rows; return what it predicts of each before its label.

        Where nothing is known yet this is NaN.
        """
        cdef const float[:, ::1] examples = rows.astype(np.float32)
        cdef const double[:, ::1] standard = rows.astype(np.float64)
        cdef double[:, ::1] found = np.full((len(rows), max(1, self.n_classes)), np.nan)
        cdef Given given
        for t in range(len(rows)):
            given = Given(&examples[t, 0], &standard[t, 0], targets[t], 1.0, False)
            self.take(&given, &found[t, 0])
            self.draw()
        return np.asarray(found)
