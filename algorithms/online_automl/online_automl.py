"""Default for streams: many live models, and a loss never far above that of naive baselines."""

import math
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass

from leaseboard.algorithms import seeds
from leaseboard.algorithms.environments.stream import StreamEnvironment
from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.online.conformal import HIGHEST, LEVELS
from leaseboard.algorithms.online.kernel import KernelModels
from leaseboard.algorithms.online.schema import Schema
from leaseboard.algorithms.online_automl.late import Late, LateClasses, LateNumbers
from leaseboard.algorithms.online_automl.racing import Racing
from leaseboard.algorithms.online_automl.safe.predictor import Ensemble
from leaseboard.algorithms.online_automl.safe.representations import represent
from leaseboard.algorithms.online_automl.safe.safe_race import SafeRace

MODELS = {"regression": 50, "classification": 100}
"""Live models by default. Where two classes meet there is more to find."""

TERMS = {"regression": 600, "classification": 1500}
"""Features that are not 0 at a time, of all live models together, by default."""


@dataclass(frozen=True, kw_only=True)
class OnlineAutoML(Racing):
    """ChaCha's race [1]_ with branching challengers, paired tests and a mixture of live models.

    Champion, challengers, leases, the oracle and the two tests are the paper's. What differs is
    what the speed of the kernel allows and what safety asks for:

    1. ``C ← c_init``, ``S ← ConfigOracle(C)``: another *representation* (raw features,
       standardised, or standardised and binned; of more than 64 the selected ones
       (`leaseboard.algorithms.online_automl.safe.expansion`); without or with the last labels, the
       label a season ago), all pairs at once, one more pair of namespaces, or another learning
       rate. c_init, Vowpal Wabbit's defaults on the raw features, keeps a slot for ever.
    2. Each live model predicts, and so do five *simple models* that need no search
       (`leaseboard.algorithms.online_automl.safe.expansion`): mean, last label, label a season
       ago, two ridge regressions. The prediction is the *aggregate*
       (`leaseboard.algorithms.online_automl.safe.mixture`) of their posterior mean
       (`leaseboard.algorithms.online_automl.safe.mixture`) and the baselines.
       Next to it predict *members* that are not linear
       (`leaseboard.algorithms.online_automl.members`): random trees, random Fourier features under
       ridge, nearest neighbours, and boosted trees that are fitted again to the last rows. They
       are granted leases of examples by what they save for what they cost, and the prediction
       stays near the best of all that was named.
    3. The label arrives; all learn it.
    4. At the end of a round: the challenger that is proved better than C on the examples both have
       seen since it started (`leaseboard.algorithms.online_automl.safe.mixture`) becomes C, the
       upper half of the others stays, and ``S ← ConfigOracle(C)``. If none is, those proved worse
       leave for good, and at the end of its lease a challenger below the median makes room for a
       waiting one.
       A challenger that has all that C has starts as a *branch* of C: C's weights, and zeros for
       what is new.

    Parameters
    ----------
    b : int, optional
        Live models at most, c_init and champion included. By default 50, and 100 for classes.
    delta : float
        δ of the paired tests.
    round_length : int
        Examples between two decisions.
    memory : float
        Examples after which a loss counts 1/e in the mixture; γ = 1 - 1 / memory.
    max_terms : int, optional
        Features that are not 0 at a time of all live models together; one that is 0 takes a ninth
        of their time. By default 600, and 1,500 for classes. It is raised to four times the
        features of c_init, and 2,000 where features are selected, where that is more.
    entity : str
        The column whose values are entities (shops, products, people of a panel), whatever it
        holds: what is predicted while labels are missing goes by the labels of the same entity.
    levels : tuple of float
        Of the prediction intervals of a regression (`leaseboard.algorithms.online.conformal`);
        0.9 is added to them.

    Notes
    -----
    Why it cannot be much worse than naive baselines. These are the running mean, the
    last label, the label a season ago, a ridge regression, of more than 64 features a second one
    on those that are selected, and c_init. For
    squared loss, after each example and for every sequence of examples whatsoever,

        Σ (ŷ_s - y_s)² ≤ min_k Σ (p_s(k) - y_s)² + C,

    with C of `leaseboard.algorithms.online_automl.safe.mixture`: some twenty times the largest
    squared error of a prediction so far, rounded up to a power of four, and what labels beyond the
    range of all before add; and the same once more for the members' average
    (`leaseboard.algorithms.online_automl.members.pool`), which is as near to each of them.
    The baselines learn labels clipped to that range. The modules have proofs of a few lines.
    Nothing is assumed of the labels, and nothing else in the algorithm has to be right for it: not
    the tests, not the mixture, not the learning rates. So the rest may be bold.

    Why it is usually much better. The prediction competes with every live model, and the pool
    holds rates up to 128 times VW's default, with which the invariant update stays stable. A
    branch is as good as the champion at once; no model predicts while it is still learning
    what others know. The paired differences cancel the noise of the labels, which the paper's
    bounds contain, so that a champion is found after hundreds of examples.

    The unit of labels and features does not matter. Models learn labels less their mean and over
    their deviation, measured again after 4, 8, 16, ... examples, when what was learned is
    expressed in the new unit; VW's update does the same for each feature. So only the first
    prediction, which is 0, knows the unit. Learners see labels clipped to a range that from the
    fourth on no single label can widen, and not the first few beyond it
    (`leaseboard.algorithms.online_automl.safe.scale`).

    Unlike in `leaseboard.algorithms.chacha`, the loss is the squared one, which the
    environment scores, not a clipped absolute error; decisions are taken every `round_length`
    examples, so that they do not depend on the sizes of blocks; all leases and windows begin
    again with a champion; the frontier of an earlier champion is given up when a new one comes.

    A candidate without a namespace or an interaction of the champion cannot branch. It
    starts from nothing and is weighted as if it had the champion's past losses and its own
    since, so it counts for little before it has caught up.

    Two classes are the labels -1 and 1 of a regression, whose squared loss is proper: half of
    1 + ŷ estimates the probability of the second class. All of the above holds for them, with the
    range of labels known beforehand and the two ridge regressions logistic. What is predicted in
    the end are log odds (`leaseboard.algorithms.online_automl.safe.bayes`): a logistic
    regression stacks the mixture, the champion and the simple models, and Bayes' rule averages
    that with naive baselines, so that at all times the log loss is at most ln 7 + 1.6 nats above
    the best of them: the classes' frequencies, those after the last label and after the one a
    season ago, an online logistic regression and c_init, the last two no surer than 1 / (1000 +
    t); the members' average adds ln 6 + 1.6
    (`leaseboard.algorithms.online_automl.members.pool`). Of errors no such theorem holds: a
    predictor that must name one class can be made to err always.

    References
    ----------
    .. [1] Wu, Wang, Langford, Mineiro, Rossi. ChaCha for online AutoML. ICML 2021.
           https://arxiv.org/abs/2106.04815

    Examples
    --------
    >>> from leaseboard.algorithms.checks import tiny_environment
    >>> events = list(OnlineAutoML(b=3).run(tiny_environment("stream"), seed=0))
    >>> [type(event).__name__ for event in events[:2]]
    ['ConfigurationAdmitted', 'LeaseGranted']
    """

    many_classes: ClassVar[bool] = True

    b: Annotated[int, Field(ge=1)] | None = None
    delta: Annotated[float, Field(gt=0, lt=1)] = 0.1
    round_length: Annotated[int, Field(ge=1)] = 64
    memory: Annotated[float, Field(gt=1)] = 1000.0
    max_terms: Annotated[int, Field(ge=1)] | None = None
    entity: str = ""
    levels: tuple[Annotated[float, Field(gt=0, le=HIGHEST)], ...] = LEVELS

    @property
    def capacity(self) -> int:
        """The most live models: b."""
        return self.b or max(MODELS.values())

    def race(self, schema: Schema, seed: int, task: str, horizon: float = math.inf) -> SafeRace:
        """See `Racing.race`."""
        b, max_terms = self.b or MODELS[task], self.max_terms or TERMS[task]
        if self.entity and (self.entity != schema.entity or task != "regression"):
            where = "`learn` and OnlineAutoMLRegressor, of numbers: leave it out"
            raise UsageError(f"entity={self.entity!r} is for {where}")
        wide = represent(schema).schema
        # Classes are learned by squared loss too, which is proper.
        ensemble = Ensemble(
            KernelModels(wide, b),
            schema.origins,
            schema.n_features,
            b,
            gamma=1.0 - 1.0 / self.memory,
            classes=task == "classification",
            levels=self.levels,
            seed=seeds.derive_seed(seed, "members"),
        )
        return SafeRace(
            schema,
            ensemble,
            np.random.RandomState(seeds.derive_seed(seed, "frontier")),
            delta=self.delta,
            round_length=self.round_length,
            max_terms=max_terms,
        )

    def late(self, task: str) -> Late:
        """See `Racing.late`."""
        return LateNumbers(self.levels) if task == "regression" else LateClasses()

    def loss(self, env: StreamEnvironment) -> str:
        """Return what the models learn by, and are weighed and tested by."""
        return "squared_error"
