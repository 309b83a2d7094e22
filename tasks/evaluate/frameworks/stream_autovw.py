"""FLAML's AutoVW on a stream: `stream_program` imports it in AutoVW's environment, by path."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from leaseboard.tasks.evaluate.frameworks.stream_program import Asked, Row


class Lines:
    """AutoVW between rows and the lines of text that it takes, one namespace for each group.

    As ChaCha's authors wrote their data: features are named by their column, values have six
    decimals, namespaces one letter. No blank stands before a bar, which FLAML would count as one
    more feature. A line that is forecast has no label.
    """

    def __init__(self, model: Any, asked: Asked) -> None:
        self._model = model
        numbers = {name: number for number, name in enumerate(asked.names)}
        self._groups = [
            (chr(ord("a") + place), [(name, numbers[name]) for name in group])
            for place, group in enumerate(asked.namespaces or (asked.names,))
        ]
        self._text = ""

    def predict_one(self, example: Row) -> float:
        """Its forecast."""
        self._text = "".join(
            "|" + " ".join([letter, *(f"{number}:{example[name]:.6f}" for name, number in group)])
            for letter, group in self._groups
        )
        return float(self._model.predict(self._text))

    def learn_one(self, _example: Row, label: float) -> None:
        """Learn the line that was forecast: each is, before its label comes."""
        self._model.learn(f"{label!r} {self._text}")


def stock(asked: Asked, **told: str) -> Any:
    """ChaCha over interactions of namespaces with five live models, as its notebook has it.

    Vowpal Wabbit 9 takes its option ``quiet`` as a flag alone, so it is True here.

    `told`: what it is told besides.
    """
    from flaml import AutoVW

    model = AutoVW(
        max_live_model_num=5,
        search_space={"interactions": AutoVW.AUTOMATIC, "quiet": True},
        init_config={"quiet": True},
        random_seed=asked.seed,
        **told,
    )
    return Lines(model, asked)


def patched(asked: Asked, **told: str) -> Any:
    """Make the same with the error of one number computed without scikit-learn.

    The number is the same one; scikit-learn's checks of its input are most of what `stock` takes.
    """
    from flaml.onlineml import trial

    trial.mean_absolute_error = lambda labels, forecasts: abs(labels[0] - forecasts[0])
    trial.mean_squared_error = lambda labels, forecasts: (labels[0] - forecasts[0]) ** 2
    return stock(asked, **told)


def squared(asked: Asked) -> Any:
    """Make the same, told to choose by the squared error, which is what the bench scores."""
    return patched(asked, metric="mse")


LEARNERS: dict[str, Callable[[Asked], Any]] = {
    "stock": stock,
    "patched": patched,
    "squared": squared,
}
