"""ChaCha as published, the paper's text and its authors' two programs, and its baselines.

The baselines are one configuration, or a fixed set of them, without a schedule. The classes for
streams of one's own are those of the default, by the paper's rules.
"""

import math
from collections.abc import Hashable
from dataclasses import replace
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass

from leaseboard.algorithms import events
from leaseboard.algorithms.base import Run
from leaseboard.algorithms.chacha.published_race import Keep, PublishedRace, Rules
from leaseboard.algorithms.environments.stream import (
    StreamAlgorithm,
    StreamEnvironment,
    one_model,
    require_finite,
)
from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.online.kernel import LOSSES, KernelModels
from leaseboard.algorithms.online.schema import VANILLA, Schema, VWConfiguration
from leaseboard.algorithms.online_automl import streaming
from leaseboard.algorithms.online_automl.oracle import ConfigOracle, Tune
from leaseboard.algorithms.online_automl.racing import Racing
from leaseboard.algorithms.online_automl.streaming.base import OnlineModel
from leaseboard.algorithms.reference.libraries import VowpalWabbit


@dataclass(frozen=True, kw_only=True)
class Published(Racing):
    """Algorithm 1 of the paper with the rules that a subclass names, or a fixed set of models."""

    @property
    def capacity(self) -> int | None:
        """The most live models: b, where a subclass has it."""
        return getattr(self, "b", None)

    def rules(self) -> Rules:
        """Return the rules of the race."""
        return Rules(fixed=True)

    def slots(self, schema: Schema) -> int:
        """Return how many models may be live on data of this schema."""
        assert self.capacity is not None
        return self.capacity

    def oracle(self) -> ConfigOracle:
        """Return a fresh oracle: the configurations other than the default one."""
        return ConfigOracle()

    def race(
        self, schema: Schema, seed: int, task: str, horizon: float = math.inf
    ) -> PublishedRace:
        """See `Racing.race`."""
        return PublishedRace(
            schema,
            KernelModels(schema, self.slots(schema), LOSSES[task]),
            self.oracle(),
            np.random.RandomState(seed),
            self.rules(),
            horizon,
        )

    def loss(self, env: StreamEnvironment) -> str:
        """Return the proxy of appendix A.2, not what the environment measures."""
        return "clipped_absolute_error"


@dataclass(frozen=True, kw_only=True)
class Tuning(Published):
    """A race among more than one configuration.

    Parameters
    ----------
    tune : str, optional
        Interactions of namespaces (the paper's NI, the default), the learning rate, or both
        (NI+LR).
    """

    tune: Tune | None = None

    def oracle(self) -> ConfigOracle:
        """Return a fresh oracle for the task `tune`."""
        return ConfigOracle(self.tune or "interactions", literal=self.rules().literal)


@dataclass(frozen=True, kw_only=True)
class Paper(Tuning):
    """ChaCha by Algorithms 1 to 3 and appendix A.2 of the paper [1]_.

    The champion is always live; ``b - 1`` challengers from its frontier share the other slots by
    leases that double. Each example is predicted by the live model of least upper loss bound. A
    challenger proved better becomes champion and brings its own frontier.

    Parameters
    ----------
    b : int
        Live models at once; 1 is vanilla.
    tune
        See `Tuning`.
    keep, keep_champion
        See `leaseboard.algorithms.chacha.published_race.Rules`.

    Notes
    -----
    Where the boxes leave a choice they are read so:

    - the loop over S (algorithm 1, lines 11 to 15) begins with the challenger of least upper
      bound, so that at most one is promoted an example, and all Worse tests are against the new
      champion;
    - only live challengers are tested: a paused one has no data, and so no bounds;
    - S holds challengers only, so a replaced champion is in neither B nor S and leaves;
    - what was eliminated never comes back, though another champion's oracle proposes it again;
    - a model that has learned nothing has an infinite upper bound: it does not predict, and is
      not in the median.

    References
    ----------
    .. [1] Wu, Wang, Langford, Mineiro, Rossi. ChaCha for online AutoML. ICML 2021.
           https://arxiv.org/abs/2106.04815
    """

    b: Annotated[int, Field(ge=1)] = 5
    keep: Keep = "median"
    keep_champion: bool = True

    preset: ClassVar[Rules] = Rules(literal=True)
    """The rules of the printed text, but for what the settings say."""

    def rules(self) -> Rules:
        """Return the rules of the race."""
        return replace(self.preset, keep=self.keep, keep_champion=self.keep_champion)


@dataclass(frozen=True, kw_only=True)
class Flaml(Paper):
    """ChaCha as its authors published it: FLAML 2.7's AutoVW, made deterministic.

    Parameters
    ----------
    b, tune, keep, keep_champion
        See `Paper`.
    """

    keep: Keep = "top-half"

    preset: ClassVar[Rules] = Rules(expanded=True)


