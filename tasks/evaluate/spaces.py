"""A search space in YAML: arms, hyperparameters, ranges and conditions; and their estimators.

A recipe makes values whose meaning depends on the data (an exponent of the number of features)
or which set several arguments at once into what scikit-learn takes. An arm that needs no
recipe names its class.
"""

import functools
import hashlib
import importlib
import inspect
import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from pydantic import BaseModel, Field, model_validator

from leaseboard.algorithms.errors import UsageError, unknown
from leaseboard.tasks.machine.environment import conf_files
from leaseboard.tasks.machine.yaml_files import Strict, load_yaml

SUITED = {task: f"tables-{task}" for task in ("classification", "regression")}
"""Default space of each task."""
Choice = bool | int | float | str | None


class Hyperparameter(Strict):
    """Hyperparameter: a range of numbers, or choices."""

    type: Literal["int", "float", "choice"]
    low: float | int = 0
    high: float | int = 0
    """The closed range of a number."""
    log: bool = False
    """Uniform on a logarithmic scale."""
    choices: list[Choice] = Field(default_factory=list)
    """The values of a choice."""
    default: Choice = None
    """The library's own default."""
    when: dict[str, list[Choice]] = Field(default_factory=dict)
    """Active only if the named choice of the arm has one of the listed values."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.type == "choice" and len(self.choices) < 2:
            raise ValueError("a choice needs at least two choices")
        if self.type != "choice" and not self.low < self.high:
            raise ValueError(f"a range needs low < high, not {self.low} and {self.high}")
        if self.log and self.low <= 0:
            raise ValueError(f"a logarithmic range must be positive, not from {self.low}")
        if not self.allows(self.default):
            raise ValueError(f"default {self.default!r} is outside its range or choices")
        return self

    def active(self, values: Mapping[str, Any]) -> bool:
        """Return whether its conditions hold, given the values of the choices it depends on."""
        return all(values.get(parent) in wanted for parent, wanted in self.when.items())

    def allows(self, value: Choice) -> bool:
        """Return whether `value` is one of its choices, or a number in its range."""
        if self.type == "choice":
            return value in self.choices
        return isinstance(value, (int, float)) and self.low <= value <= self.high

    def draw(self, rng: np.random.Generator) -> Choice:
        """Return a value drawn uniformly, on a logarithmic scale if `log`."""
        if self.type == "choice":
            return self.choices[int(rng.integers(len(self.choices)))]
        if self.log:
            return self.clipped(math.exp(rng.uniform(math.log(self.low), math.log(self.high))))
        if self.type == "int":
            return int(rng.integers(int(self.low), int(self.high) + 1))
        return self.clipped(rng.uniform(self.low, self.high))

    def place(self, value: Choice) -> int:
        """Return the number of `value` among the choices, where True is not 1."""
        return [(type(each), each) for each in self.choices].index((type(value), value))

    def clipped(self, value: float) -> int | float:
        """Return `value` inside the range, rounded if the hyperparameter is whole."""
        inside = float(min(max(value, self.low), self.high))
        return round(inside) if self.type == "int" else inside


class Arm(Strict):
    """Learning algorithm and its hyperparameters."""

    estimator: str
    """A recipe of `leaseboard.tasks.evaluate.spaces`, or ``package.module:Class``."""
    hyperparameters: dict[str, Hyperparameter] = Field(default_factory=dict)
    constants: dict[str, Choice] = Field(default_factory=dict)
    """Passed on unchanged."""
    first: list[dict[str, Choice]] = Field(default_factory=list)
    """Configurations that are known to be good, in the order in which the optimiser ``guided``
    tries them after the defaults; other hyperparameters have their defaults."""
    codes: bool = False
    """Of nominal columns it gets the codes and not an indicator for each category, if there are
    both, as in the estimators; of many categories also the mean target of each."""
    rows_at_first: int = 4_000
    """Rows of a trial's first fit, at least, where the optimiser ``guided`` begins on a share."""
    most_rows: int | None = None
    """Rows beyond which the arm, whose cost grows faster than they do, is left out."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        tuned = self.hyperparameters
        for name, spec in tuned.items():
            for parent, values in spec.when.items():
                other = tuned.get(parent)
                if len(spec.when) > 1 or other is None or other.when:
                    raise ValueError(
                        f"{name} depends on {parent!r}: one choice of the same arm, which depends"
                        " on no other, may be a condition"
                    )
                if not all(value in other.choices for value in values):
                    raise ValueError(f"{name} depends on {parent}={values}, no choices of it")
        for name, value in (pair for given in self.first for pair in given.items()):
            if name not in tuned or not tuned[name].allows(value):
                raise ValueError(f"first has {name}={value!r}, outside its range or choices")
        return self

    @property
    def tunable(self) -> bool:
        """The arm has hyperparameters."""
        return bool(self.hyperparameters)

    def active(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return those of `values` whose conditions hold."""
        specs = self.hyperparameters.items()
        return {name: values[name] for name, spec in specs if spec.active(values)}

    def draw(self, rng: np.random.Generator) -> dict[str, Any]:
        """Return active hyperparameters, drawn uniformly."""
        return self.active({name: spec.draw(rng) for name, spec in self.hyperparameters.items()})

    def defaults(self) -> dict[str, Any]:
        """Return the active defaults."""
        return self.leads()[0]

    def leads(self) -> list[dict[str, Any]]:
        """Return the defaults and the configurations of `first`, with what is active of each."""
        every = {name: spec.default for name, spec in self.hyperparameters.items()}
        return [self.active({**every, **given}) for given in ({}, *self.first)]

    def decoded(self, values: Mapping[str, Any], prefix: str) -> dict[str, Any]:
        """Return hyperparameters whose numbers, or places among the choices, are in `values`."""
        found = {}
        for name, spec in self.hyperparameters.items():
            if (value := values.get(prefix + name)) is not None:
                choice = spec.type == "choice"
                found[name] = spec.choices[int(value)] if choice else spec.clipped(value)
        return found


