"""Learners that misbehave, for the tests of the worker."""

import os
import time

import numpy as np


class Spins:
    """Never comes back, and uses the processor."""

    def fit(self, *_):
        while True:
            pass


class Sleeps(Spins):
    """Never comes back, and does nothing."""

    def fit(self, *_):
        time.sleep(1000)


class Hoards(Spins):
    """Learner that needs more memory than the machine has."""

    def fit(self, *_):
        self.hoard = np.ones((20_000, 20_000))
        return self


class Raises(Spins):
    """Fails."""

    def fit(self, *_):
        raise ValueError("this\n  never works")


class Dies(Spins):
    """Learner that ends its process."""

    def fit(self, *_):
        os._exit(7)


class Prints(Spins):
    """Learner that writes to standard output, and predicts class 1."""

    def fit(self, *_):
        print("talking", flush=True)
        return self

    def predict(self, X):
        return np.ones(len(X), dtype=np.int64)


class Killed(Prints):
    """Learner for which the machine has too little memory."""

    def fit(self, *_):
        return self if "MEMORY" in os.environ else os.kill(os.getpid(), 9)


class NotANumber(Prints):
    """Learner that predicts NaN."""

    def predict(self, X):
        return np.full(len(X), np.nan)
