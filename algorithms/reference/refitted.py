"""A boosted tree that is fitted again now and then: what a person would use on a stream instead.

LightGBM at its defaults is fitted to all labels that are known after `FIRST` of them, and again
whenever their number has doubled, at most to the last `MOST`. Between two fits it predicts. It is
a reference row of leaderboards and no naive baseline: the relative loss does not depend on it.
"""

from __future__ import annotations

from typing import Any

import lightgbm
import numpy as np
from pydantic.dataclasses import dataclass

from leaseboard.algorithms.environments.arrays import Doubles, Floats
from leaseboard.algorithms.environments.arrival import StreamLearner
from leaseboard.algorithms.environments.stream import OneModel, StreamEnvironment
from leaseboard.algorithms.reference.predictor import one_hot

FIRST, MOST = 200, 100_000
"""Labels after which it is fitted first, and rows of a fit at most."""

SETTINGS = {"verbosity": -1, "num_threads": 1, "deterministic": True, "force_row_wise": True}
"""One thread, so that the same rows give the same trees."""


@dataclass(frozen=True, kw_only=True)
class RefittedLightGBM(OneModel):
    """LightGBM at its defaults, fitted to all known labels at 200, 400, 800, ... of them.

    Before the first fit it predicts the mean of the labels, or the commonest class.
    """

    def model(self, env: StreamEnvironment) -> StreamLearner:
        """See `OneModel.model`."""
        return Refitted(env.stream.task, len(env.stream.classes))


class Refitted:
    """Boosted trees that are fitted again.

    Parameters
    ----------
    task : str
        "regression", or "classification".
    n_classes : int
        Where there are more than two; labels of two are -1 and 1.

    Examples
    --------
    >>> rows = np.random.default_rng(0).normal(size=(500, 2)).astype(np.float32)
    >>> labels = (rows[:, 0] * rows[:, 1]).astype(np.float32)
    >>> found = Refitted("regression").learn_many(rows, labels)
    >>> bool(np.mean((found - labels)[400:] ** 2) < 0.3 * labels.var())
    True
    """

    def __init__(self, task: str, n_classes: int = 0) -> None:
        self.task, self.n_classes = task, n_classes
        self.rows: list[Floats] = []
        self.labels: list[Floats] = []
        self.seen, self.due = 0, FIRST
        self.trees: lightgbm.Booster | None = None

    def learn_many(self, examples: Floats, labels: Floats) -> Floats | Doubles:
        """See `StreamLearner.learn_many`."""
        found, done = [], 0
        while done < len(labels):
            part = slice(done, done + min(self.due - self.seen, len(labels) - done))
            found.append(self._progressive(examples[part], labels[part]))
            self.rows.append(examples[part].copy())
            self.labels.append(labels[part].copy())
            self.seen, done = self.seen + len(labels[part]), part.stop
            if self.seen == self.due:
                self._fit()
        return np.asarray(np.concatenate(found))

    def predict_waiting(self, examples: Floats, pending: int) -> Floats | Doubles:
        """See `StreamLearner.predict_waiting`."""
        del pending
        if self.trees is None:
            known = np.concatenate(self.labels) if self.labels else np.zeros(0, np.float32)
            common: Doubles = np.repeat(self._common(known)[None], len(examples), axis=0)
            return common
        return self._said(self.trees, examples)

    def _progressive(self, examples: Floats, labels: Floats) -> Floats | Doubles:
        """Return predictions of rows, each made before its label is known."""
        if self.trees is not None:
            return self._said(self.trees, examples)
        known = np.concatenate([*self.labels, labels])
        return np.array([self._common(known[: self.seen + t]) for t in range(len(labels))])

    def _common(self, known: Floats) -> Any:
        """Return the mean of labels; of classes their shares, of two the more frequent one."""
        if self.n_classes:
            counts = np.bincount(known.astype(np.int64), minlength=self.n_classes)
            return one_hot(np.array([counts.argmax()]), self.n_classes)[0] * bool(len(known))
        return np.float32(known.mean() if len(known) else 0.0)

    def _said(self, trees: lightgbm.Booster, examples: Floats) -> Floats | Doubles:
        """Return what the trees say: numbers, log odds of two classes, or probabilities."""
        said = np.asarray(trees.predict(examples, raw_score=not self.n_classes))
        return said if self.n_classes else said.astype(np.float32)

    def _fit(self) -> None:
        """Fit trees to the last labels."""
        self.due *= 2
        rows, labels = np.concatenate(self.rows)[-MOST:], np.concatenate(self.labels)[-MOST:]
        self.rows, self.labels = [rows], [labels]
        more: dict[str, Any] = {"objective": "regression"}
        if self.n_classes:
            more = {"objective": "multiclass", "num_class": self.n_classes}
        elif self.task == "classification":
            more, labels = {"objective": "binary"}, (labels > 0).astype(np.float32)
        if (labels != labels[0]).any():
            data = lightgbm.Dataset(rows, labels)
            self.trees = lightgbm.train({**SETTINGS, **more}, data)