class Space(Strict):
    """Search space over arms."""

    title: str
    source: str
    task: Literal["classification", "regression"] = "classification"
    arms: dict[str, Arm] = Field(min_length=1)

    def restricted(self, names: list[str]) -> Self:
        """Return the space of the arms `names`, in that order; UsageError for an unknown one."""
        for name in names:
            if name not in self.arms:
                raise unknown("arm", name, self.arms)
        return self.model_copy(update={"arms": {name: self.arms[name] for name in names}})


def digest(value: BaseModel) -> str:
    """Return a hash of a space or an arm: equal for equal content."""
    canonical = json.dumps(value.model_dump(), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()[:16]


def load_space(name: str) -> Space:
    """Return the space called `name`, or the one in the YAML file of that path.

    A space of the configuration folder wins over one of the same name that Leaseboard ships.
    """
    path = Path(name)
    if path.suffix not in (".yaml", ".yml"):
        files = conf_files("spaces")
        if name not in files:
            raise unknown("space", name, files)
        path = files[name]
    return _read(path, path.read_bytes() if path.is_file() else b"")


@functools.lru_cache(maxsize=32)
def _read(path: Path, content: bytes) -> Space:
    """Return the space in a file; parsing it costs as much as replaying two hundred trials."""
    return load_yaml(path, Space)


def searched(name: str, arms: list[str] | None) -> list[Space]:
    """Return the spaces of `arms` that a search may be over before the task of its data is known.

    That is the one called `name`, or, without a name, those of `SUITED` that have all the arms.

    Raises UsageError for an arm that none has.
    """
    found = [load_space(each) for each in ([name] if name else SUITED.values())]
    if arms is None:
        return found
    able = [space for space in found if space.arms.keys() >= set(arms)]
    if not able:
        known = {arm: None for space in found for arm in space.arms}
        raise unknown("arm", next((arm for arm in arms if arm not in known), arms[0]), known)
    return [space.restricted(arms) for space in able]


Values = dict[str, Any]
Recipe = Callable[[Values, int, int], Any]


def build(estimator: str, values: Mapping[str, Any], n_features: int, seed: int) -> Any:
    """Return the unfitted estimator of a recipe or of ``package.module:Class``.

    - `estimator`: as in a space.
    - `values`: active hyperparameters and constants.
    - `n_features`: columns of the encoded data.
    - `seed`: the random state, where the estimator has one.
    """
    if ":" not in estimator:
        if estimator not in RECIPES:
            raise unknown("recipe", estimator, RECIPES)
        return RECIPES[estimator](dict(values), n_features, seed)
    return _made(estimator, dict(values), seed)


def stoppable(estimator: str) -> bool:
    """Return whether a fit of the recipe or class can end early with a model."""
    return estimator.partition(":")[0] == "lightgbm"


def stopping(left: Callable[[], float]) -> Callable[[Any], None]:
    """Return a callback of LightGBM that adds no further tree when no seconds are `left`."""
    from lightgbm.callback import EarlyStopException

    def callback(env: Any) -> None:
        if left() <= 0:
            raise EarlyStopException(env.iteration, [])

    return callback


def trees_if_stopped(model: Any) -> int:
    """Return how many trees a fitted model of LightGBM has if it was stopped, else 0."""
    last = model.steps[-1][1] if hasattr(model, "steps") else model
    if not hasattr(last, "booster_") or last.n_iter_ >= last.n_estimators:
        return 0
    return int(last.n_iter_)


def import_class(path: str) -> type[Any]:
    """Return the class ``package.module:Class``; raise UsageError if it does not exist."""
    module, _, name = path.partition(":")
    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise UsageError(f"no estimator {path!r} can be imported: {error}") from error
    if not inspect.isclass(found) or not hasattr(found, "fit"):
        raise UsageError(f"{path!r} is not an estimator class: it has no fit")
    return found


def _made(path: str, values: Values, seed: int) -> Any:
    """Return the estimator of a class, with the seed where it has a random state."""
    cls = import_class(path)
    if "random_state" in inspect.signature(cls).parameters:
        values = {**values, "random_state": seed}
    return cls(**values)


def _adaboost(values: Values, n_features: int, seed: int) -> Any:
    from sklearn.tree import DecisionTreeClassifier

    values["estimator"] = DecisionTreeClassifier(max_depth=values.pop("max_depth"))
    return _made("sklearn.ensemble:AdaBoostClassifier", values, seed)


def _forest(path: str) -> Recipe:
    """Return a recipe for which max_features is an exponent: 0.5 gives the square root."""

    def recipe(values: Values, n_features: int, seed: int) -> Any:
        values["max_features"] = max(1, int(n_features ** values["max_features"]))
        return _made(path, values, seed)

    return recipe


def _decision_tree(values: Values, n_features: int, seed: int) -> Any:
    values["max_depth"] = max(1, round(values.pop("max_depth_factor") * n_features))
    return _made("sklearn.tree:DecisionTreeClassifier", values, seed)


def _gradient_boosting(values: Values, n_features: int, seed: int) -> Any:
    stop = values.pop("early_stop")
    values["early_stopping"] = stop != "off"
    if stop == "train":
        values["validation_fraction"] = None
    return _made("sklearn.ensemble:HistGradientBoostingClassifier", values, seed)


def _lda(values: Values, n_features: int, seed: int) -> Any:
    kind, factor = values.pop("shrinkage"), values.pop("shrinkage_factor", None)
    shrinkage = {"none": None, "auto": "auto", "manual": factor}[kind]
    values |= {"solver": "svd" if shrinkage is None else "lsqr", "shrinkage": shrinkage}
    return _made("sklearn.discriminant_analysis:LinearDiscriminantAnalysis", values, seed)


def _liblinear_svc(values: Values, n_features: int, seed: int) -> Any:
    """Return liblinear's SVC, which has l1 only with squared_hinge and in the primal form."""
    if values["penalty"] == "l1":
        values["loss"] = "squared_hinge"
    values["dual"] = values["loss"] == "hinge"
    return _made("sklearn.svm:LinearSVC", values, seed)


def _mlp(values: Values, n_features: int, seed: int) -> Any:
    values["early_stopping"] = values["early_stopping"] == "valid"
    return _layered("sklearn.neural_network:MLPClassifier", values, seed)


def _layered(path: str, values: Values, seed: int) -> Any:
    layers = (values.pop("num_nodes_per_layer"),) * values.pop("hidden_layer_depth")
    return _made(path, {**values, "hidden_layer_sizes": layers}, seed)


def _multinomial_nb(values: Values, n_features: int, seed: int) -> Any:
    from sklearn.naive_bayes import MultinomialNB
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MinMaxScaler

    return make_pipeline(MinMaxScaler(clip=True), MultinomialNB(**values))


def _passive_aggressive(values: Values, n_features: int, seed: int) -> Any:
    """Return PA-I for the hinge loss and PA-II for its square, with C as the step's bound."""
    rate = "pa1" if values.pop("loss") == "hinge" else "pa2"
    values |= {"loss": "hinge", "penalty": None, "learning_rate": rate, "eta0": values.pop("C")}
    return _made("sklearn.linear_model:SGDClassifier", values, seed)


def _with_scaled_target(path: str, make: Callable[[str, Values, int], Any]) -> Recipe:
    """Return a recipe for learners whose steps and losses need a target of variance 1."""

    def scaled(values: Values, n_features: int, seed: int) -> Any:
        from sklearn.compose import TransformedTargetRegressor
        from sklearn.preprocessing import StandardScaler

        return TransformedTargetRegressor(make(path, values, seed), transformer=StandardScaler())

    return scaled


LIGHTGBM = {"subsample_freq": 1, "n_jobs": 1, "verbosity": -1, "deterministic": True}
"""On one thread, silent, and the same every time."""


def _lightgbm(values: Values, n_features: int, seed: int) -> Any:
    return _made("lightgbm:LGBMClassifier", LIGHTGBM | values, seed)


RECIPES: Mapping[str, Recipe] = {
    "adaboost": _adaboost,
    "decision_tree": _decision_tree,
    "extra_trees": _forest("sklearn.ensemble:ExtraTreesClassifier"),
    "gradient_boosting": _gradient_boosting,
    "lda": _lda,
    "liblinear_svc": _liblinear_svc,
    "lightgbm": _lightgbm,
    "mlp": _mlp,
    "mlp_regressor": _with_scaled_target("sklearn.neural_network:MLPRegressor", _layered),
    "multinomial_nb": _multinomial_nb,
    "passive_aggressive": _passive_aggressive,
    "random_forest": _forest("sklearn.ensemble:RandomForestClassifier"),
    "svr": _with_scaled_target("sklearn.svm:SVR", _made),
}
