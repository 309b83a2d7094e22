"""The hold-out bench of a data set: encoded, divided, dense or sparse as the data are."""

from __future__ import annotations

from itertools import chain
from typing import Annotated, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from scipy import sparse

from algorithms import registry
from algorithms.apple.rows import as_rows, check_labels
from algorithms.benches.holdout import Holdout, HoldoutBench, Part, split
from algorithms.errors import DataError, UsageError
from tasks.fetch import Dataset, columns
from tasks.jobs import Job

Names = Annotated[
    tuple[str, ...],
    BeforeValidator(lambda value: value.split(",") if isinstance(value, str) else value),
]
"""A list, or on the command line names with commas between them."""


class Options(BaseModel):
    """How a data set becomes training and test rows.

    Attributes
    ----------
    test_share : float
        Share of the rows that are held out.
    order : {"shuffled", "kept"}
        Whether the training rows are learned in a random order or in that of the data.
    passes : int, optional
        How often the training rows may be learned; None for what the algorithm is made for.
    positive : tuple of str
        The classes that are labelled 1, all others -1; needed for more than two classes.
    scale_target : bool
        Map a regression's target to [0, 1] by the range of the training rows.
    one_hot : {"nominal", "all"}
        Which columns become one indicator for each value.
    drop : tuple of str
        Columns to leave out.
    missing : {"refuse", "zero"}
        What a missing value is: an error, or an absent feature.
    max_rows : int, optional
        Only the first so many rows.
    score_on : {"test", "progressive"}
        The score: the test error, or, to time learning alone, the progressive loss.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    test_share: Annotated[float, Field(gt=0, lt=1)] = 0.2
    order: Literal["shuffled", "kept"] = "shuffled"
    passes: Annotated[int, Field(ge=1)] | None = None
    positive: Names = ()
    scale_target: bool = False
    one_hot: Literal["nominal", "all"] = "nominal"
    drop: Names = ()
    missing: Literal["refuse", "zero"] = "refuse"
    max_rows: Annotated[int, Field(ge=2)] | None = None
    score_on: Literal["test", "progressive"] = "test"


def measure(options: Options) -> str:
    """What its scores measure."""
    return "test error" if options.score_on == "test" else "progressive squared loss"


def make(dataset: Dataset, job: Job) -> HoldoutBench:
    """The bench of `job` on `dataset`; the budget counts examples, passes included."""
    options = Options(**job.bench)
    if job.budget is not None and (job.budget < 1 or job.budget != int(job.budget)):
        raise UsageError(f"budget {job.budget:g} must be a whole number of examples, at least 1")
    passes = options.passes or getattr(registry.algorithm_class(job.algorithm), "passes", 1)
    return HoldoutBench(
        as_holdout(dataset, options, job.environment_seed),
        job.environment_seed,
        passes,
        None if job.budget is None else int(job.budget),
        options.score_on,
    )


def as_holdout(dataset: Dataset, options: Options, seed: int) -> Holdout:
    """Encode and divide `dataset`; everything that is fitted is fitted on the training rows.

    Numbers are taken as they are. A nominal column becomes indicators named ``column=value``. A
    text column becomes the counts of the words of the training rows; the order of the words is
    kept for algorithms that look at neighbours, of which a column's first and last word have one.
    """
    features = dataset.features.iloc[: options.max_rows]
    unknown = sorted(set(options.drop) - set(features.columns))
    if unknown:
        raise UsageError(f"{dataset.reference}: no column {unknown[0]!r} to drop: remove it")
    features = features.drop(columns=list(options.drop))
    train, test = split(len(features), seed, test_share=options.test_share, order=options.order)
    blocks: list[sparse.csr_array] = []
    names: list[str] = []
    texts: list[list[NDArray[np.int32]]] = []
    for name, column in features.items():
        if columns.is_text(column):
            tokens, words = _tokens(column, train, len(names))
            texts.append(tokens)
            blocks.append(_counts(tokens, len(names), len(words)))
            names += words
            continue
        _check_present(column, options, dataset.reference)
        values = indicated(column, options)
        blocks.append(block(column, values))
        names += [str(name)] if values is None else [f"{name}={value}" for value in values]
    matrix = sparse.hstack(blocks, format="csr")
    rows = as_rows(matrix)
    labels = check_labels(_labels(dataset, options, seed))
    train_part, test_part = (
        Part(rows[part], labels[part], _joined(texts, part) if texts else None)
        for part in (train, test)
    )
    return Holdout(train_part, test_part, tuple(names), dataset.task)


def indicated(column: pd.Series, options: Options) -> pd.Index | None:
    """The values of a column that become an indicator each; None if it is taken as a number."""
    if columns.is_nominal(column) or options.one_hot == "all":
        return column.astype("category").cat.categories
    return None


def block(column: pd.Series, values: pd.Index | None) -> sparse.csr_array:
    """The features of one column; a value that is not among `values` has none."""
    if values is None:
        return sparse.csr_array(column.fillna(0).to_numpy(dtype=np.float64)[:, None])
    codes = pd.Categorical(column, categories=values).codes
    known = np.flatnonzero(codes >= 0)
    shape = (len(codes), len(values))
    return sparse.csr_array((np.ones(len(known)), (known, codes[known])), shape=shape)


def target_range(dataset: Dataset, options: Options, seed: int) -> tuple[float, float]:
    """The least target of the training rows, and what is mapped to 1; they differ."""
    target = dataset.target.iloc[: options.max_rows].to_numpy(dtype=np.float64)
    train, _ = split(len(target), seed, test_share=options.test_share, order=options.order)
    low, high = float(target[train].min()), float(target[train].max())
    return low, high if high > low else low + 1.0


def _labels(dataset: Dataset, options: Options, seed: int) -> NDArray[np.float64]:
    target = dataset.target.iloc[: options.max_rows]
    if dataset.task == "regression":
        if options.positive:
            raise UsageError(f"{dataset.reference}: a regression has no positive classes")
        labels = target.to_numpy(dtype=np.float64)
        if options.scale_target:
            low, high = target_range(dataset, options, seed)
            labels = (labels - low) / (high - low)
        return labels
    classes = [str(name) for name in target.cat.categories]
    positive = set(options.positive) or ({classes[1]} if len(classes) == 2 else set())
    if not positive or not positive < set(classes):
        raise DataError(
            f"{dataset.reference}: classes {', '.join(classes)}: set positive to those that are"
            " labelled 1, some but not all of them"
        )
    return np.where(target.astype(str).isin(positive), 1.0, -1.0)


def _check_present(column: pd.Series, options: Options, reference: str) -> None:
    missing = int(column.isna().sum())
    if missing and options.missing == "refuse":
        raise DataError(
            f"{reference}: column {column.name!r} is missing (NaN) in {missing} rows: impute it,"
            " or set missing=zero for the hold-out"
        )


def _tokens(
    column: pd.Series, train: NDArray[np.intp], first: int
) -> tuple[list[NDArray[np.int32]], list[str]]:
    """The feature of each word of each text, from `first` on, -1 if unknown; and the words."""
    texts = [str(text).split() for text in column.fillna("")]
    words = dict.fromkeys(chain.from_iterable(texts[i] for i in train))
    places = {word: first + i for i, word in enumerate(words)}
    return [
        np.array([places.get(word, -1) for word in text], dtype=np.int32) for text in texts
    ], list(words)


def _joined(
    texts: list[list[NDArray[np.int32]]], part: NDArray[np.intp]
) -> tuple[NDArray[np.int32], ...]:
    """The words of all text columns of each row; an unknown word keeps the columns apart."""
    apart = np.array([-1], dtype=np.int32)
    return tuple(
        np.concatenate([texts[0][i], *(word for one in texts[1:] for word in (apart, one[i]))])
        for i in part
    )


def _counts(tokens: list[NDArray[np.int32]], first: int, n_words: int) -> sparse.csr_array:
    known = [text[text >= 0] for text in tokens]
    indptr = np.cumsum([0, *map(len, known)])
    indices = np.concatenate(known) - first
    counts = sparse.csr_array(
        (np.ones(len(indices)), indices, indptr), shape=(len(tokens), n_words)
    )
    counts.sum_duplicates()
    return counts
