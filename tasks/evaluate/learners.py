"""Candidates of a selection: configurations drawn by a seed.

Drawn are five learners of the ABC paper with 29 hyperparameters, by random search.
Huang et al. (AAAI 2019) name the learners and the number of hyperparameters, not their domains.

These are domains in which no learner can learn a sample by heart, so that their accuracy on a
sample of a few thousand rows is close to what they reach in full, and the paper's bounds can
separate them. Nothing binds on a small sample only, because a model that is restricted there fits
that sample worse than a model from all rows does, against ABC's fitness assumption. So linear
models are hardly regularised (scikit-learn's C weighs the sum of the losses), leaves may hold few
rows, and boosting's penalties, which weigh against sums over a leaf, are small.
"""

import hashlib
import math
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Self

import numpy as np
import yaml
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.neural_network import MLPClassifier

from leaseboard.algorithms.events import Parameters
from leaseboard.algorithms.seeds import generator
from leaseboard.tasks.evaluate import spaces

Domain = dict[str, Any] | list[Any]
"""Range from ``low`` to ``high``, log-uniform if ``log``, of integers if the ends are; choices."""


@cache
def domains() -> dict[str, dict[str, Domain]]:
    """Return the domains of each learner, in the order in which they alternate."""
    return yaml.safe_load(Path(__file__).with_name("domains.yaml").read_text())


GRADIENT_STEPS = 1500
"""Gradient steps of a network on every sample, large or small.

With a fixed number of epochs it would take few on a small sample and underfit it, which breaks
the fitness assumption of ABC's upper bound.
"""


def identity() -> str:
    """Return a hash of the domains that configurations are drawn from: other ones, other jobs."""
    return hashlib.sha256(repr(domains()).encode()).hexdigest()[:12]


def draw_configurations(count: int, seed: int) -> list[Parameters]:
    """Return the first `count` configurations of the sequence that `seed` names.

    The learners alternate. A longer draw begins with the shorter one, so that stored probes
    serve both.
    """
    learners = list(domains().items())
    drawn: list[Parameters] = []
    for index in range(count):
        learner, space = learners[index % len(learners)]
        rng = generator(seed, "configuration", "bounded", index)
        parameters = {name: _drawn(domain, rng) for name, domain in space.items()}
        if learner == "NeuralNetwork":
            parameters["steps"] = GRADIENT_STEPS
        drawn.append({"learner": learner, **parameters})
    return drawn


def _drawn(domain: Domain, rng: np.random.Generator) -> Any:
    """Draw a value; one of a range of reals has four significant digits."""
    if isinstance(domain, list):
        return domain[rng.integers(len(domain))]
    low, high = domain["low"], domain["high"]
    whole = isinstance(low, int)
    if "log" in domain:
        value = math.exp(rng.uniform(math.log(low), math.log(high + whole)))
    elif whole:
        value = rng.integers(low, high + 1)
    else:
        value = rng.uniform(low, high)
    return int(value) if whole else float(f"{value:.4g}")


_BATCHES_A_CALL = 100
"""A call of `partial_fit` costs several gradient steps by itself, so it gets many of them."""


def build(parameters: Parameters, seed: int) -> Any:
    """Return the classifier of `parameters`, whose ``learner`` names its kind.

    - `parameters`: as `leaseboard.tasks.evaluate.learners.draw_configurations` draws
      them.
    - `seed`: for the learner's own randomness.
    """
    values = {name: value for name, value in parameters.items() if name != "learner"}
    estimator, fixed = _LEARNERS[str(parameters["learner"])]
    return spaces.build(estimator, fixed | values, 0, seed)


@dataclass(eq=False, repr=False)
class FixedStepNetwork(ClassifierMixin, BaseEstimator):
    """scikit-learn's `MLPClassifier`, trained by Adam for `steps` batches.

    The rows are taken in order and from the start again, as often as it takes; so a sample of
    a thousand rows is seen many times, and of three million rows perhaps only a part.

    - `width`, `depth`: units of a hidden layer, and hidden layers.
    - `alpha`: L2 penalty.
    - `batch_size`: rows of a gradient step.
    """

    width: int = 16
    depth: int = 1
    activation: str = "relu"
    alpha: float = 1e-4
    learning_rate_init: float = 1e-3
    batch_size: int = 128
    steps: int = 1500
    random_state: int = 0

    def fit(self, X: NDArray[np.float32], y: NDArray[Any]) -> Self:
        """Take `steps` gradient steps over the rows of `X`."""
        rows = len(y)
        batch = min(self.batch_size, rows)
        self.network_ = MLPClassifier(
            hidden_layer_sizes=(self.width,) * self.depth,
            activation=self.activation,
            alpha=self.alpha,
            learning_rate_init=self.learning_rate_init,
            batch_size=batch,
            random_state=self.random_state,
        )
        self.classes_ = np.unique(y)
        start, left = 0, self.steps
        while left:
            taken = min(left, _BATCHES_A_CALL)
            part = np.arange(start, start + taken * batch) % rows
            self.network_.partial_fit(X[part], y[part], classes=self.classes_)
            start = (start + taken * batch) % rows
            left -= taken
        return self

    def predict(self, X: NDArray[np.float32]) -> NDArray[Any]:
        """Return the class of each row."""
        return np.asarray(self.network_.predict(X))


_LEARNERS: dict[str, tuple[str, Parameters]] = {
    "LogisticRegression": ("sklearn.linear_model:LogisticRegression", {}),
    "LinearSVM": ("sklearn.svm:LinearSVC", {"dual": False}),
    "LightGBM": ("lightgbm:LGBMClassifier", {**spaces.LIGHTGBM, "force_row_wise": True}),
    "NeuralNetwork": (f"{__name__}:FixedStepNetwork", {}),
    "RandomForest": ("sklearn.ensemble:RandomForestClassifier", {"n_jobs": 1}),
}
"""Of each kind the recipe or class, see `spaces.build`, and its fixed parameters."""
