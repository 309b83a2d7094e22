"""Probes: learners trained on samples, each in a process of its own, run once and then replayed.

`Samples` are of the array whose prefixes are samples: training rows, then test rows.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from time import perf_counter, process_time
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leaseboard.algorithms.environments.samples import KnownVerdicts, Probe, Probes
from leaseboard.algorithms.errors import DataError, SkipError
from leaseboard.algorithms.events import Parameters
from leaseboard.algorithms.seeds import generator
from leaseboard.tasks.fetch.dataset import Dataset
from leaseboard.tasks.machine.versions import recorded_key
from leaseboard.tasks.preprocess.encoders import UnitRangeEncoder, labels_of, refuse_text
from leaseboard.tasks.preprocess.encoding import naming
from leaseboard.tasks.preprocess.splits import Division, division
from leaseboard.tasks.processes.child import call, call_here, of_one_thread
from leaseboard.tasks.store.database import Record, Store

Rows = NDArray[np.int32]


@dataclass(frozen=True, kw_only=True, eq=False)
class Samples:
    """Training rows, then test rows, in random order: every sample of an array is a view.

    A sample may have no row of a rare class. A model is then fitted on the first training row of
    that class, too, so that it knows every class from the first sample on. Such a row is not
    counted: the sample remains a prefix of a random order, as the bounds need it, and samples
    with these rows are nested as samples are.
    """

    features: Any
    """Shape (n_rows, n_features): an array in C order, a sparse matrix, a DataFrame."""
    labels: NDArray[Any]
    """Classes, of a dataset their codes, shape (n_rows,)."""
    train_rows: int

    def train(self, rows: int) -> tuple[Any, NDArray[Any]]:
        """Return S_tr: the first `rows` training rows, and their labels."""
        return self.at(slice(rows))

    def test(self, rows: int) -> tuple[Any, NDArray[Any]]:
        """Return S_te: the first `rows` test rows, and their labels."""
        return self.at(slice(self.train_rows, self.train_rows + rows))

    def fitted_on(self, rows: int) -> tuple[Any, NDArray[Any]]:
        """Return S_tr, and the first row of each class that it does not have."""
        added = self.firsts[self.firsts >= rows]
        return (
            self.at(np.concatenate([np.arange(rows), added])) if len(added) else self.train(rows)
        )

    def at(self, rows: Any) -> tuple[Any, NDArray[Any]]:
        """Return some rows, by a slice or their numbers, and their labels."""
        return getattr(self.features, "iloc", self.features)[rows], self.labels[rows]

    @cached_property
    def firsts(self) -> NDArray[np.intp]:
        """Numbers of the first training row of each class, ascending."""
        return np.flatnonzero(~pd.Series(self.labels[: self.train_rows]).duplicated().to_numpy())


@dataclass(frozen=True, kw_only=True)
class Shuffled:
    """Rows of a dataset in a random order: first those to train on, then those to test on.

    The order and the array are made at their first use: a run whose probes are all stored has
    none.
    """

    digest: str
    labels: NDArray[Any]
    """Of all rows, see `Samples`."""
    seed: int
    test_fraction: float
    """Share of the rows to test on; at least one row is."""
    encode: Callable[[Rows, Rows], Any]
    """Returns the features of the rows of its second argument, trained on those of the first."""
    rule: Division = field(default_factory=Division)
    """How rows are divided, where that is not random."""
    made: Samples | None = None
    """The samples, if they exist already."""

    @property
    def train_rows(self) -> int:
        """Number of rows to train on."""
        return len(self.labels) - self.test_rows

    @cached_property
    def test_rows(self) -> int:
        """Number of rows to test on."""
        if self.rule.column:
            return int(self._parts.sum())
        return max(1, round(len(self.labels) * self.test_fraction))

    @cached_property
    def _parts(self) -> NDArray[np.intp]:
        """1 for each row to test on, else 0, where that is not random."""
        return self.rule.parts((1 - self.test_fraction, self.test_fraction), self.seed)

    @property
    def identity(self) -> str:
        """Name of the rows in the keys of probes."""
        return f"{self.digest}/{self.seed}/{self.test_fraction:g}"

    def rows(self) -> tuple[Rows, Rows]:
        """Return the numbers of the rows to train on and to test on, each in random order."""
        order = np.arange(len(self.labels), dtype=np.int32)
        generator(self.seed, "samples", "order").shuffle(order)
        if self.rule.column:
            order = order[np.argsort(self._parts[order], kind="stable")]
        return order[: self.train_rows], order[self.train_rows :]

    @cached_property
    def samples(self) -> Samples:
        """Rows, made at the first use."""
        if self.made is not None:
            return self.made
        train, test = self.rows()
        order = np.concatenate([train, test])
        features, labels = self.encode(train, order), self.labels[order]
        return Samples(features=features, labels=labels, train_rows=len(train))


def split(
    dataset: Dataset, seed: int, test_fraction: float, made: Samples | None = None
) -> Shuffled:
    """Divide `dataset` into training and test rows, each in random order.

    `made`: the samples of the same dataset, seed and fraction, if they exist already.

    Raises DataError: a regression, a text column, or too few rows; and when the array is made, an
    infinite value.
    """
    if dataset.task != "classification":
        raise DataError(
            f"{dataset.reference}: configurations are selected by accuracy, which needs classes:"
            " binarize the numeric target with ?threshold=10, or make each value a class with"
            " ?task=classification"
        )
    with naming(dataset.reference):
        refuse_text(dataset)

    def encode(train: Rows, rows: Rows) -> Any:
        with naming(dataset.reference):
            encoder = UnitRangeEncoder().fit(dataset.features, rows=train)
        return encoder.transform(dataset.features, rows=rows)

    divided = Shuffled(
        digest=f"{dataset.digest}/{dataset.split}", labels=labels_of(dataset), seed=seed,
        test_fraction=test_fraction, encode=encode, rule=division(dataset), made=made,
    )  # fmt: skip
    if divided.train_rows < 2:
        raise DataError(f"{dataset.reference}: {len(divided.labels)} rows are too few to split")
    return divided


_PREDICT_ROWS = 100_000

Build = Callable[[Parameters], Any]
"""Makes an untrained model of a configuration; the same one at every call."""


def _measured(model: Any, samples: Samples, rows: int, test_rows: int) -> Record:
    """Return what a probe counts, and the cost of each part."""
    trained, tested = samples.fitted_on(rows), samples.test(test_rows)
    model = able(model, trained[1])
    found: Record = {}
    _timed(found, "fit", lambda: model.fit(*trained))
    right = _timed(found, "test", lambda: _verdicts(model, *tested))
    found["test_correct"] = int(right.sum())
    found["half_test_correct"] = int(right[: test_rows // 2].sum())
    if rows == samples.train_rows:  # at full size the training accuracy is not asked for
        return found
    features, labels = samples.train(rows)
    right = _timed(found, "train", lambda: _verdicts(model, features, labels))
    found["train_correct"] = int(right.sum())
    found["half_correct"] = int(right[: rows // 2].sum())
    found["common"] = Counter(labels.tolist()).most_common(1)[0][1]
    return found


@dataclass(eq=False)
class RecordedProbes(Probes):
    """Probes of learners on samples of a split, each run only if it is not recorded.

    - `store`: keeps the probes; without one they are run again by the next.
    - `probe_seconds`: CPU seconds after which a probe is given up; None runs probes in this
      process, without a limit.

    Notes
    -----
    A recorded failure is replayed like a success: the same fit crashes again. Running out of
    memory, and being killed, say more about the machine than about the probe, so they are never
    recorded.
    """

    split: Shuffled
    configurations: Sequence[Parameters]
    build: Build
    store: Store | None
    _: KW_ONLY
    probe_seconds: float | None = 3600.0

    def __post_init__(self) -> None:
        self.train_rows, self.test_rows = self.split.train_rows, self.split.test_rows
        self._seen: dict[tuple[int, int, int], Probe] = {}

    def key(self, configuration: int, rows: int, test_rows: int) -> dict[str, Any]:
        """Return the key of a probe: all that its accuracies and costs depend on."""
        return recorded_key(
            configuration=dict(self.configurations[configuration]),
            samples=self.split.identity,
            limit=self.probe_seconds,
            rows=rows,
            test_rows=test_rows,
        )

    def measure(self, configuration: int, rows: int, test_rows: int) -> Probe:
        """Return the recorded probe, or a new one, recorded.

        It is fitted on a row of each class that the sample does not have, too.
        """
        asked = configuration, rows, test_rows
        if asked not in self._seen:
            if self.store is None:
                record, _ = self._run(*asked)
            else:
                records = self.store.records(self.key(*asked))
                record, _ = records.once(lambda: self._run(*asked))
            self._seen[asked] = Probe(**record)
        return self._seen[asked]

    def _run(self, configuration: int, rows: int, test_rows: int) -> tuple[Record, bool]:
        """Return the probe, and whether it would end so again."""
        parameters, samples = self.configurations[configuration], self.split.samples
        counts = {"rows": rows, "test_rows": test_rows}
        _ = samples.firsts  # which every fork inherits

        def measure() -> Record:
            return _measured(self.build(parameters), samples, rows, test_rows)

        if self.probe_seconds is None:
            called = call_here(measure)
        else:
            with suppress(Exception):  # the fork, which inherits its library, says why
                self.build(parameters)
            called = call(measure, of_one_thread(self.probe_seconds))
        ending = called.ending
        if ending.status == "ok":
            return counts | called.value, True
        if ending.status == "skipped":
            raise SkipError(ending.reason)
        cost = {"fit_cpu": called.cpu_seconds, "fit_wall": called.wall_seconds}
        why = {"status": ending.status, "reason": ending.reason}
        return counts | cost | why, ending.lasting


def able(model: Any, labels: NDArray[Any]) -> Any:
    """Return `model`, or the constant if `labels` are of a single class.

    Such a sample has one best model, the constant, and many learners refuse it.
    """
    if (labels != labels[0]).any():
        return model
    from sklearn.dummy import DummyClassifier

    return DummyClassifier(strategy="most_frequent")


def _verdicts(model: Any, features: Any, labels: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which rows `model` classifies correctly, predicted in blocks to bound the memory."""
    right = np.empty(len(labels), dtype=np.bool_)
    by_place = getattr(features, "iloc", features)
    for start in range(0, len(labels), _PREDICT_ROWS):
        block = slice(start, start + _PREDICT_ROWS)
        predicted = np.asarray(model.predict(by_place[block]))
        if predicted.shape != labels[block].shape:  # which == would broadcast
            raise ValueError(f"{predicted.shape} is predicted for labels {labels[block].shape}")
        right[block] = predicted == labels[block]
    return right


