"""Other libraries' learners on a stream, in the same process: Vowpal Wabbit and LightGBM.

Vowpal Wabbit is what our kernels agree with, with its further options. Boosted trees that are
fitted again now and then are what a person would use on a stream instead: LightGBM at its defaults
is fitted to all labels that are known after `FIRST` of them, and again whenever their number has
doubled, at most to the last `MOST`. Between two fits it predicts. It gets each nominal column as
one, which it knows to be nominal, and hour and weekday of a date as numbers. It is a reference row
of leaderboards and no naive baseline: the relative loss does not depend on it.
"""

import shlex
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic.dataclasses import dataclass

from leaseboard.algorithms.arrays import Doubles, Floats
from leaseboard.algorithms.environments.arrival import StreamLearner
from leaseboard.algorithms.environments.stream import OneModel, StreamEnvironment
from leaseboard.algorithms.events import Parameters
from leaseboard.algorithms.online.schema import VANILLA, Origin, Schema
from leaseboard.algorithms.reference.ridge import one_hot


@dataclass(frozen=True, kw_only=True)
class VowpalWabbit(OneModel):
    """Vowpal Wabbit's learner, one model without interactions; of many classes its ``--oaa``.

    Parameters
    ----------
    options : str
        Further options of its command line, such as ``--l2 1e-6 --interactions ab``.
    """

    options: str = ""

    def model(self, env: StreamEnvironment) -> StreamLearner:
        """Return the wheel's workspace."""
        stream, options = env.stream, shlex.split(self.options)
        return Wheel(stream.schema, [*OPTIONS[stream.task], *options], len(stream.classes))

    def parameters(self) -> Parameters:
        """See `OneModel.parameters`."""
        return {**VANILLA, "options": self.options}


OPTIONS = {"regression": (), "classification": ("--loss_function", "logistic")}
"""What names the loss of each task on the command line."""


class Wheel:
    """Workspace of Vowpal Wabbit that learns rows of numbers.

    Parameters
    ----------
    schema : Schema
    options : sequence of str
        See `OPTIONS`.
    n_classes : int
        Where there are more than two, whose labels are their numbers from 0.
    """

    def __init__(self, schema: Schema, options: Sequence[str] = (), n_classes: int = 0) -> None:
        from vowpalwabbit.pyvw import Workspace, pylibvw

        classes = ("--oaa", str(n_classes), "--probabilities") if n_classes else ()
        self.schema, self.n_classes = schema, n_classes
        self._kind = pylibvw.vw.lMulticlass if n_classes else pylibvw.vw.lSimple
        self._type = np.float64 if n_classes else np.float32
        self.workspace = Workspace(
            arg_list=["--bit_precision", str(schema.bits), *options, *classes, "--quiet",
                      "--no_stdin"]
        )  # fmt: skip

    def learn_many(self, examples: Floats, labels: Floats) -> NDArray[Any]:
        """Learn a block in order; return its progressive predictions, of classes probabilities."""
        found = []
        for row, label in zip(examples.tolist(), labels.tolist(), strict=True):
            said = f"{label + 1:g}" if self.n_classes else label.hex()
            found.append(self._pass(f"{said} {text_line(self.schema, row)}", learns=True))
        return np.array(found, dtype=self._type)

    def predict_waiting(self, examples: Floats, pending: int) -> NDArray[Any]:
        """See `leaseboard.algorithms.environments.arrival.StreamLearner`."""
        lines = (text_line(self.schema, row) for row in examples.tolist())
        return np.array([self._pass(line, learns=False) for line in lines], dtype=self._type)

    def _pass(self, line: str, *, learns: bool) -> Any:
        """Return the prediction of an example in VW's text format, and learn it."""
        example = self.workspace.parse(line, self._kind)
        prediction = self.workspace.predict(example)
        if learns:
            self.workspace.learn(example)
        self.workspace.finish_example(example)
        return prediction


def text_line(schema: Schema, values: Sequence[float]) -> str:
    """Return the example in VW's text format without a label; numbers are hexadecimal.

    VW's own parser of decimals is off by a unit in the last place, that of hexadecimals is exact.

    Examples
    --------
    >>> text_line(Schema(("a", "b"), ((0,), (1, 2)), ("0", "x", "y")), [0.5, 0.0, 3.0])
    '|a 0:0x1.0000000000000p-1 |b y:0x1.8000000000000p+1'
    """
    groups = []
    for name, columns in schema.groups():
        features = [f"{schema.features[c]}:{values[c].hex()}" for c in columns if values[c]]
        groups.append(" ".join([f"|{name}", *features]))
    return " ".join(groups)


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
        stream = env.stream
        return Refitted(stream.task, len(stream.classes), stream.schema.origins)


class Refitted:
    """Boosted trees that are fitted again.

    Parameters
    ----------
    task : str
        "regression", or "classification".
    n_classes : int
        Where there are more than two; labels of two are -1 and 1.
    origins : sequence of Origin
        Of the features; empty if all are numbers.

    Examples
    --------
    >>> rows = np.random.default_rng(0).normal(size=(500, 2)).astype(np.float32)
    >>> labels = (rows[:, 0] * rows[:, 1]).astype(np.float32)
    >>> found = Refitted("regression").learn_many(rows, labels)
    >>> bool(np.mean((found - labels)[400:] ** 2) < 0.3 * labels.var())
    True
    """

    def __init__(self, task: str, n_classes: int = 0, origins: Sequence[Origin] = ()) -> None:
        self.task, self.n_classes = task, n_classes
        self.numbers, self.nominal = list[int](), dict[tuple[str, ...], list[int]]()
        for j, of in enumerate(origins):
            if of.part == "code" or (of.value and of.part not in {"hour", "weekday"}):
                part = "" if of.part == "code" else of.part
                self.nominal.setdefault((of.space, of.column, part), []).append(j)
            elif not of.value and of.part != "effect":
                self.numbers.append(j)
        self.categories: list[Doubles] = []
        self.rows: list[Floats] = []
        self.labels = [np.zeros(0, np.float32)]
        self.seen, self.due = 0, FIRST
        self.trees: Any = None

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
        if self.trees is None:
            common = self._common(np.concatenate(self.labels))
            return np.repeat(common[None], len(examples), axis=0)
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

    def _said(self, trees: Any, examples: Floats) -> Floats | Doubles:
        """Return what the trees say: numbers, log odds of two classes, or probabilities."""
        rows = self._table(examples)
        said = np.asarray(trees.predict(rows, raw_score=not self.n_classes))
        return said if self.n_classes else said.astype(np.float32)

    def _categories(self, rows: Floats) -> list[Doubles]:
        """Return each nominal column as numbers that differ between texts; 0 where it has none."""
        every = self.nominal.values()
        return [rows[:, own].astype(np.float64) @ (2.0 + np.arange(len(own))) for own in every]

    def _table(self, rows: Floats) -> Floats | Doubles:
        """Return what trees are fitted to: numbers, then places of categories; -1 is unknown."""
        if not self.numbers and not self.nominal:
            return rows
        columns = [rows[:, self.numbers]]
        for known, found in zip(self.categories, self._categories(rows), strict=True):
            place = np.minimum(np.searchsorted(known, found), len(known) - 1)
            columns.append(np.where(known[place] == found, place, -1.0)[:, None])
        return np.hstack(columns)

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
            import lightgbm

            self.categories = [np.unique(found) for found in self._categories(rows)]
            nominal = [len(self.numbers) + k for k in range(len(self.nominal))]
            data = lightgbm.Dataset(self._table(rows), labels, categorical_feature=nominal)
            self.trees = lightgbm.train({**SETTINGS, **more}, data)
