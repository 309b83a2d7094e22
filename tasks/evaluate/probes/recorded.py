"""Probes: fits that are run once, each in a process of its own, and then replayed."""

import math
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import KW_ONLY, asdict, dataclass, replace
from time import perf_counter, process_time
from typing import Any, Protocol

import numpy as np
import threadpoolctl
from numpy.typing import NDArray

from leaseboard.algorithms.environments.folds import FoldProbe, Folds
from leaseboard.algorithms.environments.samples import Probes
from leaseboard.algorithms.environments.selecting import Probe
from leaseboard.algorithms.errors import SkipError
from leaseboard.algorithms.events import Parameters
from leaseboard.tasks.evaluate.probes.sample_rows import Samples, Shuffled, between
from leaseboard.tasks.keys.versions import recorded_key
from leaseboard.tasks.processes.forks import call, call_here, over_cpu
from leaseboard.tasks.store.recorded import Record, Records, Store

_PREDICT_ROWS = 100_000


class Classifier(Protocol):
    """Classifier as scikit-learn has it."""

    def fit(self, X: Any, y: Any) -> Any:
        """Train."""

    def predict(self, X: Any) -> Any:
        """Return the classes of rows."""


Build = Callable[[Parameters], Classifier]
"""From a configuration to an untrained model; the same model at every call."""


@dataclass(frozen=True, slots=True)
class OnPrefix:
    """Fit on the first `rows` training rows, tested on the first `test_rows` test rows."""

    rows: int
    test_rows: int


@dataclass(frozen=True, slots=True)
class OnFolds:
    """Fit on the first `rows` training rows but those of a fold, tested on that fold.

    `verdicts`: keep which rows it classifies correctly.
    """

    rows: int
    folds: int
    fold: int
    verdicts: bool


