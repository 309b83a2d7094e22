"""Optimisers: random search, hyperopt's TPE, known good configurations first; all by name.

An optimiser is asked for trial n when it knows the trials 0 to n - 1. Its suggestion depends on
these and on its seed alone, so another process that has read the record continues exactly where
the first one stopped.
"""

import importlib.util
import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from leaseboard.algorithms.errors import SkipError, command_for
from leaseboard.algorithms.seeds import derive_seed, generator
from leaseboard.tasks.evaluate.spaces import Arm, Hyperparameter, Space


@dataclass(frozen=True, slots=True)
class Suggestion:
    """Arm to try, with its active hyperparameters and a share of the rows."""

    arm: str
    parameters: Mapping[str, Any]
    fidelity: float = 1.0


class Optimiser(ABC):
    """Optimiser over the arms of a space; a space of one arm tunes that arm."""

    def __init__(self, space: Space, seed: int) -> None:
        self.space = space
        self.seed = seed
        self.names = list(space.arms)

    @abstractmethod
    def suggest(self, n: int) -> Suggestion:
        """Return trial number `n`, from 0, when all before are known."""

    def tell(self, n: int, suggestion: Suggestion, reward: float) -> None:
        """Learn the reward of trial `n`, by default nothing; that of a failed one is 0."""


ETA = 3
"""One in so many configurations goes on to more rows."""


@dataclass(slots=True)
class _Tried:
    """Configuration, and its reward on each rung that it has reached."""

    suggestion: Suggestion
    rewards: list[float]


