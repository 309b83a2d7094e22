"""The winner of a suite on a dataset, and what runs found as the models that were ranked."""

import math
import warnings
from collections.abc import Iterable
from typing import Any, NamedTuple

from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from threadpoolctl import threadpool_limits

from leaseboard.algorithms.environments.holdout import HoldoutEnvironment
from leaseboard.algorithms.environments.stream import StreamEnvironment
from leaseboard.algorithms.errors import LeaseboardError, UsageError
from leaseboard.algorithms.measures import loss_of
from leaseboard.tasks.evaluate import spaces, trials
from leaseboard.tasks.evaluate.probes import able
from leaseboard.tasks.evaluate.trials import reward_of
from leaseboard.tasks.fetch import loading
from leaseboard.tasks.fetch.dataset import Dataset
from leaseboard.tasks.jobs import environments
from leaseboard.tasks.jobs.described import is_untrusted
from leaseboard.tasks.jobs.environments import KINDS, divided, pulls
from leaseboard.tasks.jobs.job import Job, Result
from leaseboard.tasks.models.columns import describe
from leaseboard.tasks.models.model import TableModel
from leaseboard.tasks.models.pipeline import PipelineModel
from leaseboard.tasks.models.stream_model import StreamModel
from leaseboard.tasks.preprocess.encoders import UnitRangeEncoder, labels_of
from leaseboard.tasks.preprocess.encoding import StreamOptions, order_of
from leaseboard.tasks.preprocess.splits import division


def barred(result: Result) -> str:
    """Return why the model of a run cannot be registered as a winner's; empty if it can.

    The score of a run that ended early is not one that others can be compared with.
    """
    if result.status != "ok":
        return f"{result.status}: {result.reason}".rstrip(": ")
    return "" if result.complete else result.reason or "ended early"


def require_model(algorithm: str, kind: str) -> None:
    """Raise UsageError if a run in that kind of environment leaves no model to register."""
    if KINDS[kind] == "system" or kind == HoldoutEnvironment.kind:
        raise UsageError(
            f"{algorithm} hands over no model: register online-automl or a policy such as"
            " rising-bandits, or fit AutoMLClassifier or AutoMLRegressor in Python"
        )


def winner_of(
    jobs: Iterable[Job], results: Iterable[Result], data: str
) -> tuple[Job, list[Result]]:
    """Return the winner of a suite's jobs on `data`; the first of several equal ones.

    These are the first repetition's job, whose model is registered, as the best one's would be
    chosen by luck, and the results of all, its own first.

    An algorithm cannot win if in any repetition it has no result, or one that is `barred`.

    Raises UsageError if no algorithm is left on these data.
    """
    jobs = [job for job in jobs if job.data == data]
    present = [result for result in results if result.data == data]
    found = {(r.name, r.repetition): r for r in present if not barred(r)}
    complete: dict[str, list[Result]] = {}
    for label in dict.fromkeys(job.name for job in jobs):
        mine = [job for job in jobs if job.name == label]
        scores = [found.get((job.name, job.repetition)) for job in mine]
        if all(scores):
            complete[label] = [result for result in scores if result is not None]
    if not complete:
        first = next((f" (first: {r.name}: {why})" for r in present if (why := barred(r))), "")
        raise UsageError(
            f"no algorithm has a score in every repetition on {data} that can be compared{first}:"
            " run the suite to its end, with an algorithm whose score can"
        )

    def cost(label: str) -> float:
        mean = math.fsum(result.score or 0.0 for result in complete[label])
        return (mean if complete[label][0].direction == "min" else -mean) / len(complete[label])

    label = min(complete, key=cost)
    return next(job for job in jobs if job.name == label), complete[label]


SAME = 1e-9
"""Relative; how far a model's score on the test rows may be from the one on record."""

OF_FLOAT32 = 1e-6
"""The same of losses of predictions in 32 bits."""

Rows = NDArray[Any]


class Fitted(NamedTuple):
    """Model of a winner with the data that it was made from.

    `test` is its score on rows that it has not seen; None without such rows.
    """

    model: TableModel
    test: float | None
    dataset: Dataset


def fit(job: Job, result: Result) -> Fitted:
    """Return the model of an ``ok`` result.

    - `result`: what `job` came to.

    Raises
    ------
    UsageError
        If the job runs code of your own, the data are others now, or the run leaves no model.
    LeaseboardError
        If the model does not come to the recorded score.
    """
    require_model(result.name, result.environment)
    if is_untrusted(job):  # which this process does not import
        raise UsageError(
            f"{result.name} on {result.data} runs code of your own, of which no model is"
            " registered: fit it in Python, and log it with mlflow.sklearn.log_model"
        )
    dataset = loading.load(job.data)
    if dataset.digest != result.digest:
        raise UsageError(
            f"{job.data} has changed since {result.name} ran on it: run it again, then register"
        )
    if result.environment == StreamEnvironment.kind:  # which has learned all rows
        return Fitted(_race(dataset, job, result), None, dataset)
    chosen, test = _refit(dataset, job, result)
    target = chosen.dataset.target
    classes = tuple(target.cat.categories) if dataset.task == "classification" else ()
    model = PipelineModel(describe(chosen.dataset.features), chosen.pipeline, classes)
    return Fitted(model, test, dataset)


