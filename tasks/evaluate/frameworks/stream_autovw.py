"""FLAML's AutoVW on a stream: `stream_program` imports it in AutoVW's environment, by path."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from leaseboard.tasks.evaluate.frameworks.stream_program import Asked, Row


class Lines:
    """AutoVW behind the lines of text that it takes, with one namespace for each group.

    As ChaCha's authors wrote their data: features are named by their column, values have six
    decimals, namespaces one letter. A blank before a bar is left out: FLAML would count it as a
    feature. A line that is predicted has no label.
    """

    def __init__(self, model: Any, asked: Asked) -> None:
        self._model = model
        numbers = {name: number for number, name in enumerate(asked.names)}
        self._groups = [
            (chr(ord("a") + place), [(name, numbers[name]) for name in group])
            for place, group in enumerate(asked.namespaces or (asked.names,))
        ]
        self._last: Row = {}
        self._text = ""

    def predict_one(self, example: Row) -> float:
        """Return its prediction."""
        groups = (
            " ".join([letter, *(f"{number}:{example[name]:.6f}" for name, number in group)])
            for letter, group in self._groups
        )
        self._last, self._text = example, "".join(f"|{group}" for group in groups)
        return float(self._model.predict(self._text))

    def learn_one(self, example: Row, label: float) -> None:
        """Learn an example after its prediction, to which AutoVW compares the label."""
        if example is not self._last:
            self.predict_one(example)
        self._model.learn(f"{label!r} {self._text}")


def stock(asked: Asked) -> Any:
    """Make ChaCha over interactions of namespaces with five live models, as its notebook does.

    Vowpal Wabbit 9 takes its option ``quiet`` as a flag alone, so it is True here.
    """
    from flaml import AutoVW

    model = AutoVW(
        max_live_model_num=5,
        search_space={"interactions": AutoVW.AUTOMATIC, "quiet": True},
        init_config={"quiet": True},
        random_seed=asked.seed,
    )
    return Lines(model, asked)


LEARNERS: dict[str, Callable[[Asked], Any]] = {"stock": stock}
