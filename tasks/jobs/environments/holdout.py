"""The hold-out environment of a dataset: encoded, divided, dense or sparse as the data are."""

from typing import Annotated, Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field

from leaseboard.algorithms import registry
from leaseboard.algorithms.apple.rows import CLIP, as_rows, check_labels
from leaseboard.algorithms.environments.holdout import (
    Holdout,
    HoldoutAlgorithm,
    HoldoutEnvironment,
    Part,
    split,
)
from leaseboard.algorithms.environments.stream import MOST_CLASSES
from leaseboard.algorithms.errors import DataError, UsageError
from leaseboard.algorithms.seeds import generator
from leaseboard.tasks.fetch import columns
from leaseboard.tasks.fetch.dataset import Dataset
from leaseboard.tasks.jobs.environments import KindOptions
from leaseboard.tasks.jobs.job import Job
from leaseboard.tasks.preprocess.encoders import refuse_gaps, sparse_rows
from leaseboard.tasks.preprocess.encoding import in_float32, naming
from leaseboard.tasks.preprocess.splits import SplitOptions, division

Rows = NDArray[np.intp]

Names = Annotated[
    tuple[str, ...],
    BeforeValidator(lambda value: value.split(",") if isinstance(value, str) else value),
]
"""A list, or on the command line names with commas between them."""


class Options(KindOptions, SplitOptions):
    """Options that divide a dataset into training and test rows."""

    test_share: Annotated[float, Field(gt=0, lt=1)] = 0.2
    """Share of the rows that are held out."""
    order: Literal["shuffled", "kept"] = "shuffled"
    """Whether the training rows are learned in a random order or in that of the data."""
    passes: Annotated[int, Field(ge=1)] | None = None
    """How often the training rows may be learned; None for what the algorithm is made for."""
    positive: Names = ()
    """The classes that are labelled 1, all others -1; without it all classes are distinguished."""
    clip: Annotated[float, Field(ge=0, lt=50)] = CLIP
    """Percent of a column's training values at either end to which its numbers are clipped."""
    scale: bool = True
    """Standardise columns of numbers; those of mostly zeros are divided by their magnitude."""
    scale_target: bool = False
    """Map a regression's target to [0, 1] by the range of the training rows."""
    one_hot: Literal["nominal", "all"] = "nominal"
    """Which columns become one indicator for each value."""
    drop: Names = ()
    """Columns to leave out."""
    missing: Literal["refuse", "zero"] = "refuse"
    """What a missing value is: an error, or an absent feature."""
    max_rows: Annotated[int, Field(ge=2)] | None = None
    """Only the first so many rows."""

    def measure(self) -> str:
        """Return what the scores measure."""
        return "test error"

    def shared_by(self, seed: int) -> Any:
        """Return the seed, and the options that change rows and columns."""
        return self.model_dump(exclude={"passes"}) | {"seed": seed}

    def parts(self, dataset: Dataset, seed: int) -> Holdout:
        """Return the rows to learn and those to test on."""
        return as_holdout(dataset, self, seed)

    def divided(self, dataset: Dataset, seed: int) -> tuple[Rows, Rows]:
        """Return the rows to train on and those to test on."""
        n_rows = len(dataset.target.iloc[: self.max_rows])
        rule = division(dataset).of(slice(n_rows))
        if not rule.column:
            return split(n_rows, seed, test_share=self.test_share, order=self.order)
        parts = rule.parts((1 - self.test_share, self.test_share), seed)
        train, test = np.flatnonzero(parts == 0), np.flatnonzero(parts == 1)
        kept = self.order == "kept"
        return train if kept else generator(seed, "training order").permutation(train), test

    def make(self, dataset: Dataset, job: Job, parts: Holdout | None = None) -> HoldoutEnvironment:
        """Return the environment of `job`; the budget counts examples in all passes."""
        examples = job.examples()  # before the data are encoded
        cls = registry.algorithm_class(job.algorithm)
        made_for = cls.passes if issubclass(cls, HoldoutAlgorithm) else 1
        return HoldoutEnvironment(
            parts or as_holdout(dataset, self, job.environment_seed),
            self.passes or made_for,
            examples,
        )


def as_holdout(dataset: Dataset, options: Options, seed: int) -> Holdout:
    """Encode and divide `dataset`; everything that is fitted is fitted on the training rows.

    See `sparse_rows` for the encoding of a column. Texts stay, for algorithms that look at the
    order of words.
    """
    features, (train, test) = _columns(dataset, options), options.divided(dataset, seed)
    with naming(dataset.reference):
        if options.missing == "refuse":
            refuse_gaps(features)
        encoded, names = sparse_rows(features, train, options.clip, options.scale)
        rows = as_rows(encoded)
        target, classes = _labels(dataset, options)
        spread = 1.0
        if options.scale_target and dataset.task == "regression":
            low, high = float(target[train].min()), float(target[train].max())
            spread = high - low if high > low else 1.0
            target = (target - low) / spread
        check_labels(target)
        labels = in_float32(target)
    words = [each.fillna("") for _, each in features.items() if columns.is_text(each)]
    texts = [*zip(*words, strict=True)]
    train_part, test_part = (
        Part(rows[part], labels[part], tuple(texts[i] for i in part) if texts else ())
        for part in (train, test)
    )
    return Holdout(train_part, test_part, names, dataset.task, classes, spread)


def _columns(dataset: Dataset, options: Options) -> pd.DataFrame:
    """Return the feature columns; one of indicators declares its values, in all rows, first."""
    features = dataset.features.iloc[: options.max_rows]
    unknown = sorted(set(options.drop) - set(features.columns))
    if unknown:
        raise UsageError(f"{dataset.reference}: no column {unknown[0]!r} to drop: remove it")
    features = features.drop(columns=list(options.drop))
    if options.one_hot == "nominal":
        return features
    indicated = [name for name, column in features.items() if not columns.is_text(column)]
    return features.astype(dict.fromkeys(indicated, "category"))


def classes_of(dataset: Dataset, options: Options) -> tuple[str, ...]:
    """Return the names of three or more classes; empty for two sides."""
    if dataset.task == "regression" or options.positive:
        return ()
    names = tuple(str(name) for name in dataset.target.cat.categories)
    if not 1 < len(names) <= MOST_CLASSES:
        raise DataError(
            f"{dataset.reference}: target {dataset.target.name!r} has {len(names)} classes: a"
            f" hold-out takes a regression or 2 to {MOST_CLASSES} classes; name another column"
            " with target="
        )
    return names if len(names) > 2 else ()


def _labels(dataset: Dataset, options: Options) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    """Return the labels, and the names of three or more classes, whose numbers they are."""
    target = dataset.target.iloc[: options.max_rows]
    if dataset.task == "regression":
        if options.positive:
            raise UsageError(f"{dataset.reference}: a regression has no positive classes")
        return target.to_numpy(dtype=np.float64), ()
    if many := classes_of(dataset, options):
        return target.cat.codes.to_numpy().astype(np.float64), many
    classes = [str(name) for name in target.cat.categories]
    positive = set(options.positive) or {classes[1]}
    if not positive < set(classes):
        raise DataError(
            f"{dataset.reference}: classes {', '.join(classes)}: set positive to those that are"
            " labelled 1, some but not all of them"
        )
    return np.where(target.astype(str).isin(positive), 1.0, -1.0), ()
