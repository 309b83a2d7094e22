"""Learners that misbehave, for the tests of the worker."""

import os

import numpy as np


class Spins:
    """Never comes back, and uses the processor."""

    def fit(self, *_):
        while True:
            pass


class Raises(Spins):
    """Fails."""

    def fit(self, *_):
        raise ValueError("this\n  never works")


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
