"""Probes: fits that are run once, each in a process of its own, and then replayed."""

import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import KW_ONLY, asdict, dataclass
from time import perf_counter, process_time
from typing import Any, ClassVar, Protocol

import numpy as np
import threadpoolctl
from numpy.typing import NDArray

from leaseboard.algorithms.environments.folds import FoldProbe, Folds
from leaseboard.algorithms.environments.samples import Probes
from leaseboard.algorithms.environments.selecting import Probe
from leaseboard.algorithms.errors import SkipError
from leaseboard.algorithms.events import Parameters
from leaseboard.tasks.evaluate.probes.sample_rows import Samples, Shuffled
from leaseboard.tasks.keys.versions import recorded_key
from leaseboard.tasks.processes.child import call, call_here
from leaseboard.tasks.processes.limits import of_one_thread
from leaseboard.tasks.store.recorded import Record, Store

_PREDICT_ROWS = 100_000

Labelled = tuple[Any, NDArray[Any]]
"""Rows, and their labels."""


class Classifier(Protocol):
    """Classifier as scikit-learn has it."""

    def fit(self, X: Any, y: Any) -> Any:
        """Train."""

    def predict(self, X: Any) -> Any:
        """Return the classes of rows."""


class Choices(Protocol):
    """Configurations, and what makes models of them; their module is part of a probe's key."""

    @property
    def configurations(self) -> Sequence[Parameters]:
        """All, by number."""

    @property
    def classes(self) -> Sequence[str]:
        """Learners from anywhere, as ``package.module:Class``."""

    def build(self, parameters: Parameters) -> Classifier:
        """Return an untrained model; the same one at every call."""


@dataclass(frozen=True, slots=True)
class OnPrefix:
    """Fit on the first `rows` training rows, tested on the first `test_rows` test rows.

    It is fitted on a row of each class that the prefix does not have, too.
    """

    kind: ClassVar[type[Probe]] = Probe

    rows: int
    test_rows: int

    def prepare(self, samples: Samples) -> Record:
        """Make what every fork inherits, and return the numbers of rows."""
        _ = samples.firsts
        return asdict(self)

    def measure(self, model: Classifier, samples: Samples) -> Record:
        """Return what the probe counts, and the cost of each part."""
        rows, test_rows = self.rows, self.test_rows
        model, tested, found = _tested(model, samples.fitted_on(rows), samples.test(test_rows))
        found["half_test_correct"] = int(tested[: test_rows // 2].sum())
        if rows == samples.train_rows:  # at full size the training accuracy is not asked for
            return found
        features, labels = samples.train(rows)
        right, train_cpu, train_wall = _timed(lambda: _verdicts(model, features, labels))
        return found | {
            "train_correct": int(right.sum()),
            "half_correct": int(right[: rows // 2].sum()),
            "common": Counter(labels.tolist()).most_common(1)[0][1],
            "train_cpu": train_cpu,
            "train_wall": train_wall,
        }


@dataclass(frozen=True, slots=True)
class OnFolds:
    """Fit on the first `rows` training rows but those of a fold, tested on that fold.

    `verdicts`: keep which rows it classifies correctly.
    """

    kind: ClassVar[type[Probe]] = FoldProbe

    rows: int
    folds: int
    fold: int
    verdicts: bool

    def prepare(self, samples: Samples) -> Record:
        """Deal the rows to folds, and return the numbers of rows."""
        trained, tested = samples.fold(self.rows, self.fold, self.folds)
        return {"rows": len(trained), "test_rows": len(tested)}

    def measure(self, model: Classifier, samples: Samples) -> Record:
        """Return what the probe counts, and the cost of each part."""
        trained, tested = map(samples.at, samples.fold(self.rows, self.fold, self.folds))
        _, right, found = _tested(model, trained, tested)
        if self.verdicts:
            found["right"] = "".join("01"[each] for each in right.astype(int))
        return found


@dataclass(eq=False)
class RecordedFits:
    """Learners on a split, of which a probe is run only if it is not recorded.

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
    candidates: Choices
    store: Store | None
    _: KW_ONLY
    probe_seconds: float | None = 3600.0

    def __post_init__(self) -> None:
        self.configurations = self.candidates.configurations
        self.train_rows, self.test_rows = self.split.train_rows, self.split.test_rows
        self._seen: dict[tuple[int, OnPrefix | OnFolds], Any] = {}

    def key(self, configuration: int, asked: OnPrefix | OnFolds) -> dict[str, Any]:
        """Return the key of a probe: all that its accuracies and costs depend on."""
        return recorded_key(
            code=(__name__, type(self.candidates).__module__, self.split.make.__module__),
            libraries=("lightgbm",),
            classes=self.candidates.classes,
            configuration=dict(self.configurations[configuration]),
            samples=self.split.identity,
            limit=self.probe_seconds,
            **asdict(asked),
        )

    def _known(self, configuration: int, asked: OnPrefix | OnFolds) -> Any:
        """Return the recorded probe, or a new one, recorded."""
        if (configuration, asked) not in self._seen:
            if self.store is None:
                record, _ = self._run(configuration, asked)
            else:
                records = self.store.records(self.key(configuration, asked))
                record, _ = records.once(lambda: self._run(configuration, asked))
            self._seen[configuration, asked] = asked.kind(**record)
        return self._seen[configuration, asked]

    def _run(self, configuration: int, asked: OnPrefix | OnFolds) -> tuple[Record, bool]:
        """Return the probe, and whether it would end so again."""
        parameters, samples = self.configurations[configuration], self.split.samples
        counts = asked.prepare(samples)

        def measure() -> Record:
            return asked.measure(self.candidates.build(parameters), samples)

        if self.probe_seconds is None:
            called = call_here(measure)
        else:
            with suppress(Exception):  # the fork, which inherits its library, says why
                self.candidates.build(parameters)
            called = call(measure, of_one_thread(self.probe_seconds))
        ending = called.ending
        if ending.status == "ok":
            return counts | called.value, True
        if ending.status == "skipped":
            raise SkipError(ending.reason)
        cost = {"fit_cpu": called.cpu_seconds, "fit_wall": called.wall_seconds}
        why = {"status": ending.status, "reason": ending.reason}
        return counts | cost | why, ending.lasting


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
        missing[0][1].prepare(self.split.samples)
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


def _tested(
    model: Classifier, trained: Labelled, tested: Labelled
) -> tuple[Classifier, NDArray[np.bool_], Record]:
    """Return the trained model, its verdicts on the test rows, and their number and cost."""
    model = able(model, trained[1])
    _, fit_cpu, fit_wall = _timed(lambda: model.fit(*trained))
    right, test_cpu, test_wall = _timed(lambda: _verdicts(model, *tested))
    found = {"fit_cpu": fit_cpu, "fit_wall": fit_wall, "test_cpu": test_cpu}
    return model, right, found | {"test_wall": test_wall, "test_correct": int(right.sum())}


def able(model: Classifier, labels: NDArray[Any]) -> Classifier:
    """Return `model`, or the constant if `labels` are of a single class.

    Such a sample has one best model, the constant, and many learners refuse it.
    """
    if (labels != labels[0]).any():
        return model
    from sklearn.dummy import DummyClassifier

    return DummyClassifier(strategy="most_frequent")


def _verdicts(model: Classifier, features: Any, labels: NDArray[Any]) -> NDArray[np.bool_]:
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


def _timed(work: Callable[[], Any]) -> tuple[Any, float, float]:
    """Return what `work` returns, and its CPU and wall seconds."""
    cpu, wall = process_time(), perf_counter()
    return work(), process_time() - cpu, perf_counter() - wall
