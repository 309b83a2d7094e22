"""ChaCha for streams of one's own: the classes of the default, by the paper's rules."""

from collections.abc import Hashable, Mapping
from typing import Any

from leaseboard.algorithms.errors import UsageError, unknown
from leaseboard.algorithms.online_automl.oracle import ConfigOracle
from leaseboard.algorithms.online_automl.streaming import (
    OnlineAutoMLClassifier,
    OnlineAutoMLRegressor,
)
from leaseboard.algorithms.online_automl.streaming.base import OnlineModel

PRESETS = {"icml-eval": "chacha", "flaml": "chacha-flaml", "literal": "chacha-literal"}
"""The registered algorithm of each preset."""


class _Published(OnlineModel):
    """Base of models that know presets instead of names of algorithms."""

    def __init__(
        self,
        namespaces: Mapping[str, list[str]] | None = None,
        oracle: ConfigOracle | None = None,
        seed: int = 0,
        preset: str = "icml-eval",
        max_pending: int = 10_000,
        **settings: Any,
    ) -> None:
        if preset not in PRESETS:
            raise unknown("preset", preset, PRESETS)
        super().__init__(namespaces, oracle, seed, PRESETS[preset], max_pending, **settings)
        self.preset = preset

    @classmethod
    def _choice(cls, algorithm: str) -> str:
        return {name: preset for preset, name in PRESETS.items()}[algorithm]


class ChaChaRegressor(_Published, OnlineAutoMLRegressor):
    """ChaCha of the paper [1]_ for numbers: a champion, and challengers on leases.

    Parameters
    ----------
    namespaces, oracle, seed, max_pending
        See `OnlineAutoMLRegressor`.
    preset : {"icml-eval", "flaml", "literal"}
        Whose rules: those of the authors' evaluation code, which gave the paper's tables; of their
        public program, FLAML's AutoVW; or of the printed text.
    **settings
        Rules that differ from the preset's: those of `leaseboard.algorithms.chacha.rules.Rules`,
        `b` (live models, 5 by default) and `tune`.

    Attributes
    ----------
    champion, live, history, examples, about
        See `OnlineAutoMLRegressor`, as for the methods. There are no members and no intervals.

    See Also
    --------
    OnlineAutoMLRegressor : Our default for streams.

    References
    ----------
    .. [1] Wu, Wang, Langford, Mineiro, Rossi. ChaCha for online AutoML. ICML 2021.
           https://arxiv.org/abs/2106.04815

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
    """ChaCha of the paper [1]_ for two classes, which Vowpal Wabbit's logistic loss learns.

    Parameters
    ----------
    namespaces, oracle, seed, preset, max_pending, **settings
        See `ChaChaRegressor`.

    Attributes
    ----------
    classes, champion, live, history, examples, about
        See `OnlineAutoMLClassifier`, as for the methods. A third class is refused.

    See Also
    --------
    OnlineAutoMLClassifier : Our default for streams, for any number of classes.

    References
    ----------
    .. [1] Wu, Wang, Langford, Mineiro, Rossi. ChaCha for online AutoML. ICML 2021.
           https://arxiv.org/abs/2106.04815

    Examples
    --------
    >>> model = ChaChaClassifier()
    >>> for t in range(300):
    ...     model.learn_one({"a": t % 5 - 2.0}, "up" if t % 5 > 2 else "down")
    >>> model.predict_one({"a": 2.0})
    'up'
    """

    @property
    def _multiclass(self) -> bool:
        return False

    def _with(self, labels: list[Hashable]) -> list[Hashable]:
        classes = super()._with(labels)
        if len(classes) > 2:
            raise UsageError(
                f"class {classes[2]!r} is a third one, and the paper's rules learn two: take an"
                " OnlineAutoMLClassifier, which learns any number"
            )
        return classes