def _timed(found: Record, part: str, work: Callable[[], Any]) -> Any:
    """Return what `work` returns; what a part of a probe cost is put into `found`."""
    cpu, wall = process_time(), perf_counter()
    made = work()
    found[f"{part}_cpu"], found[f"{part}_wall"] = process_time() - cpu, perf_counter() - wall
    return made


SECONDS_PER_ROW = 1e-3
"""Cost of a recorded verdict: nothing is trained, so it is the same on every machine."""


class RecordedVerdicts(KnownVerdicts):
    """Probes whose data say which classifier is right on which row.

    A classifier that is fixed beforehand learns nothing from any sample, so fitness and
    exploitiveness hold with equality: bounds have no slack but their own, and their coverage can
    be counted.

    - `table`, shape (n_rows, n_classifiers): 1 where the classifier is right, else 0.
    - `seed`: of the rows' order: the first of them are training rows.
    """

    def __init__(self, table: pd.DataFrame, seed: int, test_fraction: float) -> None:
        for name in table:
            if not table[name].isin([0, 1]).all():
                raise DataError(
                    f"column {name!r} is not of verdicts: they are 0 or 1 in every row"
                )
        self.configurations = [{"learner": "recorded", "column": str(name)} for name in table]
        train_rows = len(table) - max(1, round(len(table) * test_fraction))
        if train_rows < 2:
            raise DataError(f"{len(table)} rows of verdicts are too few to split: add rows")
        order = generator(seed, "verdicts", "order").permutation(len(table))
        right = table.to_numpy(dtype="int64")[order].T
        super().__init__(right, train_rows, [SECONDS_PER_ROW] * len(right))
