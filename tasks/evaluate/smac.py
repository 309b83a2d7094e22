"""SMAC's facades as optimisers; needs the extra ``leaseboard[smac]``."""

import logging
import shutil
import tempfile
import warnings
import weakref
from collections.abc import Mapping
from typing import Any

import ConfigSpace
import smac
from smac.acquisition.maximizer import LocalSearch

from leaseboard.tasks.evaluate.optimisers import Optimiser, Suggestion
from leaseboard.tasks.evaluate.spaces import Hyperparameter, Space

MOST_TRIALS = 100_000
"""End that SMAC needs; ours is the environment's budget."""

INITIAL_DESIGN = 5
"""Trials of the initial design; SMAC's default of 10 a hyperparameter would be all of an arm's."""

LEAST_FIDELITY = 1 / 9
"""Of the training rows, for the multi-fidelity facade; with eta 3 the others are 1/3 and 1."""


class Smac(Optimiser):
    """SMAC's hyperparameter-optimisation facade, or its multi-fidelity facade (BOHB's successor).

    SMAC takes no history that it did not ask for. So a process that continues a record asks again
    for the recorded trials: the seed makes the answers the same.

    `multi_fidelity`: Hyperband's brackets over the share of the training rows.
    """

    def __init__(self, space: Space, seed: int, *, multi_fidelity: bool) -> None:
        super().__init__(space, seed)
        logging.getLogger("smac").setLevel(logging.ERROR)
        folder = tempfile.mkdtemp(prefix="smac-")
        weakref.finalize(self, shutil.rmtree, folder)
        self._configspace = configspace(space, seed)
        budgets = {"min_budget": LEAST_FIDELITY, "max_budget": 1.0} if multi_fidelity else {}
        scenario = smac.Scenario(
            self._configspace,
            deterministic=True,
            n_trials=MOST_TRIALS,
            seed=seed,
            output_directory=folder,
            **budgets,
        )
        facade: Any = smac.HyperparameterOptimizationFacade
        if multi_fidelity:
            facade = smac.MultiFidelityFacade
        design = facade.get_initial_design(scenario, n_configs=INITIAL_DESIGN)
        maximizer = facade.get_acquisition_maximizer(scenario)
        maximizer._local_search = _OrderedSearch(self._configspace, seed=seed)  # noqa: SLF001
        self._facade = facade(
            scenario,
            _never_called,
            model=_one_thread_forest(self._configspace, seed),
            initial_design=design,
            acquisition_maximizer=maximizer,
            overwrite=True,
            logging_level=False,
        )
        self._asked: dict[int, Any] = {}

    def suggest(self, n: int) -> Suggestion:
        """Return SMAC's next trial."""
        info = self._ask(n)
        fidelity = 1.0 if info.budget is None else min(1.0, float(info.budget))
        return self._decoded(dict(info.config), fidelity)

    def tell(self, n: int, suggestion: Suggestion, reward: float) -> None:
        """Learn the reward of trial `n`; SMAC asked for `suggestion`, perhaps elsewhere."""
        info = self._ask(n)
        again = self._decoded(dict(info.config), suggestion.fidelity)
        if again != suggestion:
            raise RuntimeError(
                f"SMAC does not repeat its trial {n}: recorded {suggestion}, now {again};"
                " remove the stored trials of this optimiser"
            )
        del self._asked[n]
        value = smac.runhistory.dataclasses.TrialValue(cost=1.0 - reward)
        self._facade.tell(info, value, save=False)

    def _ask(self, n: int) -> Any:
        if n not in self._asked:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # its means of empty slices
                self._asked[n] = self._facade.ask()
        return self._asked[n]

    def _decoded(self, values: Mapping[str, Any], fidelity: float) -> Suggestion:
        name = str(values["arm"]) if len(self.names) > 1 else self.names[0]
        parameters = self.space.arms[name].decoded(values, f"{name}:")
        return Suggestion(name, parameters, fidelity)


class _OrderedSearch(LocalSearch):
    """SMAC's local search, from its starting points in an order that every process agrees on.

    SMAC's own comes from a set, and so from the hashes of a process.
    """

    def _get_init_points_from_previous_configs(self, *given: Any, **named: Any) -> list[Any]:
        return sorted(super()._get_init_points_from_previous_configs(*given, **named), key=repr)


def configspace(space: Space, seed: int) -> Any:
    """Return a space in ConfigSpace's form; choices are named by their position."""
    names = list(space.arms)
    found = ConfigSpace.ConfigurationSpace(seed=seed)
    chosen = None
    if len(names) > 1:
        chosen = ConfigSpace.Categorical("arm", names, default=names[0])
        found.add(chosen)
    for name, arm in space.arms.items():
        specs = arm.hyperparameters
        nodes = {key: _node(f"{name}:{key}", spec) for key, spec in specs.items()}
        found.add(*nodes.values())
        for key, spec in specs.items():
            conditions: list[Any] = []
            if chosen is not None:
                conditions.append(ConfigSpace.EqualsCondition(nodes[key], chosen, name))
            for parent, values in spec.when.items():
                places = [str(specs[parent].place(value)) for value in values]
                conditions.append(ConfigSpace.InCondition(nodes[key], nodes[parent], places))
            if len(conditions) > 1:
                conditions = [ConfigSpace.AndConjunction(*conditions)]
            found.add(*conditions)
    return found


def _node(label: str, spec: Hyperparameter) -> Any:
    if spec.type == "choice":
        places = [str(place) for place in range(len(spec.choices))]
        return ConfigSpace.Categorical(label, places, default=str(spec.place(spec.default)))
    make: Any = ConfigSpace.Integer if spec.type == "int" else ConfigSpace.Float
    default = spec.clipped(float(spec.default or 0))
    return make(
        label, (spec.clipped(spec.low), spec.clipped(spec.high)), default=default, log=spec.log
    )


def _one_thread_forest(space: Any, seed: int) -> Any:
    """Return the facades' own forest on one thread: theirs opens a pool for each prediction."""
    from smac.model.random_forest.random_forest import RandomForest

    return RandomForest(
        configspace=space, n_trees=10, ratio_features=1.0, min_samples_split=2,
        min_samples_leaf=1, max_depth=2**20, bootstrapping=True, log_y=True, n_jobs=1, seed=seed,
    )  # fmt: skip


def _never_called(config: Any, seed: int, budget: float) -> float:
    raise RuntimeError("SMAC's trials are run by the trial store")
