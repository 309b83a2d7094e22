"""From an arm's hyperparameters to an unfitted estimator.

A recipe makes values whose meaning depends on the data (an exponent of the number of features)
or which set several arguments at once into what scikit-learn takes. An arm that needs no
recipe names its class.
"""

import importlib
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from leaseboard.algorithms.errors import UsageError, unknown

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


def _sigmoid_svm(values: Values, n_features: int, seed: int) -> Any:
    """Return an SVM on 50 landmarks of a sigmoid kernel, trained by SGD for three epochs."""
    from sklearn.kernel_approximation import Nystroem
    from sklearn.linear_model import SGDClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    alpha = values.pop("alpha")
    kernel = Nystroem("sigmoid", **values, n_components=50, random_state=seed)
    svm = SGDClassifier(alpha=alpha, max_iter=3, tol=None, random_state=seed)
    return make_pipeline(kernel, StandardScaler(), svm)


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
    "sigmoid_svm": _sigmoid_svm,
    "svr": _with_scaled_target("sklearn.svm:SVR", _made),
}
