"""Algorithms that do what no algorithm may: each is found by the checks, and fails its job.

The first word of a docstring names the check that finds it.
"""

from typing import ClassVar

import numpy as np
from pydantic.dataclasses import dataclass

from leaseboard.algorithms.base import Algorithm, Score
from leaseboard.algorithms.benches import stream
from leaseboard.algorithms.benches.stream import StreamBench
from leaseboard.algorithms.policies.policy import Record


@dataclass(frozen=True, kw_only=True)
class OnStream(Algorithm):
    """What the cheats on a stream share."""

    bench: ClassVar[str] = "stream"


def guesses(bench):
    """Honest predictions, none of them good."""
    return np.zeros(bench.budget, dtype=np.float32)


class Honest(OnStream):
    """Nothing: the mean of the labels before."""

    def run(self, bench, seed):
        labels = bench.stream.labels[: bench.budget].astype(float)
        means = (np.cumsum(labels) - labels) / np.maximum(np.arange(len(labels)), 1)
        yield from bench.record(means.astype(np.float32))


class Peek(OnStream):
    """look_ahead: predicts each label before it is told."""

    def run(self, bench, seed):
        yield from bench.record(bench.stream.labels[: bench.budget].copy())


class PeekNext(OnStream):
    """look_ahead: predicts the label of the next example."""

    def run(self, bench, seed):
        yield from bench.record(np.roll(bench.stream.labels[: bench.budget], -1))


class PeekFeatures(OnStream):
    """look_ahead: sees the features of the next example."""

    def run(self, bench, seed):
        yield from bench.record(np.roll(bench.stream.features[: bench.budget, 0], -1))


class PeekBlock(OnStream):
    """look_ahead: learns a block of 32 before it predicts it."""

    def run(self, bench, seed):
        for start in range(0, bench.budget, 32):
            labels = bench.stream.labels[start : min(start + 32, bench.budget)]
            yield from bench.record(np.full(len(labels), labels.mean(), dtype=np.float32))


class PeekScale(OnStream):
    """look_ahead: predicts the mean of all labels."""

    def run(self, bench, seed):
        mean = bench.stream.labels.mean()
        yield from bench.record(np.full(bench.budget, mean, dtype=np.float32))


class PeekBeyond(OnStream):
    """look_ahead: learns the examples after its budget."""

    def run(self, bench, seed):
        rest = bench.stream.labels[bench.budget :]
        guess = rest.mean() if len(rest) else 0.0
        yield from bench.record(np.full(bench.budget, guess, dtype=np.float32))


class Hindsight(OnStream):
    """look_ahead: of two constants the one that turns out better, undeclared."""

    def run(self, bench, seed):
        both = [np.full(bench.budget, value, dtype=np.float32) for value in (-1, 1)]
        yield from bench.record(min(both, key=bench.loss))


class EditLabels(OnStream):
    """audit: sets the labels to what it predicts."""

    def run(self, bench, seed):
        bench.stream.labels[:] = 0
        yield from bench.record(guesses(bench))


class EditFeatures(OnStream):
    """audit: sets the features."""

    def run(self, bench, seed):
        bench.stream.features[:] = 0
        yield from bench.record(guesses(bench))


class EditPredictions(OnStream):
    """audit: predicts once more, when all labels are known."""

    def run(self, bench, seed):
        yield from bench.record(guesses(bench))
        bench.predictions[:] = bench.stream.labels


class Unseal(OnStream):
    """score: makes the labels writable again and sets them."""

    def run(self, bench, seed):
        labels = bench.stream.labels
        labels.flags.writeable = True
        labels[:] = 0
        yield from bench.record(guesses(bench))


class SetSum(OnStream):
    """audit: sets the bench's sum of losses."""

    def run(self, bench, seed):
        yield from bench.record(guesses(bench))
        bench._progressive = None


class DigSum(OnStream):
    """score: sets the sum of losses of the bench behind the window."""

    def run(self, bench, seed):
        yield from bench.record(guesses(bench))
        bench.loss.__self__._progressive._sum = 0.0001


class Rewind(OnStream):
    """score: hands in other predictions when it knows the labels."""

    def run(self, bench, seed):
        yield from bench.record(guesses(bench))
        own = bench.loss.__self__
        own.at = own._progressive.at = own._progressive._sum = 0
        list(bench.record(bench.stream.labels[: bench.budget].copy()))


class ReplaceStream(OnStream):
    """audit: replaces the stream."""

    def run(self, bench, seed):
        bench.stream = None
        yield from bench.record(guesses(bench))


class ReplaceScore(OnStream):
    """audit: replaces the bench's method."""

    def run(self, bench, seed):
        bench.score = lambda: 0.0
        yield from bench.record(guesses(bench))


class PatchClass(OnStream):
    """score: replaces a method of all benches."""

    def run(self, bench, seed):
        StreamBench.score = lambda _: Score(0.0, "progressive_mse", "min")
        yield from bench.record(guesses(bench))


