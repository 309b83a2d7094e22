"""Baselines of ChaCha: one configuration, or a fixed set of them, without a schedule."""

from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass

from leaseboard.algorithms import events
from leaseboard.algorithms.base import Run
from leaseboard.algorithms.chacha.presets import Published, Tuning
from leaseboard.algorithms.environments.stream import (
    StreamAlgorithm,
    StreamEnvironment,
    one_model,
    require_finite,
)
from leaseboard.algorithms.online.configuration import VWConfiguration
from leaseboard.algorithms.online.learner import Learner
from leaseboard.algorithms.online.schema import Schema, stream_schema
from leaseboard.algorithms.online_automl.oracle import ConfigOracle, Tune
from leaseboard.algorithms.reference.vw import VowpalWabbit


@dataclass(frozen=True, kw_only=True)
class Vanilla(Published):
    """Vowpal Wabbit's default learner: no interactions, learning rate 0.5.

    Of three and more classes it is Vowpal Wabbit itself, its ``--oaa`` with logistic loss, and
    leaves no model.
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
        parameters = {**VWConfiguration().parameters(), "oaa": len(stream.classes)}
        yield from one_model(env, VowpalWabbit().model(env), parameters)


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

    As the paper's authors ran ``Exhaustive``: the model of least upper bound predicts.
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


def frontier(tune: Tune | None, schema: Schema) -> list[VWConfiguration]:
    """Return what the oracle proposes for the default configuration, in this order."""
    oracle = ConfigOracle(tune or "interactions")
    return oracle(VWConfiguration(), schema.namespaces, np.random.RandomState(0))