@dataclass(eq=False)
class RecordedFits:
    """Learners on a split, of which a probe is run only if it is not recorded.

    - `build`: from a configuration to an untrained model.
    - `store`: keeps the probes; without one they are run again by the next.
    - `code`: the module that makes the samples and the models.
    - `classes`: learners from anywhere, as ``package.module:Class``.
    - `probe_seconds`: CPU seconds after which a probe is given up; None runs probes in this
      process, without a limit.
    - `prepare`: called before a probe is run, to make what its subprocess needs.

    Notes
    -----
    A recorded failure is replayed like a success: the same fit crashes again. A time-out is
    replayed only for limits that are no longer than the one it met, and a recorded success that
    took longer than `probe_seconds` counts as a time-out, as it would be if it were run now.
    Running out of memory, and being killed, say more about the machine than about the probe, so
    they are never recorded.
    """

    split: Shuffled
    configurations: Sequence[Parameters]
    build: Build
    store: Store | None
    _: KW_ONLY
    code: str
    classes: Sequence[str] = ()
    probe_seconds: float | None = 3600.0
    prepare: Callable[[], object] = lambda: None

    def __post_init__(self) -> None:
        self.train_rows, self.test_rows = self.split.train_rows, self.split.test_rows
        self._limit = math.inf if self.probe_seconds is None else self.probe_seconds
        self._seen: dict[tuple[int, OnPrefix | OnFolds], Any] = {}
        self._dealt: dict[tuple[int, int], NDArray[np.intp]] = {}

    def key(self, configuration: int, asked: OnPrefix | OnFolds) -> dict[str, Any]:
        """Return the key of a probe: all that its accuracies and costs depend on."""
        return recorded_key(
            code=(__name__, self.code),
            libraries=("lightgbm",),
            classes=self.classes,
            configuration=dict(self.configurations[configuration]),
            samples=self.split.identity,
            **asdict(asked),
        )

    def _known(self, configuration: int, asked: OnPrefix | OnFolds) -> Any:
        """Return the recorded probe, or a new one, recorded."""
        if (configuration, asked) not in self._seen:
            self._seen[configuration, asked] = self._recorded(configuration, asked)
        return self._seen[configuration, asked]

    def _recorded(self, configuration: int, asked: OnPrefix | OnFolds) -> Probe:
        if self.store is None:
            return self._limited(self._run(configuration, asked)[0])
        records = self.store.records(self.key(configuration, asked))
        records.refresh()
        unrecorded: list[Probe] = []

        def run(_number: int) -> Record | None:
            probe, lasting = self._run(configuration, asked)
            if not lasting:
                unrecorded.append(probe)
                return None
            return asdict(probe) | {"limit": self._limit}

        while (usable := self._usable(records, asked)) is None:
            records.extend(run)
            if unrecorded:
                return unrecorded[0]
        return usable

    def _usable(self, records: Records, asked: OnPrefix | OnFolds) -> Probe | None:
        """Return the newest attempt, if it answers for our limit."""
        if not len(records):
            return None
        record = dict(records[len(records) - 1])
        limit = record.pop("limit")
        probe = (Probe if isinstance(asked, OnPrefix) else FoldProbe)(**record)
        if probe.status == "timeout":
            return probe if limit >= self._limit else None
        return self._limited(probe)

    def _limited(self, probe: Probe) -> Probe:
        """Return a time-out for a success that took too long: the kernel counts whole seconds."""
        if probe.status != "ok" or probe.cpu() <= self._limit:
            return probe
        return type(probe)(
            rows=probe.rows,
            test_rows=probe.test_rows,
            fit_cpu=self._limit,
            fit_wall=probe.wall() * self._limit / probe.cpu(),
            status="timeout",
            reason=over_cpu(self._limit).reason,
        )

    def _run(self, configuration: int, asked: OnPrefix | OnFolds) -> tuple[Probe, bool]:
        """Return the probe, and whether it would end so again."""
        parameters = self.configurations[configuration]
        # The forked process inherits what is made here.
        samples, (trained, tested) = self.split.samples, self._fold(asked)
        self.prepare()
        if isinstance(asked, OnPrefix):
            _ = samples.firsts  # which would be made again in every process
            blank = Probe(rows=asked.rows, test_rows=asked.test_rows)
        else:
            blank = FoldProbe(rows=len(trained), test_rows=len(tested))

        def run() -> dict[str, Any]:
            model = self.build(parameters)
            if isinstance(asked, OnPrefix):
                return asdict(fit_and_test(model, samples, asked.rows, asked.test_rows))
            features, labels = samples.train(asked.rows)
            rows = trained, tested
            return asdict(fit_and_test_fold(model, features, labels, rows, asked.verdicts))

        limited = math.isfinite(self._limit)
        called = call(run, self._limit) if limited else call_here(run)
        if called.ending.status == "ok":
            return type(blank)(**called.value), True
        if called.ending.status == "skipped":
            raise SkipError(called.ending.reason)
        failed = replace(
            blank,
            fit_cpu=called.cpu_seconds,
            fit_wall=called.wall_seconds,
            status=called.ending.status,
            reason=called.ending.reason,
        )
        return failed, called.ending.lasting

    def _fold(self, asked: OnPrefix | OnFolds) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the rows that a fold is trained and tested on.

        Those of each class are dealt out to folds in turn, unless time or groups divide them.
        """
        if isinstance(asked, OnPrefix):
            return (np.zeros(0, dtype=np.int64),) * 2
        rule = self.split.samples.division
        if (asked.rows, asked.folds) not in self._dealt:
            _, labels = self.split.samples.train(asked.rows)
            _, codes = np.unique(labels, return_inverse=True)
            fold = np.empty(len(codes), dtype=np.intp)
            fold[np.argsort(codes, kind="stable")] = np.arange(len(codes)) % asked.folds
            if rule.column:
                fold = rule.of(slice(asked.rows)).blocks(asked.folds)
            self._dealt[asked.rows, asked.folds] = fold
        return rule.fold(self._dealt[asked.rows, asked.folds], asked.fold)


class RecordedProbes(RecordedFits, Probes):
    """Probes of learners on nested samples, see `RecordedFits`."""

    def measure(self, configuration: int, rows: int, test_rows: int) -> Probe:
        """Return the probe of a sample, recorded."""
        return self._known(configuration, OnPrefix(rows, test_rows))

    def measure_fold(self, configuration: int, rows: int, fold: int, folds: int) -> FoldProbe:
        """Return that of one fold of the first `rows` training rows, without any test row."""
        # Counts alone: a large sample has many rows.
        return self._known(configuration, OnFolds(rows, folds, fold, verdicts=False))


@dataclass(eq=False, kw_only=True)
class RecordedFolds(RecordedFits, Folds):
    """Probes of learners on all folds but one, see `RecordedFits`.

    - `folds`: how many; each has each class in its share, give or take one row.
    - `n_jobs`: how many may be measured at once, in processes of their own.
    """

    folds: int
    n_jobs: int = 1

    def measure(self, configuration: int, fold: int) -> FoldProbe:
        """Return the probe of a fold, recorded."""
        return self._known(configuration, self._asked(fold))

    def held_out(self, configuration: int) -> Probe | None:
        """Return the probe on all folds; None if the split holds no rows out."""
        asked = OnPrefix(self.train_rows, self.test_rows)
        return self._known(configuration, asked) if self.test_rows else None

    def prefetch(self, wanted: Sequence[tuple[int, int]]) -> None:
        """Measure those that were not yet, `n_jobs` at once."""
        missing = [(configuration, self._asked(fold)) for configuration, fold in wanted]
        missing = [asked for asked in missing if asked not in self._seen]
        if self.n_jobs < 2 or len(missing) < 2:
            return
        self._fold(missing[0][1])
        # Each fork sets and resets it for the whole process, so it is set here once.
        with (
            warnings.catch_warnings(),
            threadpoolctl.threadpool_limits(1),
            ThreadPoolExecutor(self.n_jobs) as pool,
        ):
            try:
                list(pool.map(lambda asked: self._known(*asked), missing))
            except BaseException:  # an interrupt too ends those that have not begun
                pool.shutdown(cancel_futures=True)
                raise

    def _asked(self, fold: int) -> OnFolds:
        return OnFolds(self.train_rows, self.folds, fold, verdicts=True)


def fit_and_test(model: Classifier, samples: Samples, rows: int, test_rows: int) -> Probe:
    """Return the probe of a model trained on a prefix and tested, with the cost of each part.

    It is fitted on a row of each class that the prefix does not have, too.
    """
    features, labels = samples.train(rows)
    model, tested, costs = _tested(model, *samples.fitted_on(rows), *samples.test(test_rows))
    found = Probe(
        rows=rows,
        test_rows=test_rows,
        test_correct=int(tested.sum()),
        half_test_correct=int(tested[: test_rows // 2].sum()),
        **costs,
    )
    if rows == samples.train_rows:  # at full size the training accuracy is not asked for
        return found
    right, train_cpu, train_wall = _timed(lambda: verdicts(model, features, labels))
    return replace(
        found,
        train_correct=int(right.sum()),
        half_correct=int(right[: rows // 2].sum()),
        common=Counter(labels.tolist()).most_common(1)[0][1],
        train_cpu=train_cpu,
        train_wall=train_wall,
    )


def fit_and_test_fold(
    model: Classifier, features: Any, labels: NDArray[Any], fold: tuple[Any, Any], keep: bool
) -> FoldProbe:
    """Return the probe of a model trained on the first rows of `fold`, tested on the others."""
    by_place = getattr(features, "iloc", features)
    parts = [(by_place[rows], labels[rows]) for rows in fold]
    _, right, costs = _tested(model, *parts[0], *parts[1])
    return FoldProbe(
        rows=len(parts[0][1]),
        test_rows=len(right),
        test_correct=int(right.sum()),
        right="".join("01"[each] for each in right.astype(int)) if keep else "",
        **costs,
    )


def _tested(
    model: Classifier, features: Any, labels: NDArray[Any], test_x: Any, test_y: NDArray[Any]
) -> tuple[Classifier, NDArray[np.bool_], dict[str, Any]]:
    """Return the trained model, its verdicts on the test rows, and the cost of both."""
    model = able(model, labels)
    _, fit_cpu, fit_wall = _timed(lambda: model.fit(features, labels))
    right, test_cpu, test_wall = _timed(lambda: verdicts(model, test_x, test_y))
    costs = {"fit_cpu": fit_cpu, "fit_wall": fit_wall}
    return model, right, costs | {"test_cpu": test_cpu, "test_wall": test_wall}


def able(model: Classifier, labels: NDArray[Any]) -> Classifier:
    """Return `model`, or the constant if `labels` are of a single class.

    Such a sample has one best model, the constant, and many learners refuse it.
    """
    if (labels != labels[0]).any():
        return model
    from sklearn.dummy import DummyClassifier

    return DummyClassifier(strategy="most_frequent")


def verdicts(model: Classifier, features: Any, labels: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which rows `model` classifies correctly, predicted in blocks to bound the memory."""
    right = np.empty(len(labels), dtype=np.bool_)
    for start in range(0, len(labels), _PREDICT_ROWS):
        end = min(start + _PREDICT_ROWS, len(labels))
        predicted = np.asarray(model.predict(between(features, start, end)))
        block = labels[start:end]
        if predicted.shape != block.shape:  # which == would broadcast
            raise ValueError(f"{predicted.shape} is predicted for labels {block.shape}")
        right[start:end] = predicted == block
    return right


def _timed(work: Callable[[], Any]) -> tuple[Any, float, float]:
    """Return what `work` returns, and its CPU and wall seconds."""
    cpu, wall = process_time(), perf_counter()
    return work(), process_time() - cpu, perf_counter() - wall
