"""SAMLB's systems on a stream: `stream_program` imports them in SAMLB's environment, by path."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from leaseboard.tasks.evaluate.peers.stream_program import Asked, Row


class Voting:
    """SAMLB's classifiers take numbers as labels, and most tell a class and no chances.

    What they tell has all chance, so their log loss means nothing; before they tell any, none has.
    """

    def __init__(self, model: Any) -> None:
        self._model = model

    def predict_proba_one(self, example: Row) -> dict[int, float]:
        """Chances by class."""
        if hasattr(self._model, "predict_proba_one"):
            return dict(self._model.predict_proba_one(example))
        found = self._model.predict_one(example)
        return {} if found is None else {found: 1.0}

    def learn_one(self, example: Row, label: int) -> None:
        """Learn it."""
        self._model.learn_one(example, int(label))


def samlb(name: str, asked: Asked) -> Any:
    """A system of SAMLB at its defaults; its pipelines scale by themselves.

    Categories are their numbers, as in the data sets that it brings along.
    """
    from samlb import framework

    model = getattr(framework, name)(seed=asked.seed)
    return model if asked.task == "regression" else Voting(model)


def asml(asked: Asked) -> Any:
    """AutoStream: a budget of pipelines explored every thousand examples; an ensemble tells."""
    kind = "Regressor" if asked.task == "regression" else "Classifier"
    return samlb(f"AutoStream{kind}", asked)


def evolutionary(asked: Asked) -> Any:
    """EvOAutoML as SAMLB has it: ten pipelines that are bagged, the worst replaced by a mutant."""
    kind = "Regressor" if asked.task == "regression" else "Classifier"
    return samlb(f"EvolutionaryBagging{kind}", asked)


def autoclass(asked: Asked) -> Any:
    """AutoClass: a population of classifiers that evolves."""
    return samlb("AutoClass", asked)


def oaml(asked: Asked) -> Any:
    """OAML: a genetic search over a window, again when the stream drifts."""
    return samlb("OAMLClassifier", asked)


def samlb_chacha(asked: Asked) -> Any:
    """FLAML's AutoVW as SAMLB feeds it: all features in one namespace, so none interact.

    It tells 0 where AutoVW raises an error. AutoVW goes through a set in the order of memory
    addresses, so two runs of one seed may differ.
    """
    return samlb("ChaChaRegressor", asked)


LEARNERS: dict[str, Callable[[Asked], Any]] = {
    "asml": asml,
    "evolutionary": evolutionary,
    "autoclass": autoclass,
    "oaml": oaml,
    "chacha": samlb_chacha,
}
