"""Other libraries' systems, which run elsewhere: on streams, among configurations, on tables."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from leaseboard.algorithms import events
from leaseboard.algorithms.base import Algorithm, Run, settings_of
from leaseboard.algorithms.environments import samples
from leaseboard.algorithms.environments.holdout import SystemsAlgorithm, SystemsEnvironment
from leaseboard.algorithms.environments.samples import Probe
from leaseboard.algorithms.environments.stream import StreamAlgorithm, StreamEnvironment, one_model
from leaseboard.algorithms.errors import unknown

LEARNERS: dict[str, dict[str, str]] = {
    "autovw": {"stock": "numbers"},
    "capymoa": {"arf": "all", "srp": "classes"},
    "river": {
        **dict.fromkeys(("linear", "hat", "arf", "srp", "amf"), "all"),
        "amrules": "numbers",
        "alma": "two classes",
    },
}
"""What each learner of a system predicts on a stream."""


@dataclass(frozen=True, kw_only=True)
class StreamFramework(StreamAlgorithm):
    """Stream learner of another library, in an environment of its own.

    It runs where ``leaseboard frameworks install river`` has been, on the rows, the order and the
    loss of all others, and gets labels when all others do.

    Parameters
    ----------
    system : str
        ``river``, set up as its documentation advises; ``capymoa`` 0.15 at its defaults;
        ``autovw``, AutoVW of FLAML 2.7 with Vowpal Wabbit 9, as in its notebook, on the dataset's
        groups of columns as namespaces.
    learner : str
        Which of that system's, see `LEARNERS`: linear models whose gradient is clipped, a
        Hoeffding adaptive tree (``hat``), an adaptive random forest (``arf``), streaming random
        patches (``srp``), an aggregated Mondrian forest (``amf``), adaptive model rules
        (``amrules``), ALMA, and the stock AutoVW.

    Notes
    -----
    CPU and wall seconds are those of predicting and learning alone, of all threads;
    ``peak_memory_mb`` is the memory of its process. The event log does not hold what it does
    within.

    AutoVW goes through a set in the order of memory addresses, so two runs of one seed may differ.
    Its page knows regressions alone. By default it chooses by the absolute error
    of predictions within the labels seen so far; it is scored by the squared one.
    """

    predicts_pending: ClassVar[bool] = True

    system: str = "river"
    learner: str = "linear"

    def __post_init__(self) -> None:
        """Raise UsageError for a learner that the system does not have."""
        if self.learner not in (known := LEARNERS.get(self.system, {})):
            raise unknown(f"learner of {self.system}", self.learner, known)

    @property
    def many_classes(self) -> bool:  # type: ignore[override]
        """True if it predicts three and more classes."""
        return LEARNERS[self.system][self.learner] in {"all", "classes"}

    @property
    def tasks(self) -> frozenset[str]:  # type: ignore[override]
        """Capabilities on a stream."""
        predicts = LEARNERS[self.system][self.learner]
        if predicts == "all":
            return Algorithm.tasks
        return frozenset(("regression" if predicts == "numbers" else "classification",))

    capacity = 1  # for all that it holds within

    def run(self, env: StreamEnvironment, seed: int) -> Run:
        """Record its predictions."""
        if env.budget == 0:
            return
        with env.outsider(self.system, self.learner, seed) as session:
            yield from one_model(env, session, settings_of(self))


class OutsideSearch(samples.SamplesAlgorithm):
    """Search of another library, which asks for probes one by one and then chooses."""

    system: ClassVar[str]

    def run(self, env: samples.SamplesEnvironment, seed: int) -> Run:
        """Probe what it asks for, and crown what it chooses.

        If the budget ends first, the best configuration on the most rows is the answer.
        """
        distinct = yield from env.admit()
        known: dict[int, tuple[int, float]] = {}
        failed: dict[int, Probe] = {}
        with env.decider(self.system, settings_of(self), len(distinct), seed) as session:
            while isinstance(said := session.hear(), samples.ProbeAsked):
                index = distinct[said.configuration]
                probe = yield from env.probe(index, said.rows, train=False)
                if probe is None:  # the budget is spent
                    break
                fine = probe.status == "ok"
                session.report(probe.test_accuracy if fine else None)
                if not fine:
                    failed[index] = probe
                    continue
                known[index] = max(known.get(index, (0, 0.0)), (probe.rows, probe.test_accuracy))
                best = max(known, key=lambda each: known[each])
                if index == best:
                    yield events.Measured(at=env.at, value=known[best][1])
        chosen = None if isinstance(said, samples.ProbeAsked) else said
        if isinstance(said, samples.ProbeAsked):
            yield from env.crown(max(known, key=lambda each: known[each], default=distinct[0]))
        elif chosen is not None:
            yield from env.crown(distinct[chosen])
        for index in distinct:
            if index in failed:
                yield from env.fail(index, failed[index], None)
            elif chosen is not None and index != env.champion:
                rows, accuracy = known.get(index, (0, 0.0))
                why = f"{accuracy:.4f} at {rows} rows is not enough" if rows else "was never tried"
                yield events.Eliminated(at=env.at, configuration=index, reason=why)


@dataclass(frozen=True, kw_only=True)
class HalvingSearch(OutsideSearch):
    """scikit-learn's successive halving over given configurations, the class itself.

    ``HalvingGridSearchCV`` or ``HalvingRandomSearchCV`` runs in a process of its own and asks for
    every fit, so it is charged as all others are. A fit is tested on held-out rows, as those of
    the others are.

    Parameters
    ----------
    search : {"grid", "random"}
        Of a given set the second draws as many candidates as there are: all of them.
    factor : int
        One of so many goes on, with so many times the rows.
    min_resources : int or "exhaust"
        Rows of the first round; ``exhaust``, the default there, has the last round take all.
    """

    system: ClassVar[str] = "scikit-learn"

    search: Literal["grid", "random"] = "grid"
    factor: Annotated[int, Field(ge=2)] = 3
    min_resources: Annotated[int, Field(ge=1)] | Literal["exhaust"] = "exhaust"


@dataclass(frozen=True, kw_only=True)
class PrunedStudy(OutsideSearch):
    """Optuna with a pruner over given configurations, in its own environment.

    It runs where ``leaseboard frameworks install optuna`` has been. A trial is one configuration
    on growing samples, each tested on held-out rows; it reports every accuracy and asks whether it
    is pruned. The best complete trial is the answer.

    Parameters
    ----------
    pruner : {"median", "halving"}
        Of trials of every configuration once, in a random order.
    startup_trials : int
        Of the median pruner: complete trials before it prunes any; 5 there.
    min_resource : int or "auto"
        Of the halving pruner: the first rung in first samples; ``auto`` is the default there.

    Notes
    -----
    A sample is as many times the one before as the pruner's reduction factor, 4 by its default
    for ``halving``, and 4 for ``median``, which has none.
    """

    system: ClassVar[str] = "optuna"

    pruner: Literal["median", "halving"] = "median"
    startup_trials: Annotated[int, Field(ge=0)] = 5
    min_resource: Annotated[int, Field(ge=1)] | Literal["auto"] = "auto"


class OnTable(SystemsAlgorithm):
    """One fit, with all of the budget."""

    system: str

    def run(self, env: SystemsEnvironment, seed: int) -> Run:
        """Fit once, unless there is nothing to spend."""
        yield events.ConfigurationAdmitted(
            at=0, configuration=0, parameters={"system": self.system}, origin="system"
        )
        if env.at < env.budget:
            yield events.LeaseGranted(at=0, configuration=0, amount=env.budget)
            env.fit(self.system, seed)
            yield events.ChampionChanged(at=env.at, configuration=0, previous=None)


@dataclass(frozen=True, kw_only=True)
class TableSystem(OnTable):
    """AutoML system that gets the task, the metric, the seconds and a seed, no more.

    Parameters
    ----------
    system : {"leaseboard", "flaml", "autogluon"}
        ``leaseboard`` is `AutoMLClassifier` or `AutoMLRegressor`. The others run in an
        environment of their own: ``leaseboard frameworks install flaml``. AutoGluon takes no seed.
    """

    system: Literal["leaseboard", "flaml", "autogluon"] = "leaseboard"


@dataclass(frozen=True, kw_only=True)
class TableBaseline(OnTable):
    """Learner at its library's defaults, which takes the seconds that it takes.

    Parameters
    ----------
    system : {"lightgbm", "forest"}
        LightGBM with nominal columns, or scikit-learn's random forest with their
        codes; both take gaps.
    """

    baseline: ClassVar[bool] = True

    system: Literal["lightgbm", "forest"] = "lightgbm"
