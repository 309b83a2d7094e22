"""The configuration that a policy or a selection chose, fitted anew on rows without the test."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from algorithms.errors import UsageError
from tasks.automl.columns import encoder
from tasks.benches import pulls, samples
from tasks.fetch import Dataset
from tasks.jobs import Job, Result
from tasks.models.columns import describe
from tasks.models.pipeline import PipelineModel, TrainingRange
from tasks.models.saved import Description
from tasks.preprocess import split, split_by_column
from tasks.probes.samples import split as samples_split
from tasks.trials import estimators, plans
from tasks.trials.evaluate import reward_of
from tasks.trials.spaces import load_space

Rows = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Fit:
    """An unfitted pipeline, the data that it is for, and which rows it may see."""

    pipeline: Pipeline
    dataset: Dataset
    train: Rows
    test: Rows


def fitted(dataset: Dataset, job: Job, result: Result) -> tuple[PipelineModel, float]:
    """The configuration that a job chose, fitted, and its score on the test rows.

    A policy's is fitted on training and validation rows together; that of configuration
    selection on the training rows, so that its test accuracy is the job's score.

    Raises
    ------
    UsageError
        If the job chose none, or what it chose has no learner.
    """
    if result.champion is None:
        raise UsageError(f"{result.label} on {result.data} chose no configuration: nothing to fit")
    plan = {"pulls": _of_policy, "samples": _of_selection}[result.bench]
    fit = plan(dataset, job, dict(result.champion))
    features, target = fit.dataset.features, fit.dataset.target
    classes = target.cat.categories if dataset.task == "classification" else ()
    labels = target.cat.codes.to_numpy() if len(classes) else target.to_numpy()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what a trial may do, its refit may do too
        fit.pipeline.fit(features.iloc[fit.train], labels[fit.train])
        predicted = fit.pipeline.predict(features.iloc[fit.test])
    description = Description(kind="pipeline", columns=describe(features), classes=tuple(classes))
    task: Any = dataset.task
    return PipelineModel(description, fit.pipeline), reward_of(task, labels[fit.test], predicted)


def _of_policy(dataset: Dataset, job: Job, champion: dict[str, Any]) -> Fit:
    options = pulls.Options(**job.bench)
    if options.protocol == "table":
        raise UsageError(f"{job.data} is a table of feedbacks: there is no learner to fit")
    arm = load_space(options.space).arms[champion.pop("arm")]
    if options.split_column is not None:
        dataset, train, test = split_by_column(dataset, options.split_column)
    elif options.protocol == "cv":
        rows = split(dataset, (plans.TRAIN_SHARE, 1 - plans.TRAIN_SHARE), job.environment_seed)
        train, test = rows.train, rows.test
    else:
        rows = split(dataset, seed=job.environment_seed)
        train, test = np.sort(np.concatenate([rows.train, rows.validation])), rows.test
    frame = dataset.features.iloc[train]
    columns = encoder(frame, options.scale)
    n_columns = columns.fit_transform(frame).shape[1]
    values = {**arm.constants, **champion}
    model = estimators.winner(arm.estimator, values, n_columns, job.environment_seed)
    return Fit(Pipeline([("columns", columns), ("model", model)]), dataset, train, test)


def _of_selection(dataset: Dataset, job: Job, champion: dict[str, Any]) -> Fit:
    options = samples.Options(**job.bench)
    rows = samples_split(dataset, job.environment_seed, options.test_fraction)
    model = samples.learners(options, rows, job.environment_seed).build(champion)
    pipeline = Pipeline([("columns", TrainingRange()), ("model", model)])
    return Fit(pipeline, dataset, *rows.rows())
