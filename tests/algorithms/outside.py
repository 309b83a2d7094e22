"""A learner, a search and a system that are asked in place of other libraries'."""

import numpy as np

from leaseboard.algorithms import checks
from leaseboard.algorithms.base import Cost
from leaseboard.algorithms.environments.holdout import SystemsEnvironment
from leaseboard.algorithms.environments.samples import ProbeAsked, SamplesEnvironment
from leaseboard.algorithms.environments.stream import StreamEnvironment
from leaseboard.algorithms.reference.naive import RunningMean


class TinyLearner:
    """Any learner of another system: the mean of the labels so far."""

    def __init__(self, system, learner, stream, seed):
        self._mean = RunningMean().predictor(1, "regression", len(stream.classes) or None)
        self.predict_waiting = self._mean.predict_waiting

    def learn_many(self, examples, labels):
        return self._mean.learn_many(examples, labels).astype(float)

    def finish(self):
        return Cost(cpu_seconds=0.5, wall_seconds=1.0, peak_memory_mb=100.0)

    def close(self):
        """Do nothing: there is nothing to end."""


class TinySearch:
    """Any search of another library: the best on the first rows, or of two folds."""

    def __init__(self, system, order, seed):
        folds = order["settings"].get("folds", 1)
        numbers = range(order["configurations"])
        if folds == 1:
            self._left = [ProbeAsked(each, order["initial_rows"]) for each in numbers]
        else:
            rows = max(folds, order["initial_rows"])
            self._left = [ProbeAsked(n, rows, f, folds) for n in numbers for f in (0, 1)]
        self._asked = []
        self._reported = {}

    def hear(self):
        if self._left:
            self._asked.append(self._left[0].configuration)
            return self._left.pop(0)
        return max(self._reported, key=self._reported.get, default=None)

    def report(self, accuracy):
        number = self._asked[-1]
        self._reported[number] = max(accuracy or 0.0, self._reported.get(number, 0.0))

    def close(self):
        """Do nothing: there is nothing to end."""


class TinySystem:
    """Any whole system: right in all test rows but the first."""

    def fit(self, system, seed, seconds):
        found = np.arange(100) % 3.0
        found[0] = 2
        return found, Cost(0.5, 1.0)


own_stream = checks.ENVIRONMENTS["stream"]


def stream(tiny):
    own = own_stream(tiny).stream
    return StreamEnvironment(own, budget=tiny.budget, outside=TinyLearner)


class FoldedLearners(checks.Learners):
    """Classifiers that are tested on folds, too."""

    def measure_fold(self, configuration, rows, fold, folds):
        tested = len(range(fold, rows, folds))
        return self.measure(configuration, rows - tested, tested)


def samples(tiny):
    probes = FoldedLearners(tiny)
    return SamplesEnvironment(probes, tiny.budget, initial_rows=100, deciders=TinySearch)


def systems(tiny):
    budget = 30 if tiny.budget is None else tiny.budget
    return SystemsEnvironment(TinySystem(), np.arange(100) % 3.0, "classification", budget)


checks.ENVIRONMENTS.update(stream=stream, samples=samples, systems=systems)
