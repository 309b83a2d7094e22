"""From an arm's hyperparameters to an unfitted estimator.

A recipe turns values whose meaning depends on the data (an exponent of the number of features)
or which stand for several arguments at once into what scikit-learn takes. An arm that needs no
recipe names its class.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from leaseboard.algorithms.errors import UsageError, unknown

Values = dict[str, Any]
Recipe = Callable[[Values, int, int], Any]


def build(estimator: str, values: Mapping[str, Any], n_features: int, seed: int) -> Any:
    """The unfitted estimator of a recipe or of ``package.module:Class``.

    - `estimator`: as in a space.
    - `values`: active hyperparameters and constants.
    - `n_features`: columns of the encoded data.
    - `seed`: the random state, where the estimator has one.
    """
    if ":" not in estimator:
        if estimator not in RECIPES:
            raise unknown("recipe", estimator, RECIPES)
        return RECIPES[estimator](dict(values), n_features, seed)
    return _seeded(import_class(estimator), dict(values), seed)


def import_class(path: str) -> type[Any]:
    """The class ``package.module:Class``; UsageError if there is none."""
    module, _, name = path.partition(":")
    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise UsageError(f"no estimator {path!r} can be imported: {error}") from error
    if not inspect.isclass(found) or not hasattr(found, "fit"):
        raise UsageError(f"{path!r} is no estimator class: it has no fit")
    return found


def _seeded(cls: type[Any], values: Values, seed: int) -> Any:
    if "random_state" in inspect.signature(cls).parameters:
        values = {**values, "random_state": seed}
    return cls(**values)


def _adaboost(values: Values, n_features: int, seed: int) -> Any:
    from sklearn.ensemble import AdaBoostClassifier
    from sklearn.tree import DecisionTreeClassifier

    tree = DecisionTreeClassifier(max_depth=values.pop("max_depth"))
    return AdaBoostClassifier(estimator=tree, random_state=seed, **values)


def _forest(path: str) -> Recipe:
    """max_features is an exponent: 0.5 gives the square root of the number of features."""

    def recipe(values: Values, n_features: int, seed: int) -> Any:
        values["max_features"] = max(1, int(n_features ** values["max_features"]))
        return _seeded(import_class(path), values, seed)

    return recipe


def _decision_tree(values: Values, n_features: int, seed: int) -> Any:
    from sklearn.tree import DecisionTreeClassifier

    depth = max(1, round(values.pop("max_depth_factor") * n_features))
    return DecisionTreeClassifier(max_depth=depth, random_state=seed, **values)


def _gradient_boosting(values: Values, n_features: int, seed: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    stop = values.pop("early_stop")
    values["early_stopping"] = stop != "off"
    if stop == "train":
        values["validation_fraction"] = None
    return HistGradientBoostingClassifier(random_state=seed, **values)


def _lda(values: Values, n_features: int, seed: int) -> Any:
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    shrinkage = {
        "none": None,
        "auto": "auto",
        "manual": values.pop("shrinkage_factor", None),
    }[values.pop("shrinkage")]
    solver = "svd" if shrinkage is None else "lsqr"
    return LinearDiscriminantAnalysis(solver=solver, shrinkage=shrinkage, **values)


def _liblinear_svc(values: Values, n_features: int, seed: int) -> Any:
    """Liblinear knows l1 only with squared_hinge and in the primal, hinge only in the dual."""
    from sklearn.svm import LinearSVC

    if values["penalty"] == "l1":
        values["loss"] = "squared_hinge"
    values["dual"] = values["loss"] == "hinge"
    return LinearSVC(random_state=seed, **values)


def _mlp(values: Values, n_features: int, seed: int) -> Any:
    from sklearn.neural_network import MLPClassifier

    layers = (values.pop("num_nodes_per_layer"),) * values.pop("hidden_layer_depth")
    values["early_stopping"] = values["early_stopping"] == "valid"
    return MLPClassifier(hidden_layer_sizes=layers, random_state=seed, **values)


def _multinomial_nb(values: Values, n_features: int, seed: int) -> Any:
    from sklearn.naive_bayes import MultinomialNB
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MinMaxScaler

    return make_pipeline(MinMaxScaler(clip=True), MultinomialNB(**values))


def _passive_aggressive(values: Values, n_features: int, seed: int) -> Any:
    """PA-I for the hinge loss and PA-II for its square, with C as the step's bound."""
    from sklearn.linear_model import SGDClassifier

    rate = "pa1" if values.pop("loss") == "hinge" else "pa2"
    return SGDClassifier(
        loss="hinge", penalty=None, learning_rate=rate, eta0=values.pop("C"),
        random_state=seed, **values,
    )  # fmt: skip


def _with_scaled_target(recipe: Callable[[Values, int], Any]) -> Recipe:
    """For learners whose steps and losses mean a target of variance 1."""

    def scaled(values: Values, n_features: int, seed: int) -> Any:
        from sklearn.compose import TransformedTargetRegressor
        from sklearn.preprocessing import StandardScaler

        return TransformedTargetRegressor(recipe(values, seed), transformer=StandardScaler())

    return scaled


def _svr(values: Values, seed: int) -> Any:
    from sklearn.svm import SVR

    return SVR(**values)


def _mlp_regressor(values: Values, seed: int) -> Any:
    from sklearn.neural_network import MLPRegressor

    layers = (values.pop("num_nodes_per_layer"),) * values.pop("hidden_layer_depth")
    return MLPRegressor(hidden_layer_sizes=layers, random_state=seed, **values)


def _lightgbm(values: Values, n_features: int, seed: int) -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(
        subsample_freq=1, n_jobs=1, verbosity=-1, random_state=seed, deterministic=True, **values
    )


RECIPES: Mapping[str, Recipe] = {
    "adaboost": _adaboost,
    "decision_tree": _decision_tree,
    "extra_trees": _forest("sklearn.ensemble:ExtraTreesClassifier"),
    "gradient_boosting": _gradient_boosting,
    "lda": _lda,
    "liblinear_svc": _liblinear_svc,
    "lightgbm": _lightgbm,
    "mlp": _mlp,
    "mlp_regressor": _with_scaled_target(_mlp_regressor),
    "multinomial_nb": _multinomial_nb,
    "passive_aggressive": _passive_aggressive,
    "random_forest": _forest("sklearn.ensemble:RandomForestClassifier"),
    "svr": _with_scaled_target(_svr),
}
