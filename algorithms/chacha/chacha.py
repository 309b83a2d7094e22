"""ChaCha's default: what fifty live models allow, and never far above vanilla."""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass

from algorithms import seeds
from algorithms.benches.stream import StreamBench
from algorithms.chacha.oracle import ConfigOracle, Tune
from algorithms.chacha.racing import Racing
from algorithms.chacha.safe.frontier import make_frontier_oracle
from algorithms.chacha.safe.safe_race import SafeRace
from algorithms.online.engine import choose_engine
from algorithms.online.live import KernelModels, LiveModels, WorkspaceModels
from algorithms.online.schema import Schema


@dataclass(frozen=True, kw_only=True)
class ChaCha(Racing):
    """ChaCha [1]_ with branching challengers, paired tests and a guarded mixture of live models.

    Champion, challengers, leases, the oracle and the two tests are the paper's. What differs is
    what the speed of the kernel allows and what safety asks for:

    1. ``C ← c_init``, ``S ← ConfigOracle(C)``: one more pair of namespaces, or another learning
       rate. c_init keeps a slot for ever: it is the *base*.
    2. Each live model predicts. The forecast is their posterior mean
       (`algorithms.chacha.safe.mixture`), moved towards the base as far as the guard demands
       (`algorithms.chacha.safe.guard`).
    3. The label arrives; every live model learns it.
    4. At the end of a round: the challenger that is proved better than C on the examples both
       have seen since it started (`algorithms.chacha.safe.paired`) becomes C, the upper half of
       the others stays, and ``S ← ConfigOracle(C)``. If none is, those proved worse leave for
       good, and at the end of its lease a challenger below the median makes room for a waiting
       one.
       A challenger starts as a *branch* of C: C's weights, and zeros for what is new.

    Parameters
    ----------
    b : int
        Live models at most, base and champion included. With 1 the run equals vanilla.
    tolerance : float
        ρ: the cumulative loss is at most 1 + ρ times the base's, at all times. 0 is vanilla.
    delta : float
        δ of the paired tests.
    round_length : int
        Examples between two decisions.
    memory : float
        Examples after which a loss counts 1/e in the mixture; γ = 1 - 1 / memory.
    max_terms : int
        Features that all live models together may have: what bounds the cost of an example. It
        is raised to four times the features of c_init where that is more.
    tune : str, optional
        Interactions, learning rate, or both, which is the default; or one's own oracle,
        ``path/to/file.py:Class``.
    engine, vw_options
        See `Racing`.

    Notes
    -----
    Why it cannot be much worse than vanilla. For squared loss the guard keeps, after each
    example and for every sequence of examples whatsoever,

        Σ (ŷ_s - y_s)² ≤ (1 + ρ) Σ (p_s - y_s)²,

    with p the base's predictions; `algorithms.chacha.safe.guard` has the proof, a few lines.
    Nothing is assumed of the labels, and nothing else in the algorithm has to be right for it:
    not the tests, not the mixture, not the learning rates. So the rest may be bold.

    Why it is usually much better. The forecast competes with every live model, and the pool
    holds rates up to 32 times VW's default, with which the invariant update stays stable. A
    branch is as good as the champion at once; no model predicts while it is still learning
    what others know. The paired differences cancel the noise of the labels, which the paper's
    bounds contain, so that a champion is found after hundreds of examples.

    Departs from the paper, besides: the loss is the squared one, because the bench scores it,
    not a clipped absolute error; decisions are taken every `round_length` examples, so that
    they do not depend on the sizes of blocks; all leases and windows begin anew with a
    champion; the frontier of an earlier champion is given up when a new one comes.

    A candidate of another oracle that lacks an interaction of the champion cannot branch. It
    starts from nothing and is weighted as if it had the champion's past losses and its own
    since, so it counts for little before it has caught up.

    Both engines give the same events. Fifty workspaces are slow, though: on the engine ``vw``
    ask for fewer.

    For two classes the models learn logistic loss, which weighs and tests them, and what the
    guard limits is the number of errors.

    References
    ----------
    .. [1] Wu, Wang, Langford, Mineiro, Rossi. ChaCha for online AutoML. ICML 2021.
           https://arxiv.org/abs/2106.04815

    Examples
    --------
    >>> from algorithms.tiny import tiny_bench
    >>> events = list(ChaCha(b=3).run(tiny_bench("stream"), seed=0))
    >>> [type(event).__name__ for event in events[:2]]
    ['ConfigurationAdmitted', 'LeaseGranted']
    """

    b: Annotated[int, Field(ge=1)] = 50
    tolerance: Annotated[float, Field(ge=0)] = 0.01
    delta: Annotated[float, Field(gt=0, lt=1)] = 0.1
    round_length: Annotated[int, Field(ge=1)] = 64
    memory: Annotated[float, Field(gt=1)] = 1000.0
    max_terms: Annotated[int, Field(ge=1)] = 600
    tune: Tune | None = None

    @property
    def capacity(self) -> int:
        """At most b models are live."""
        return self.b

    def race(
        self,
        schema: Schema,
        seed: int,
        task: str,
        oracle: ConfigOracle | None = None,
        horizon: float = math.inf,
    ) -> SafeRace:
        """See `Racing.race`."""
        engine, options = choose_engine(self.engine, task, self.vw_options)
        models: LiveModels
        if engine == "kernel":
            models = KernelModels(schema, self.b)
        else:
            models = WorkspaceModels(schema, self.b, options)
        return SafeRace(
            schema,
            models,
            oracle or make_frontier_oracle(self.tune),
            np.random.RandomState(seeds.derive_seed(seed, "frontier")),
            self.b,
            rho=self.tolerance,
            delta=self.delta,
            round_length=self.round_length,
            memory=self.memory,
            max_terms=self.max_terms,
            classes=task == "classification",
        )

    def loss(self, bench: StreamBench) -> str:
        """What the models learn by, and are weighed and tested by."""
        return "squared_error" if bench.stream.task == "regression" else "logistic_loss"
