"""Baselines of ChaCha: one configuration, or a fixed set of them, without a schedule."""

from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass

from leaseboard.algorithms import events
from leaseboard.algorithms.base import Run
from leaseboard.algorithms.chacha.presets import Published, Tuning
from leaseboard.algorithms.environments.arrays import losses
from leaseboard.algorithms.environments.stream import (
    StreamAlgorithm,
    StreamEnvironment,
    one_model,
    require_finite,
)
from leaseboard.algorithms.online.configuration import VWConfiguration
from leaseboard.algorithms.online.learner import Learner
from leaseboard.algorithms.online.one_against_all import OneAgainstAll
from leaseboard.algorithms.online.schema import Schema, stream_schema
from leaseboard.algorithms.online_automl.oracle import ConfigOracle, Tune
from leaseboard.algorithms.online_automl.safe.naming import words_of


@dataclass(frozen=True, kw_only=True)
class Vanilla(Published):
    """Vowpal Wabbit's default learner: no interactions, learning rate 0.5.

    Of three and more classes it is VW's ``--oaa`` with logistic loss, and leaves no model.
    """

    many_classes: ClassVar[bool] = True

    @property
    def capacity(self) -> int:
        """The most live models: 1."""
        return 1

    def live_at_most(self, env: StreamEnvironment) -> int:
        """Return 1, for a model of all classes."""
        return self.capacity

    def run(self, env: StreamEnvironment, seed: int) -> Run:
        """See `Racing.run`."""
        stream = env.stream
        if not stream.classes or env.budget == 0:
            yield from super().run(env, seed)
            return
        configuration, n_classes = VWConfiguration(), len(stream.classes)
        model = OneAgainstAll(stream_schema(stream), configuration, n_classes)
        parameters = {**configuration.parameters(), "oaa": n_classes}
        yield from one_model(env, model, parameters)


@dataclass(frozen=True, kw_only=True)
class RandomConfigurations(Tuning):
    """Race of the default configuration and b - 1 random ones of its frontier, all the time.

    The paper's baseline ``Random``, as its authors ran it: the live model of least upper bound
    predicts, leases never end, and none is tested.

    Parameters
    ----------
    b : int
        Live models.
    tune
        See `Tuning`.
    """

    b: Annotated[int, Field(ge=1)] = 5

    @property
    def capacity(self) -> int:
        """The most live models: b."""
        return self.b


@dataclass(frozen=True, kw_only=True)
class Exhaustive(Tuning):
    """Race of the default configuration and all of its frontier, live at once.

    As the paper's authors ran ``Exhaustive``: the model of least upper bound predicts. For the
    best single configuration see `BestInHindsight`.
    """

    def slots(self, schema: Schema) -> int:
        """Return one for every configuration."""
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
    """

    share: Annotated[float, Field(gt=0, le=1)] = 0.2

    def run(self, env: StreamEnvironment, seed: int) -> Run:
        """Predict progressively while it learns, then with the frozen model."""
        if env.budget == 0:
            return
        stream = env.stream
        require_finite(stream, env.budget)
        learner = Learner(stream_schema(stream), VWConfiguration(), stream.task)
        cut = max(1, round(self.share * env.budget))
        yield events.ConfigurationAdmitted(
            at=0, configuration=0, parameters=VWConfiguration().parameters()
        )
        yield events.LeaseGranted(at=0, configuration=0, amount=cut, slot=0)
        yield events.ChampionChanged(at=0, configuration=0, previous=None)
        yield from env.record(learner.learn_many(stream.features[:cut], stream.labels[:cut]))
        rest = stream.features[cut : env.budget]
        yield from env.record(learner.predict_many(rest), live=0)
        score = float(env.score().value)
        yield events.ConfigurationScored(at=env.at, configuration=0, value=score, units=cut)


@dataclass(frozen=True, kw_only=True)
class BestInHindsight(StreamAlgorithm):
    """Predictions of the one configuration that proved best, known only afterwards.

    Every configuration of the default's frontier learns the whole stream; no online method can
    know which one to follow, so this is a mark to measure by, not a competitor.

    Parameters
    ----------
    tune
        See `Tuning`.
    """

    oracle_baseline: ClassVar[bool] = True

    tune: Tune | None = None

    def run(self, env: StreamEnvironment, seed: int) -> Run:
        """Run one model after the other over the whole stream; take the best one's predictions."""
        if env.budget == 0:
            return
        stream, schema = env.stream, stream_schema(env.stream)
        words = words_of(schema)
        require_finite(stream, env.budget)
        block = stream.features[: env.budget], stream.labels[: env.budget]
        configurations = [VWConfiguration(), *frontier(self.tune, schema)]
        best, scores = 0, list[float]()
        for number, configuration in enumerate(configurations):
            own = Learner(schema, configuration, stream.task).learn_many(*block)
            scores.append(float(losses(own, block[1], stream.task).mean()))
            if number == 0 or scores[number] < scores[best]:
                best, predictions = number, own
        for number, configuration in enumerate(configurations):
            yield events.ConfigurationAdmitted(
                at=0,
                configuration=number,
                parameters=words.parameters(configuration),
                parent=0 if number else None,
                origin="oracle" if number else "initial",
            )
            yield events.LeaseGranted(at=0, configuration=number, amount=env.budget, slot=number)
            if number == 0:
                yield from words.group_events(number)
        yield from env.record(predictions, live=len(configurations))
        yield events.ChampionChanged(at=env.budget, configuration=best, previous=None)
        for number, score in enumerate(scores):
            yield events.ConfigurationScored(
                at=env.budget, configuration=number, value=score, units=env.budget
            )


def frontier(tune: Tune | None, schema: Schema) -> list[VWConfiguration]:
    """Return what the oracle proposes for the default configuration, in this order."""
    oracle = ConfigOracle(tune or "interactions")
    return oracle(VWConfiguration(), schema.namespaces, np.random.RandomState(0))