class PatchLosses(OnStream):
    """score: replaces what computes the losses of all benches."""

    def run(self, bench, seed):
        stream.losses = lambda predictions, *_: np.zeros(len(predictions))
        yield from bench.record(guesses(bench))


class PatchProgressive(OnStream):
    """score: replaces the mean of the losses of all benches."""

    def run(self, bench, seed):
        stream.Progressive.mean = 0.0
        yield from bench.record(guesses(bench))


PATCHED = ((StreamBench, "score"), (stream, "losses"), (stream.Progressive, "mean"))
"""What is replaced, for tests to put back."""


class OnPulls(Algorithm):
    """Pulls each arm once and then the one that `best` names."""

    bench: ClassVar[str] = "pulls"

    def run(self, bench, seed):
        record = Record(bench)
        yield from record.arms()
        while bench.at < bench.budget:
            arm = self.best(bench)
            yield record.lease(arm, bench.at, bench.pulls[arm])
            trial = bench.pull(arm)
            self.see(bench, trial)
            yield from record.trial(trial)

    def best(self, bench):
        """The next arm."""
        return sum(bench.pulls) % len(bench.arms)

    def see(self, bench, trial):
        """Look at a trial."""


@dataclass(frozen=True, kw_only=True)
class HonestPulls(OnPulls):
    """Nothing: each arm in turn."""


@dataclass(frozen=True, kw_only=True)
class PeekTrials(OnPulls):
    """look_ahead: pulls the arm whose next trial is best."""

    def best(self, bench):
        trials = bench.pull.args[1].__self__._trials if bench.at >= 0 else None
        return max(range(len(bench.arms)), key=lambda a: trials.trial(a, bench.pulls[a]).reward)


@dataclass(frozen=True, kw_only=True)
class ReadTest(OnPulls):
    """audit: reads the test score of its trials."""

    def see(self, bench, trial):
        assert trial.test is not None, "no test score is told of a trial"


@dataclass(frozen=True, kw_only=True)
class DigTest(OnPulls):
    """look_ahead: pulls the arm whose last trial tested best, by the bench behind the window."""

    def best(self, bench):
        if not all(bench.pulls):
            return bench.pulls.index(0)
        trials = bench.pull.args[1].__self__._trials
        return max(
            range(len(bench.arms)), key=lambda a: trials.trial(a, bench.pulls[a] - 1).test or 0.0
        )


@dataclass(frozen=True, kw_only=True)
class ForgeBest(OnPulls):
    """score: says that a trial was better than it was."""

    def see(self, bench, trial):
        from dataclasses import replace

        own = bench.exhausted.__self__
        own._best = replace(own._best, reward=1.0)


@dataclass(frozen=True, kw_only=True)
class ForgeTrial(OnPulls):
    """audit: tells of a reward that no trial had."""

    def run(self, bench, seed):
        from dataclasses import replace

        for event in super().run(bench, seed):
            yield replace(event, reward=1.0) if hasattr(event, "reward") else event


@dataclass(frozen=True, kw_only=True)
class PeekProbes(Algorithm):
    """look_ahead: crowns the configuration that is best in full, without a probe paid for."""

    bench: ClassVar[str] = "samples"

    def run(self, bench, seed):
        environment = bench.score.__self__._environment
        rows = (bench.train_rows, bench.test_rows)
        distinct = yield from bench.admit()
        yield from bench.crown(
            max(distinct, key=lambda c: environment.measure(c, *rows).test_accuracy)
        )


@dataclass(frozen=True, kw_only=True)
class PeekTestRows(Algorithm):
    """audit: submits the labels of the test rows."""

    bench: ClassVar[str] = "holdout"

    def run(self, bench, seed):
        yield from bench.record(np.zeros(bench.budget, dtype=np.float32))
        bench.submit(bench.holdout.test.labels)


@dataclass(frozen=True, kw_only=True)
class DigTestRows(Algorithm):
    """look_ahead: submits the labels of the test rows of the bench behind the window."""

    bench: ClassVar[str] = "holdout"

    def run(self, bench, seed):
        yield from bench.record(np.zeros(bench.budget, dtype=np.float32))
        bench.submit(bench.score.__self__.holdout.test.labels)


@dataclass(frozen=True, kw_only=True)
class SubmitTwice(Algorithm):
    """audit: asks for the score of many predictions of the test rows, and keeps the best."""

    bench: ClassVar[str] = "holdout"

    def run(self, bench, seed):
        yield from bench.record(np.zeros(bench.budget, dtype=np.float32))
        n = bench.holdout.test.rows.shape[0]
        for value in (-1, 0, 1):
            bench.submit(np.full(n, value, dtype=np.float32))


HONEST = (Honest, HonestPulls)
CHEATS = tuple(
    cls
    for cls in list(globals().values())
    if isinstance(cls, type)
    and issubclass(cls, Algorithm)
    and cls not in (Algorithm, OnStream, OnPulls, *HONEST)
)


def found_by(cheat):
    """The name of the check that must find it."""
    return cheat.__doc__.partition(":")[0]
