"""Environments in which something is not a number, or fails."""

from dataclasses import replace

import numpy as np

from leaseboard.algorithms.checks import Tiny, tiny_environment
from leaseboard.algorithms.environments.holdout import HoldoutEnvironment
from leaseboard.algorithms.environments.pulls import PullsEnvironment, Trial, Trials
from leaseboard.algorithms.environments.samples import Probe, SamplesEnvironment
from leaseboard.algorithms.environments.stream import StreamEnvironment
from tests.algorithms.outside import FoldedLearners, TinyLearner, TinySearch


def holed(features, labels):
    """Return copies with a feature and a label that are not numbers."""
    features, labels = features.copy(), labels.copy()
    features[20, 0] = labels[30] = np.nan
    return features, labels


def stream():
    own = tiny_environment("stream").stream
    features, labels = holed(own.features, own.labels)
    return StreamEnvironment(replace(own, features=features, labels=labels), outside=TinyLearner)


def holdout():
    own = tiny_environment("holdout").holdout
    rows, labels = holed(own.train.rows, own.train.labels)
    test = replace(own.test, labels=np.zeros(len(own.test.rows), np.float32))
    return HoldoutEnvironment(
        replace(own, train=replace(own.train, rows=rows, labels=labels), test=test), passes=2
    )


class FailingTrials(Trials):
    """Arms of which each third trial fails, and the second arm's all."""

    arms, tunable = tuple("abcd"), (True,) * 4

    def trial(self, arm, n, seconds=np.inf):
        if n % 3 == 1 or arm == 1:
            return Trial(arm, {"n": n}, 0.0, None, 0.1, 0.1, "diverged", "NaN in the loss")
        reward = 0.5 + 0.1 * arm - 0.2 / (n + 1)
        return Trial(arm, {"n": n}, reward, reward, 0.1, 0.1)

    def joint_trial(self, optimiser, n, seconds=np.inf):
        return self.trial(n % 4, n)


CRASHED = {"status": "crash", "reason": "NaN in the loss"}


class FailingLearners(FoldedLearners):
    """Classifiers of which the first fails on more than a few rows."""

    def measure(self, configuration, rows, test_rows):
        if configuration == 0 and rows > 300:
            return Probe(rows=rows, test_rows=test_rows, **CRASHED)
        return super().measure(configuration, rows, test_rows)


ENVIRONMENTS = {
    "stream": stream,
    "holdout": holdout,
    "pulls": lambda: PullsEnvironment(FailingTrials(), 60),
    "samples": lambda: SamplesEnvironment(
        FailingLearners(Tiny()), initial_rows=100, deciders=TinySearch
    ),
}