@dataclass(frozen=True, kw_only=True)
class IcmlEval(Flaml):
    """ChaCha as its authors evaluated it: what reproduces the paper's tables.

    Parameters
    ----------
    b, tune, keep, keep_champion
        See `Paper`.
    """

    preset: ClassVar[Rules] = Rules(worse_margin=1.0)


@dataclass(frozen=True, kw_only=True)
class Vanilla(Published):
    """Vowpal Wabbit's default learner: no interactions, learning rate 0.5.

    Of three and more classes it is Vowpal Wabbit itself, its ``--oaa`` with logistic loss, and
    leaves no model.
    """

    many_classes: ClassVar[bool] = True

    b: ClassVar[int] = 1

    def live_at_most(self, env: StreamEnvironment) -> int:
        """Return 1, for a model of all classes."""
        return self.b

    def run(self, env: StreamEnvironment, seed: int) -> Run:
        """See `Racing.run`."""
        stream = env.stream
        if not stream.classes or env.budget == 0:
            yield from super().run(env, seed)
            return
        parameters = {**VANILLA, "oaa": len(stream.classes)}
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


@dataclass(frozen=True, kw_only=True)
class Exhaustive(Tuning):
    """Race of the default configuration and all of its frontier, live at once.

    As the paper's authors ran ``Exhaustive``: the model of least upper bound predicts.
    """

    def slots(self, schema: Schema) -> int:
        """Return one for every configuration."""
        frontier = self.oracle()(VWConfiguration(), schema.namespaces, np.random.RandomState(0))
        return 1 + len(frontier)


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
        models = KernelModels(stream.schema, 1, LOSSES[stream.task])
        models.start(0, VWConfiguration())
        found = np.empty((env.budget, 1), np.float32)
        cut = max(1, round(self.share * env.budget))
        yield events.ConfigurationAdmitted(at=0, configuration=0, parameters=VANILLA)
        yield events.LeaseGranted(at=0, configuration=0, amount=cut, slot=0)
        yield events.ChampionChanged(at=0, configuration=0, previous=None)
        ones = np.ones(cut, np.float32)
        models.learn_many(stream.features[:cut], stream.labels[:cut], ones, found)
        yield from env.record(found[:cut, 0])
        models.predict_many(stream.features[cut : env.budget], found[cut:])
        yield from env.record(found[cut:, 0])
        score = float(env.score().value)
        yield events.ConfigurationScored(at=env.at, configuration=0, value=score, units=cut)


class _Published(OnlineModel):
    """Base of models of the paper's rules."""

    def __init__(
        self, seed: int = 0, algorithm: str = "chacha", max_pending: int = 10_000, **settings: Any
    ) -> None:
        super().__init__(seed, algorithm, max_pending, **settings)


class ChaChaRegressor(_Published, streaming.OnlineAutoMLRegressor):
    """ChaCha of Wu et al. (ICML 2021) for numbers: a champion, and challengers on leases.

    Parameters
    ----------
    seed, max_pending
        See `OnlineAutoMLRegressor`.
    algorithm : {"chacha", "chacha-flaml", "chacha-literal"}
        Rules of the evaluation that gave the paper's tables, of the authors' public program
        (FLAML's AutoVW), or of the printed text.
    **settings
        `b` (live models, 5 by default), `tune`, `keep` and `keep_champion`, see
        `leaseboard.algorithms.chacha.presets.Paper`.

    Attributes
    ----------
    champion, live, history, examples, about
        See `OnlineAutoMLRegressor`, as for the methods. It has neither members nor intervals.

    Examples
    --------
    >>> model = ChaChaRegressor(algorithm="chacha-flaml", b=3)
    >>> for t in range(300):
    ...     x = {"a": t % 3 - 1.0, "b": t % 5 - 2.0}
    ...     prediction = model.predict_one(x)
    ...     model.learn_one(x, x["a"] + x["a"] * x["b"])
    >>> model.examples, len(model.live)
    (300, 2)
    """


class ChaChaClassifier(_Published, streaming.OnlineAutoMLClassifier):
    """ChaCha of Wu et al. (ICML 2021) for two classes, by Vowpal Wabbit's logistic loss.

    Parameters
    ----------
    seed, algorithm, max_pending, **settings
        See `ChaChaRegressor`.

    Attributes
    ----------
    classes, champion, live, history, examples, about
        See `OnlineAutoMLClassifier`, as for the methods. A third class is refused.

    Examples
    --------
    >>> model = ChaChaClassifier()
    >>> for t in range(300):
    ...     model.learn_one({"a": t % 5 - 2.0}, "up" if t % 5 > 2 else "down")
    >>> model.predict_one({"a": 2.0})
    'up'
    """

    def _with(self, labels: list[Hashable]) -> list[Hashable]:
        classes = super()._with(labels)
        if len(classes) > 2:
            raise UsageError(
                f"class {classes[2]!r} is a third one, and the paper's rules learn two: take an"
                " OnlineAutoMLClassifier, which learns any number"
            )
        return classes