class Fit(NamedTuple):
    """Data and learner of the fit whose test score was recorded."""

    dataset: Dataset
    pipeline: Pipeline
    """The encoder of columns, and the learner."""
    labels: NDArray[Any]
    """The target of every row, as the learner takes it."""
    train: Rows
    test: Rows


def _race(dataset: Dataset, job: Job, result: Result) -> StreamModel:
    """Return the model of a race that ran on a stream: it has learned the same rows, and goes on.

    Raises
    ------
    UsageError
        If the algorithm is not a race, or an option made other features or labels of the columns.
    LeaseboardError
        If the model comes to another loss than is on record.
    """
    options, default = StreamOptions(**job.environment), StreamOptions()
    for name in sorted(options.model_fields_set - {"max_rows", "shuffle", "labels"}):
        if (value := getattr(options, name)) != getattr(default, name):
            raise UsageError(
                f"{result.name} ran with {name}={value}, which a model that goes on does not have:"
                " run it without, then register"
            )
    target, labels = str(dataset.target.name), options.labels
    order = order_of(dataset, options, job.environment_seed)
    rows = dataset.features.assign(**{target: dataset.target}).iloc[order][: job.examples()]
    model = StreamModel.new(target, dataset.task, job.algorithm, job.settings, job.seed, labels)
    measures = model.learn_table(rows.reset_index(drop=True)).measures
    now, then = loss_of(measures) or 0.0, loss_of(result.metrics) or 0.0
    # With other labels all of the first rows are known before the last fifth is forecast.
    if options.arrival.is_immediate and not math.isclose(now, then, rel_tol=OF_FLOAT32):
        raise LeaseboardError(
            f"{result.name} on {result.data} comes to a loss of {now} now and came to {then}: code"
            " or libraries have changed, run it again"
        )
    return model


def _refit(dataset: Dataset, job: Job, result: Result) -> tuple[Fit, float]:
    """Return what a job chose, fitted, and its score on the test rows.

    It is the model that was ranked: the same encoding, rows and seed, on one thread as trials and
    probes run. So it must come to the test score that is on record. Where the last rows are the
    test rows, it is then fitted on them, too: the rows to come resemble them most.

    Raises
    ------
    UsageError
        If the job chose none, or what it chose has no learner or is not on record.
    LeaseboardError
        If it comes to another score.
    """
    if result.champion is None:
        raise UsageError(f"{result.name} on {result.data} chose no configuration: nothing to fit")
    dataset = divided(dataset, job)
    if KINDS[result.environment] == "arm":
        fit, recorded = _of_policy(dataset, job, result), result.metrics["test"]
    else:
        fit, recorded = _of_selection(dataset, job, result), result.score
    features = fit.dataset.features
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what a trial may do, its refit may do too
        fit.pipeline.fit(features.iloc[fit.train], fit.labels[fit.train])
        predicted = fit.pipeline.predict(features.iloc[fit.test])
        if division(dataset).kind == "time":
            fit.pipeline.fit(features, fit.labels)
    test = reward_of(dataset.task, fit.labels[fit.test], predicted)
    if recorded is None or not math.isclose(test, recorded, rel_tol=SAME):
        raise LeaseboardError(
            f"what {result.name} chose on {result.data} comes to {test} on the test rows now and"
            f" to {recorded} when it was recorded: code, libraries or processor have changed, run"
            " the suite again"
        )
    return fit, test


def _of_policy(dataset: Dataset, job: Job, result: Result) -> Fit:
    options = pulls.Options(**job.environment)
    if options.protocol == "table":
        raise UsageError(f"{job.data} is a table of feedbacks, without a learner to fit")
    if result.champion_seed is None:
        raise UsageError(
            f"the learner of {result.name} on {result.data} has no seed on record, as one of"
            " another framework: run it again, or register another algorithm"
        )
    chosen = dict(result.champion or {})
    arm = pulls.space_for(dataset, options).arms[chosen.pop("arm")]
    dataset, part = trials.scored(
        dataset, job.environment_seed, options.protocol, options.split_column
    )
    encoder = trials.encoder(dataset, part.train, options.scale)
    n_features = encoder.transform(dataset.features.iloc[:1]).shape[1]
    values = {**arm.constants, **chosen}
    model = spaces.build(arm.estimator, values, n_features, result.champion_seed)
    pipeline = Pipeline([("columns", encoder), ("model", model)])
    return Fit(dataset, pipeline, labels_of(dataset), part.train, part.test)


def _of_selection(dataset: Dataset, job: Job, result: Result) -> Fit:
    options = environments.resolve(result.environment, job.environment)
    rows, _, build = options.candidates(dataset, job.environment_seed)
    train, test = rows.rows()
    labels = labels_of(dataset)
    model = able(build(dict(result.champion or {})), labels[train])
    pipeline = Pipeline([("columns", UnitRangeEncoder()), ("model", model)])
    return Fit(dataset, pipeline, labels, train, test)
