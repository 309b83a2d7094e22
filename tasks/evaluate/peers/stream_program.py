"""Runs inside a peer's environment: ``python stream_program.py SYSTEM LEARNER``, over its pipes.

It imports nothing of Leaseboard. The first line that it reads is the order as JSON: seed, task,
classes, features and which of them are numbers of categories. Then it reads an example, writes
its forecast, reads the label and learns it, and so on: a label is not sent before the forecast
has come. Examples and labels are float32, forecasts float64. When no example comes any more it
writes a line of JSON: what forecasting and learning took, and the memory of its process.
"""

from __future__ import annotations

import json
import math
import os
import resource
import struct
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Literal

Row = dict[str, float]

LEAST = 1e-15
"""The least chance whose logarithm is told."""

RATES = 1e-5, 1e-4, 1e-3, 1e-2
"""The learning rates that a bandit chooses from for numbers, those of the documentation."""

RATES_OF_CLASSES = 1e-4, 1e-3, 1e-2, 1e-1
"""Those for classes: a logistic loss bears a larger step than a squared one."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a learner is made for; of ``classes`` there are three or more."""

    task: Literal["regression", "binary", "classes"]
    seed: int
    n_classes: int
    names: tuple[str, ...]
    nominal: tuple[str, ...]


def scaled(asked: Asked, *, sparse: bool = False) -> Any:
    """Numbers behind ``StandardScaler``, categories behind ``OneHotEncoder``.

    River's documentation puts the scaler before whatever descends a gradient and before the
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


def linear(asked: Asked, *, clipped: bool = True) -> Any:
    """Linear, logistic or one-against-the-rest logistic regression, otherwise at its defaults.

    Features are scaled; the target of a regression is too, as the page of
    ``TargetStandardScaler`` shows, so that the step fits whatever the unit is. The gradient of a
    squared loss is cut off at 1, an option of the class: a feature that hardly varied so far is
    scaled to a huge number when it does, and without that most of our streams throw it out for
    good.
    """
    from river import linear_model, multiclass, preprocessing

    features = scaled(asked, sparse=True)
    if asked.task == "regression":
        limit = {"clip_gradient": 1.0} if clipped else {}
        model = linear_model.LinearRegression(**limit)
        return features | preprocessing.TargetStandardScaler(model)
    logistic = linear_model.LogisticRegression()
    binary = asked.task == "binary"
    return features | (logistic if binary else multiclass.OneVsRestClassifier(logistic))


def linear_plain(asked: Asked) -> Any:
    """`linear` with scalers and nothing else, as the documentation has it: a warning."""
    return linear(asked, clipped=False)


def hat(asked: Asked) -> Any:
    """Hoeffding adaptive tree at its defaults, scaled for numbers, as River's benchmark has it.

    A tree of classes splits on any scale, and is told which features are categories; the leaves
    of one of numbers hold linear models, which need a scale.
    """
    from river import tree

    if asked.task == "regression":
        return scaled(asked) | tree.HoeffdingAdaptiveTreeRegressor(seed=asked.seed)
    return tree.HoeffdingAdaptiveTreeClassifier(
        nominal_attributes=list(asked.nominal), seed=asked.seed
    )


def arf(asked: Asked) -> Any:
    """Adaptive random forest at its defaults, ten trees, scaled for numbers; see `hat`."""
    from river import forest

    if asked.task == "regression":
        return scaled(asked) | forest.ARFRegressor(seed=asked.seed)
    return forest.ARFClassifier(nominal_attributes=list(asked.nominal), seed=asked.seed)


def srp(asked: Asked) -> Any:
    """Streaming random patches at its defaults, ten Hoeffding trees, scaled for numbers.

    The tree of classes is the default one that is told which features are categories.
    """
    from river import ensemble, tree

    if asked.task == "regression":
        return scaled(asked) | ensemble.SRPRegressor(seed=asked.seed)
    grown = tree.HoeffdingTreeClassifier(
        grace_period=50, delta=0.01, nominal_attributes=list(asked.nominal)
    )
    return ensemble.SRPClassifier(model=grown, seed=asked.seed)


def amrules(asked: Asked) -> Any:
    """Adaptive model rules, scaled, with the settings of the page of ``AMRules``.

    Its own page tests rules every 50 examples at delta = 0.01 with ADWIN against drift; the
    defaults of the class, 200 and 1e-7, hardly grow a rule in ten thousand examples.
    """
    from river import drift, rules

    found = rules.AMRules(delta=0.01, n_min=50, drift_detector=drift.ADWIN())
    return scaled(asked) | found


def alma(asked: Asked) -> Any:
    """ALMA at its defaults on scaled features, as its page shows: the best of River on Elec2."""
    from river import linear_model

    return scaled(asked, sparse=True) | linear_model.ALMAClassifier()


def bandit(asked: Asked) -> Any:
    """River's choice among models by a bandit: linear ones that differ in their learning rate.

    As the pages of ``BanditRegressor`` and ``BanditClassifier`` show it: epsilon-greedy with a
    decay and a hundred examples for each, behind a scaler; numbers by the absolute error, classes
    by the accuracy. The target is scaled. Larger steps with a clipped gradient were tried on
    eight of the mirror's regressions and were worse on five of them: it never forgets how a
    model began.
    """
    from river import bandit as bandits
    from river import linear_model, metrics, model_selection, optim, preprocessing

    policy = bandits.EpsilonGreedy(epsilon=0.1, decay=0.001, burn_in=100, seed=asked.seed)
    features = scaled(asked, sparse=True)
    if asked.task == "regression":
        numbers = [linear_model.LinearRegression(optimizer=optim.SGD(rate)) for rate in RATES]
        chosen = model_selection.BanditRegressor(numbers, metric=metrics.MAE(), policy=policy)
        return features | preprocessing.TargetStandardScaler(chosen)
    kind = linear_model.LogisticRegression
    if asked.task == "classes":
        kind = linear_model.SoftmaxRegression
    models = [kind(optimizer=optim.SGD(rate)) for rate in RATES_OF_CLASSES]
    return features | model_selection.BanditClassifier(
        models, metric=metrics.Accuracy(), policy=policy
    )


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


LEARNERS: dict[str, dict[str, Callable[[Asked], Any]]] = {
    "river": {
        "linear": linear,
        "linear-plain": linear_plain,
        "hat": hat,
        "arf": arf,
        "srp": srp,
        "amrules": amrules,
        "alma": alma,
        "bandit": bandit,
    },
    "samlb": {
        "asml": asml,
        "evolutionary": evolutionary,
        "autoclass": autoclass,
        "oaml": oaml,
        "chacha": samlb_chacha,
    },
}
"""Of each peer by name."""


class BetweenPipes:
    """A learner between its pipes, and the clocks of what it does."""

    def __init__(self, model: Any, asked: Asked) -> None:
        self._model = model
        self._asked = asked
        self._row = struct.Struct(f"<{len(asked.names)}f")
        self.cpu_seconds = 0.0
        self.wall_seconds = 0.0

    def play(self, orders: BinaryIO, answers: BinaryIO) -> None:
        """Forecast and learn until no example comes."""
        asked, label = self._asked, struct.Struct("<f")
        told = struct.Struct(f"<{asked.n_classes if asked.task == 'classes' else 1}d")
        nominal = [(name, asked.names.index(name)) for name in asked.nominal]
        while len(content := orders.read(self._row.size)) == self._row.size:
            cpu, wall = time.process_time(), time.perf_counter()
            values = self._row.unpack(content)
            example = dict(zip(asked.names, values, strict=True))
            for name, place in nominal:
                example[name] = int(values[place])
            forecast = told.pack(*self._forecast(example))
            self._count(cpu, wall)
            answers.write(forecast)
            answers.flush()
            (given,) = label.unpack(orders.read(label.size))
            cpu, wall = time.process_time(), time.perf_counter()
            self._learn(example, given)
            self._count(cpu, wall)

    def _count(self, cpu: float, wall: float) -> None:
        self.cpu_seconds += time.process_time() - cpu
        self.wall_seconds += time.perf_counter() - wall

    def _forecast(self, example: Row) -> list[float]:
        """A number; for two classes log odds; for more a chance for each."""
        if self._asked.task == "regression":
            return [float(self._model.predict_one(example))]
        chances = self._model.predict_proba_one(example)
        if self._asked.task == "binary":
            yes, no = chances.get(True, 0.0), chances.get(False, 0.0)
            return [math.log(max(yes, LEAST)) - math.log(max(no, LEAST))]
        found = [float(chances.get(number, 0.0)) for number in range(self._asked.n_classes)]
        total = sum(found)
        return [each / total for each in found] if total > 1 else found

    def _learn(self, example: Row, label: float) -> None:
        if self._asked.task == "regression":
            self._model.learn_one(example, label)
        elif self._asked.task == "binary":
            self._model.learn_one(example, label > 0)
        else:
            self._model.learn_one(example, int(label))


def main(system: str, learner: str) -> None:
    """Take the order, play, tell what it took."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no answer
    orders = sys.stdin.buffer
    order = json.loads(orders.readline())
    names = tuple(f"x{place}" for place in range(order["n_features"]))
    nominal = tuple(names[place] for place in order["nominal"])
    asked = Asked(order["task"], order["seed"], order["n_classes"], names, nominal)
    played = BetweenPipes(LEARNERS[system][learner](asked), asked)
    played.play(orders, answers)
    took = {"cpu_seconds": played.cpu_seconds, "wall_seconds": played.wall_seconds}
    answers.write(json.dumps(took | {"peak_memory_mb": peak_memory_mb()}).encode() + b"\n")
    answers.flush()


def peak_memory_mb() -> float:
    """The most memory that this process held at once, in millions of bytes.

    Linux counts what its parent held among what `resource` tells of a child, so it is asked for
    the process itself where there is a ``/proc``.
    """
    status = Path("/proc/self/status")
    if not status.exists():
        return float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss) / 1e6
    lines = status.read_text(encoding="utf-8").splitlines()
    peak = next(line for line in lines if line.startswith("VmHWM:"))
    return int(peak.split()[1]) * 1024 / 1e6


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
