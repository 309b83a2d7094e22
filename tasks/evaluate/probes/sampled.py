"""From a `Dataset` to the shuffled array that the samples are prefixes of."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leaseboard.algorithms.errors import DataError
from leaseboard.tasks.evaluate.probes.split import Prefixes, Rows, Samples, Shuffled
from leaseboard.tasks.fetch import Dataset, columns
from leaseboard.tasks.preprocess.transformer import naming
from leaseboard.tasks.preprocess.unit_range import UnitRangeEncoder


def split(
    dataset: Dataset, seed: int, test_fraction: float, made: Prefixes | None = None
) -> Shuffled:
    """Divide `dataset` into training and test rows by a random order.

    `made` are the samples of the same data set, seed and fraction, if somebody has made them.

    Raises DataError: a regression, a text column, a single class, or too few rows; and when the
    array is made, an infinite value.
    """
    _check(dataset)
    n_rows = len(dataset.target)
    divided = Shuffled(
        digest=dataset.digest,
        n_rows=n_rows,
        seed=seed,
        test_fraction=test_fraction,
        make=lambda: made or _samples(dataset, *divided.rows()),
    )
    if divided.train_rows < 2:
        raise DataError(f"{dataset.reference}: {n_rows} rows are too few to split")
    return divided


def encoder(dataset: Dataset, train: Rows) -> UnitRangeEncoder:
    """The encoder of the features, fitted on the rows `train`."""
    with naming(dataset.reference):
        return UnitRangeEncoder().fit(dataset.features, rows=train)


def labels_of(dataset: Dataset) -> NDArray[np.int32]:
    """The codes of the classes."""
    return dataset.target.cat.codes.to_numpy().astype(np.int32)


def _samples(dataset: Dataset, train: Rows, test: Rows) -> Samples:
    order = np.concatenate([train, test])
    features = encoder(dataset, train).transform(dataset.features, rows=order)
    labels = labels_of(dataset)[order]
    return Samples(features=features, labels=labels, train_rows=len(train))


def _check(dataset: Dataset) -> None:
    if dataset.task != "classification":
        raise DataError(
            f"{dataset.reference}: configurations are selected by accuracy, which needs classes:"
            " make the numeric target two with ?threshold=, or each of its values one with"
            " ?task=classification"
        )
    labels = dataset.target.cat.codes.to_numpy()
    if (labels < 0).any():
        raise DataError(f"{dataset.reference}: the target is missing in some rows: drop them")
    if (labels == labels[0]).all():
        raise DataError(f"{dataset.reference}: the target has one class, nothing can be learned")
    for name in dataset.features.columns:
        if columns.is_text(dataset.features[name]):
            raise DataError(
                f"{dataset.reference}: column {name!r} holds free text: drop or encode it"
            )
