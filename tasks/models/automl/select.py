"""Select among one's own scikit-learn pipelines by a call from Python."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from algorithms import registry
from algorithms.audit import Auditor
from algorithms.base import Algorithm, Score, play
from algorithms.benches.samples import SamplesBench
from algorithms.errors import DataError, UsageError
from algorithms.events import Event
from tasks.evaluate.learners.pipelines import named
from tasks.evaluate.probes.client import RecordedProbes
from tasks.evaluate.probes.split import Rows, Samples, Shuffled
from tasks.evaluate.store import Store
from tasks.jobs.benches import check_options


@dataclass(frozen=True, slots=True)
class Selected:
    """The choice: its name, an untrained copy of the estimator, its score, and the whole log."""

    name: str
    estimator: Any
    score: Score
    events: tuple[Event, ...]


def select(
    pipelines: Sequence[Any] | Mapping[str, Any],
    X: ArrayLike,
    y: ArrayLike,
    *,
    algorithm: Algorithm | None = None,
    test_fraction: float = 0.2,
    initial_rows: int = 1000,
    seed: int = 0,
    probe_seconds: float = 3600.0,
    store: Path | str | None = None,
) -> Selected:
    """Choose one of `pipelines` for the classification of `X`.

    Parameters
    ----------
    pipelines : sequence or mapping of str to classifier
    X : array-like of shape (n_rows, n_features)
        Numbers; used as float32.
    y : array-like of shape (n_rows,)
        Classes.
    algorithm : Algorithm, optional
        Any that runs on the samples bench; `ABC` with its defaults if None.
    test_fraction, initial_rows, seed, probe_seconds
        As the options of the samples bench.
    store : Path or str, optional
        A SQLite file that keeps the probes for the next call, or the address of a PostgreSQL;
        none are kept if None.

    Raises
    ------
    UsageError
        No pipelines, one that is no classifier, an option out of range, an algorithm of
        another bench, or a store that is some other file.
    DataError
        Shapes that do not fit, text or infinite values in `X`, missing values or a single class
        in `y`, or too few rows.
    LeaseboardError
        No pipeline could be trained.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.dummy import DummyClassifier
    >>> from sklearn.naive_bayes import GaussianNB
    >>> chosen = select([DummyClassifier(), GaussianNB()], *load_digits(return_X_y=True))
    >>> chosen.name
    'GaussianNB-1'
    """
    own = named(pipelines)
    algorithm = algorithm or registry.build("abc")
    if algorithm.bench != SamplesBench.kind:
        raise UsageError(
            f"{type(algorithm).__name__} runs on the {algorithm.bench} bench: give one that"
            " selects on samples, such as ABC"
        )
    options = {
        "test_fraction": test_fraction,
        "initial_rows": initial_rows,
        "probe_seconds": probe_seconds,
    }
    check_options(SamplesBench.kind, options)
    kept = None if store is None else Store(str(store))
    split = _split(_numbers(X), np.asarray(y), test_fraction, seed)
    with tempfile.TemporaryDirectory() as scratch:
        probes = RecordedProbes(
            split,
            own.configurations(),
            own.build,
            kept or Store(Path(scratch) / "probes.sqlite"),
            code=__name__,
            classes=own.classes(),
            probe_seconds=probe_seconds,
        )
        bench = SamplesBench(probes, seed, initial_rows=initial_rows)
        events, auditor = [], Auditor()
        for event in play("select", algorithm, bench, seed):
            auditor(event)
            events.append(event)
        auditor.close()
        score = bench.score()
    chosen = bench.configurations[bench.champion or 0]
    return Selected(str(chosen["name"]), own.build(chosen), score, tuple(events))


def _numbers(X: ArrayLike) -> Any:
    try:
        numbers = np.asarray(X, dtype=np.float32)
    except ValueError as error:
        raise DataError(f"X: {error}: encode text as numbers") from error
    if np.isinf(numbers).any():
        raise DataError("X has infinite values: drop the rows")
    return numbers


def _split(X: Any, y: Any, test_fraction: float, seed: int) -> Shuffled:
    if X.ndim != 2 or y.shape != (len(X),):
        raise DataError(f"X of shape {X.shape} and y of shape {y.shape}: give (n, d) and (n,)")
    if pd.isna(y).any():
        raise DataError("y has missing values: drop the rows")
    classes, labels = np.unique(y, return_inverse=True)
    if len(classes) == 1:
        raise DataError("y has one class, nothing can be learned")
    labels = labels.astype(np.int32)
    digest = hashlib.sha256(np.ascontiguousarray(X))
    digest.update(labels)
    divided = Shuffled(
        digest=digest.hexdigest(),
        n_rows=len(X),
        seed=seed,
        test_fraction=test_fraction,
        make=lambda: _samples(X, labels, *divided.rows()),
    )
    if divided.train_rows < 2:
        raise DataError(f"{len(X)} rows are too few to split")
    return divided


def _samples(X: Any, labels: Any, train: Rows, test: Rows) -> Samples:
    order = np.concatenate([train, test])
    features = np.ascontiguousarray(X[order])
    return Samples(features=features, labels=labels[order], train_rows=len(train))
