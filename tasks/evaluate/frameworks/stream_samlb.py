"""SAMLB's systems on a stream: `stream_program` imports them in SAMLB's environment, by path."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from leaseboard.tasks.evaluate.frameworks.stream_program import Asked, Row


class Voting:
    """Classifier of SAMLB, which takes numbers as labels, and mostly gives no probabilities.

    The class that it predicts has the probability 1, so its log loss means nothing; before its
    first prediction none has any.
    """

    def __init__(self, model: Any) -> None:
        self._model = model

    def predict_proba_one(self, example: Row) -> dict[int, float]:
        """Return probabilities by class."""
        if hasattr(self._model, "predict_proba_one"):
            return dict(self._model.predict_proba_one(example))
        found = self._model.predict_one(example)
        return {} if found is None else {found: 1.0}

    def learn_one(self, example: Row, label: int) -> None:
        """Learn it."""
        self._model.learn_one(example, int(label))


NAMES = {
    "asml": "AutoStream",
    "evolutionary": "EvolutionaryBagging",
    "autoclass": "AutoClass",
    "oaml": "OAMLClassifier",
    "chacha": "ChaChaRegressor",
}
"""SAMLB's names, which end in the task where a system has both.

- ``asml``: a budget of pipelines explored every thousand examples; an ensemble predicts.
- ``evolutionary``: EvOAutoML, ten pipelines that are bagged, the worst replaced by a mutant.
- ``autoclass``: a population of classifiers that evolves.
- ``oaml``: a genetic search over a window, again when the stream drifts.
- ``chacha``: FLAML's AutoVW as SAMLB feeds it: all features in one namespace, so none interact.
  It predicts 0 where AutoVW raises an error. AutoVW goes through a set in the order of memory
  addresses, so two runs of one seed may differ.
"""


def learner(name: str, asked: Asked) -> Any:
    """Make a system of SAMLB at its defaults; its pipelines scale by themselves.

    Categories are their numbers, as in the datasets that it brings along.
    """
    from samlb import framework

    task = "Regressor" if asked.task == "regression" else "Classifier"
    full = NAMES[name] + (task if name in ("asml", "evolutionary") else "")
    model = getattr(framework, full)(seed=asked.seed)
    return model if asked.task == "regression" else Voting(model)


LEARNERS: dict[str, Callable[[Asked], Any]] = {name: partial(learner, name) for name in NAMES}