class Guided(Optimiser):
    """Optimiser by halving: defaults, known good configurations, then those of another optimiser.

    The first trials are the leads of the arms, see
    `leaseboard.tasks.evaluate.spaces.Arm.leads`: the defaults of every arm before all
    others. With several `shares` a configuration is fitted on the smallest share of the rows
    first, and goes on to the next one if it is in the best third of those that came as far
    (asynchronous successive halving: Li et al. 2020, "A System for Massively Parallel
    Hyperparameter Tuning", Algorithm 2); defaults always go on, unless they failed. The other
    optimiser learns the rewards of the first rung.

    Parameters
    ----------
    space, seed
        As of every optimiser.
    then : callable
        Makes the optimiser after the leads, whose import can take as long as a trial.
    shares : sequence of float
        Of the training rows, in each rung, rising to 1.
    """

    def __init__(
        self,
        space: Space,
        seed: int,
        then: Callable[[], Optimiser],
        shares: Sequence[float] = (1.0,),
    ) -> None:
        super().__init__(space, seed)
        leads = [[(name, each) for each in arm.leads()] for name, arm in space.arms.items()]
        turns = itertools.chain.from_iterable(itertools.zip_longest(*leads))
        self._leads = [Suggestion(*lead) for lead in turns if lead is not None]
        self._make = then
        self._then: Optimiser | None = None
        self._shares = shares
        self._tried: list[_Tried] = []

    def suggest(self, n: int) -> Suggestion:
        """Return a configuration that goes on to more rows, if there is one, else a new one."""
        chosen = self._deserving()
        if chosen is not None:
            return replace(chosen.suggestion, fidelity=self._shares[len(chosen.rewards)])
        begun = len(self._tried)
        new = self._leads[begun] if begun < len(self._leads) else self._after_leads(begun)
        return replace(new, fidelity=self._shares[0])

    def _after_leads(self, n: int) -> Suggestion:
        if self._then is None:
            self._then = self._make()
            for number, each in enumerate(self._tried):
                self._then.tell(number, each.suggestion, each.rewards[0])
        return self._then.suggest(n)

    def tell(self, n: int, suggestion: Suggestion, reward: float) -> None:
        """Enter a finished trial into its rung."""
        if (chosen := self._deserving()) is not None:
            chosen.rewards.append(reward)
            return
        begun, suggestion = len(self._tried), replace(suggestion, fidelity=1.0)
        if self._then is not None:
            self._then.tell(begun, suggestion, reward)
        self._tried.append(_Tried(suggestion, [reward]))

    def _deserving(self) -> _Tried | None:
        """Return who goes on, from the highest rung down: a default, or one of the best third."""
        for reached in range(len(self._shares) - 1, 0, -1):
            there = [each for each in self._tried if len(each.rewards) >= reached]
            ranked = sorted(there, key=lambda each: -each.rewards[reached - 1])
            best = ranked[: len(there) // ETA]
            for each in [*self._tried[: len(self.space.arms)], *best]:
                if len(each.rewards) == reached and each.rewards[-1] > 0:
                    return each
        return None


STARTUP = 5
"""Random trials before TPE starts. hyperopt's 20 would leave a short arm nothing else."""


class RandomSearch(Optimiser):
    """Uniform draws of an arm, then of its hyperparameters."""

    def suggest(self, n: int) -> Suggestion:
        """Return a draw of its own generator, independent of all others."""
        rng = generator(self.seed, "random search", n)
        name = self.names[int(rng.integers(len(self.names)))]
        return Suggestion(name, self.space.arms[name].draw(rng))


class TreeParzen(Optimiser):
    """hyperopt's TPE, with `STARTUP` random trials; conditional hyperparameters stay so."""

    def __init__(self, space: Space, seed: int) -> None:
        super().__init__(space, seed)
        from hyperopt import Trials, hp
        from hyperopt.base import Domain
        from hyperopt.tpe import suggest

        arms = [_expression(name, arm) for name, arm in space.arms.items()]
        # One arm needs no choice of the arm.
        expression = hp.choice("arm", arms) if len(arms) > 1 else arms[0]
        self._domain = Domain(lambda _: 0.0, expression, pass_expr_memo_ctrl=False)
        self._trials = Trials()
        self._suggest = partial(suggest, n_startup_jobs=STARTUP, verbose=False)

    def suggest(self, n: int) -> Suggestion:
        """Ask hyperopt with a seed of this trial's own."""
        seed = derive_seed(self.seed, "tpe", n)
        (document,) = self._suggest([n], self._domain, self._trials, seed)
        values = {label: found[0] for label, found in document["misc"]["vals"].items() if found}
        name = self.names[int(values.get("arm", 0))]
        return Suggestion(name, self.space.arms[name].decoded(values, f"{name}."))

    def tell(self, n: int, suggestion: Suggestion, reward: float) -> None:
        """Enter a finished trial into hyperopt's history."""
        values = self._encoded(suggestion)
        labels = list(self._domain.params)
        misc = {
            "tid": n,
            "cmd": ("domain_attachment", "FMinIter_Domain"),
            "idxs": {label: [n] if label in values else [] for label in labels},
            "vals": {label: [values[label]] if label in values else [] for label in labels},
        }
        result = {"status": "ok", "loss": 1.0 - reward}
        documents = self._trials.new_trial_docs([n], [None], [result], [misc])
        documents[0]["state"] = 2  # hyperopt.JOB_STATE_DONE
        self._trials.insert_trial_docs(documents)
        self._trials.refresh()

    def _encoded(self, suggestion: Suggestion) -> dict[str, Any]:
        name = suggestion.arm
        values: dict[str, Any] = {"arm": self.names.index(name)} if len(self.names) > 1 else {}
        for key, value in suggestion.parameters.items():
            spec = self.space.arms[name].hyperparameters[key]
            values[f"{name}.{key}"] = spec.place(value) if spec.type == "choice" else value
        return values


KINDS = ("bohb", "guided", "random", "smac", "tpe")
"""Names that `make` takes."""


def make(kind: str, space: Space, seed: int, shares: Sequence[float] = (1.0,)) -> Optimiser:
    """Return the optimiser called `kind`; SkipError if it needs an extra that is not installed.

    Where nothing can be tuned, there is nothing to optimise, and every kind is random search.

    `shares`: of the training rows, on which ``guided`` fits one after the other.
    """
    if kind == "guided":
        return Guided(space, seed, partial(make, "tpe", space, seed), shares)
    tunable = len(space.arms) > 1 or any(arm.tunable for arm in space.arms.values())
    if kind == "random" or not tunable:
        return RandomSearch(space, seed)
    if kind == "tpe":
        return TreeParzen(space, seed)
    require(kind)
    from leaseboard.tasks.evaluate.smac import Smac

    return Smac(space, seed, multi_fidelity=kind == "bohb")


def require(kind: str) -> None:
    """Raise SkipError if the optimiser `kind` needs an extra that is not installed."""
    if kind in ("smac", "bohb") and importlib.util.find_spec("smac") is None:
        raise SkipError(f"{kind} needs smac, which is not installed: {command_for('smac')}")


def _expression(name: str, arm: Arm) -> dict[str, Any]:
    """Return an arm in hyperopt's form: what is conditional hangs below what activates it."""
    from hyperopt import hp

    specs = arm.hyperparameters
    nodes = {key: _node(f"{name}.{key}", spec) for key, spec in specs.items() if spec.when}
    found = {}
    for key, spec in specs.items():
        if not spec.when and spec.type == "choice":
            branches = []
            for value in spec.choices:
                below = [other for other in nodes if value in specs[other].when.get(key, ())]
                branches.append({"value": value} | {other: nodes[other] for other in below})
            found[key] = hp.choice(f"{name}.{key}", branches)
        elif not spec.when:
            found[key] = _node(f"{name}.{key}", spec)
    return found


def _node(label: str, spec: Hyperparameter) -> Any:
    from hyperopt import hp

    if spec.type == "choice":
        return hp.choice(label, spec.choices)
    if spec.log:
        ends = math.log(spec.low), math.log(spec.high)
        whole = spec.type == "int"
        return hp.qloguniform(label, *ends, 1) if whole else hp.loguniform(label, *ends)
    make = hp.uniformint if spec.type == "int" else hp.uniform
    return make(label, float(spec.low), float(spec.high))
