"""What ChaCha is compared with: one configuration, or a fixed set of them, without a schedule."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass

from leaseboard.algorithms.base import Run
from leaseboard.algorithms.benches.stream import (
    StreamAlgorithm,
    StreamBench,
    one_model,
    require_finite,
)
from leaseboard.algorithms.chacha.oracle import Tune, make_oracle
from leaseboard.algorithms.chacha.published.presets import Published, Tuning
from leaseboard.algorithms.chacha.safe.naming import words_of
from leaseboard.algorithms.events import (
    ChampionChanged,
    ConfigurationAdmitted,
    ConfigurationScored,
    Event,
    LeaseGranted,
)
from leaseboard.algorithms.online.configuration import VWConfiguration
from leaseboard.algorithms.online.learner import EngineName, VwOptions, make_learner
from leaseboard.algorithms.online.one_against_all import make_one_against_all
from leaseboard.algorithms.online.schema import Schema, stream_schema


@dataclass(frozen=True, kw_only=True)
class Vanilla(Published):
    """Vowpal Wabbit's default learner: no interactions, learning rate 0.5.

    Of three and more classes it is VW's ``--oaa`` with logistic loss, and leaves no model.
    """

    many_classes: ClassVar[bool] = True

    @property
    def capacity(self) -> int:
        """One model."""
        return 1

    def live_at_most(self, bench: StreamBench) -> int:
        """One model of all classes."""
        return self.capacity

    def run(self, bench: StreamBench, seed: int) -> Run:
        """See `Racing.run`."""
        stream = bench.stream
        if not stream.classes or bench.budget == 0:
            return (yield from super().run(bench, seed))
        configuration, n_classes = VWConfiguration(), len(stream.classes)
        learn = make_one_against_all(
            self.engine, stream_schema(stream), configuration, n_classes, self.vw_options
        )
        parameters = {**configuration.parameters(), "oaa": n_classes}
        yield from one_model(bench, lambda x, y: learn(x, y.astype(np.int64)), parameters)
        return None


@dataclass(frozen=True, kw_only=True)
class RandomConfigurations(Tuning):
    """The default configuration and b - 1 random ones of its frontier, all the time.

    The paper's baseline ``Random``, as its authors ran it: the live model of least upper bound
    predicts, leases never end, and nobody is tested.

    Parameters
    ----------
    b : int
        Live models.
    tune, engine, vw_options
        See `Tuning`.
    """

    b: Annotated[int, Field(ge=1)] = 5

    @property
    def capacity(self) -> int:
        """At most b models are live."""
        return self.b


@dataclass(frozen=True, kw_only=True)
class Exhaustive(Tuning):
    """The default configuration and all of its frontier live at once.

    As the paper's authors ran ``Exhaustive``: the model of least upper bound predicts. For the
    best single configuration see `BestInHindsight`.
    """

    def slots(self, schema: Schema) -> int:
        """One for every configuration."""
        return 1 + len(frontier(self.tune, schema))


@dataclass(frozen=True, kw_only=True)
class Offline(StreamAlgorithm):
    """Vowpal Wabbit's default learner, trained on the first part of the stream and then frozen.

    What the paper's figure 7 calls ``Offline``: where it falls behind the online methods, the
    stream drifts.

    Parameters
    ----------
    share : float
        Of the stream that it learns.
    engine, vw_options
        See `Racing`.
    """

    share: Annotated[float, Field(gt=0, le=1)] = 0.2
    engine: EngineName = "auto"
    vw_options: VwOptions = ""

    def run(self, bench: StreamBench, seed: int) -> Run:
        """Progressive predictions while it learns, plain ones afterwards."""
        if bench.budget == 0:
            return None
        stream = bench.stream
        require_finite(stream, bench.budget)
        learner = make_learner(
            self.engine, stream_schema(stream), VWConfiguration(), stream.task, self.vw_options
        )
        cut = max(1, round(self.share * bench.budget))
        yield ConfigurationAdmitted(at=0, configuration=0, parameters=learner.parameters())
        yield LeaseGranted(at=0, configuration=0, amount=cut, slot=0)
        yield ChampionChanged(at=0, configuration=0, previous=None)
        yield from bench.record(learner.learn_many(stream.features[:cut], stream.labels[:cut]))
        rest = stream.features[cut : bench.budget]
        yield from bench.record(learner.predict_many(rest), live=0)
        score = float(bench.score().value)
        yield ConfigurationScored(at=bench.at, configuration=0, value=score, units=cut)
        return learner


@dataclass(frozen=True, kw_only=True)
class BestInHindsight(StreamAlgorithm):
    """The predictions of the one configuration that turned out best, known only afterwards.

    Every configuration of the default's frontier learns the whole stream; no online method can
    know which one to follow, so this is a mark to measure by, not a competitor.

    Parameters
    ----------
    tune, engine, vw_options
        See `Tuning`.
    """

    hindsight: ClassVar[bool] = True

    tune: Tune | None = None
    engine: EngineName = "auto"
    vw_options: VwOptions = ""

    def run(self, bench: StreamBench, seed: int) -> Run:
        """One model after the other over the whole stream; the best one's predictions count."""
        if bench.budget == 0:
            return None
        require_finite(bench.stream, bench.budget)
        schema = stream_schema(bench.stream)
        examples = bench.stream.features[: bench.budget]
        labels = bench.stream.labels[: bench.budget]
        configurations = [VWConfiguration(), *frontier(self.tune, schema)]
        best, least, champion = 0, np.inf, None
        predictions = np.zeros(bench.budget, dtype=np.float32)
        scores = []
        for number, configuration in enumerate(configurations):
            learner = make_learner(
                self.engine, schema, configuration, bench.stream.task, self.vw_options
            )
            own = learner.learn_many(examples, labels)
            loss = bench.loss(own)
            scores.append(loss)
            if champion is None or loss < least:
                best, least, champion, predictions = number, loss, learner, own
        yield from _admissions(configurations, schema, bench.budget)
        yield from bench.record(predictions, live=len(configurations))
        yield ChampionChanged(at=bench.budget, configuration=best, previous=None)
        for number, score in enumerate(scores):
            yield ConfigurationScored(
                at=bench.budget, configuration=number, value=score, units=bench.budget
            )
        return champion


def frontier(tune: Tune | None, schema: Schema) -> list[VWConfiguration]:
    """What the oracle proposes for the default configuration, in the order of its generation."""
    oracle = make_oracle(tune, combined=False, adaptive=False)
    return oracle(VWConfiguration(), schema.namespaces, np.random.RandomState(0))


def _admissions(
    configurations: list[VWConfiguration], schema: Schema, budget: int
) -> Iterator[Event]:
    words = words_of(schema)
    for number, configuration in enumerate(configurations):
        yield ConfigurationAdmitted(
            at=0,
            configuration=number,
            parameters=words.told(configuration),
            parent=0 if number else None,
            origin="oracle" if number else "initial",
        )
        yield LeaseGranted(at=0, configuration=number, amount=budget, slot=number)
        if number == 0:
            yield from words.tell(number)
