"""ChaCha for streams of one's own: the classes of the default, by the paper's rules."""

from collections.abc import Hashable
from typing import Any

from leaseboard.algorithms.errors import UsageError, unknown
from leaseboard.algorithms.online_automl.streaming import (
    OnlineAutoMLClassifier,
    OnlineAutoMLRegressor,
)
from leaseboard.algorithms.online_automl.streaming.base import OnlineModel

PRESETS = {"icml-eval": "chacha", "flaml": "chacha-flaml", "literal": "chacha-literal"}
"""The registered algorithm of each preset."""


class _Published(OnlineModel):
    """Base of models that know presets instead of names of algorithms, which are in files."""

    def __init__(
        self,
        seed: int = 0,
        preset: str = "icml-eval",
        max_pending: int = 10_000,
        **settings: Any,
    ) -> None:
        self.preset = {name: each for each, name in PRESETS.items()}.get(preset, preset)
        if self.preset not in PRESETS:
            raise unknown("preset", preset, PRESETS)
        super().__init__(seed, PRESETS[self.preset], max_pending, **settings)


class ChaChaRegressor(_Published, OnlineAutoMLRegressor):
    """ChaCha of Wu et al. (ICML 2021) for numbers: a champion, and challengers on leases.

    Parameters
    ----------
    seed, max_pending
        See `OnlineAutoMLRegressor`.
    preset : {"icml-eval", "flaml", "literal"}
        Rules of the evaluation that gave the paper's tables, of the authors' public program
        (FLAML's AutoVW), or of the printed text.
    **settings
        `b` (live models, 5 by default), `tune`, `keep` and `keep_champion`, see
        `leaseboard.algorithms.chacha.presets.Paper`.

    Attributes
    ----------
    champion, live, history, examples, about
        See `OnlineAutoMLRegressor`, as for the methods. There are no members and no intervals.

    Examples
    --------
    >>> model = ChaChaRegressor(preset="flaml", b=3)
    >>> for t in range(300):
    ...     x = {"a": t % 3 - 1.0, "b": t % 5 - 2.0}
    ...     prediction = model.predict_one(x)
    ...     model.learn_one(x, x["a"] + x["a"] * x["b"])
    >>> model.examples, len(model.live)
    (300, 2)
    """


class ChaChaClassifier(_Published, OnlineAutoMLClassifier):
    """ChaCha of Wu et al. (ICML 2021) for two classes, by Vowpal Wabbit's logistic loss.

    Parameters
    ----------
    seed, preset, max_pending, **settings
        See `ChaChaRegressor`.

    Attributes
    ----------
    classes, champion, live, history, examples, about
        See `OnlineAutoMLClassifier`, as for the methods. A third class is refused.

    Examples
    --------
    >>> model = ChaChaClassifier()
    >>> for t in range(300):
    ...     model.learn_one({"a": t % 5 - 2.0}, "up" if t % 5 > 2 else "down")
    >>> model.predict_one({"a": 2.0})
    'up'
    """

    def _with(self, labels: list[Hashable]) -> list[Hashable]:
        classes = super()._with(labels)
        if len(classes) > 2:
            raise UsageError(
                f"class {classes[2]!r} is a third one, and the paper's rules learn two: take an"
                " OnlineAutoMLClassifier, which learns any number"
            )
        return classes
