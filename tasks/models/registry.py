"""Winners in MLflow's registry, each as a challenger: a person gives the alias `champion`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

from leaseboard.algorithms.errors import unknown
from leaseboard.tasks.jobs.job import Result
from leaseboard.tasks.models import columns
from leaseboard.tasks.models.chosen import Fitted
from leaseboard.tasks.models.logged import KEY, LIVE, log
from leaseboard.tasks.models.winner import check_name
from leaseboard.tasks.score.frame import metric_title
from leaseboard.tasks.score.summary import literal
from leaseboard.tasks.track.store import experiment, open_store, reported
from leaseboard.tasks.track.writers import every

CHALLENGER, CHAMPION = "challenger", "champion"
SCORE = "leaseboard.score"
"""Tag of a version: the mean of the winner's scores."""


def register(uri: str, name: str, fitted: Fitted, results: Iterable[Result], *, group: str) -> str:
    """Log a winner's model, register it as `name` with the alias ``challenger``.

    Raises TrackingError if the store cannot be used.

    - `results`: of all the winner's repetitions; the model is the first one's.
    - `group`: the experiment that the jobs are in: the suite's name, or ``race``.

    Returns the version; that of an earlier call for the same work, if there was one.
    """
    check_name(name)
    rows = [replace(result, seed=result.environment_seed) for result in results]
    client = open_store(uri)
    with reported(uri):
        group_id = experiment(client, uri, group)
        tags, about = _described(rows, fitted)
        versions = every(client.search_model_versions, f"name='{name}'")
        known = next((each for each in versions if each.tags.get(KEY) == tags[KEY]), None)
        if known is None:
            example = columns.example(fitted.dataset.features)
            known = log(client, group_id, name, fitted.model, example, tags, about)
        known = client.get_model_version(name, known.version)  # with its aliases
        if CHAMPION not in known.aliases:
            client.set_registered_model_alias(name, CHALLENGER, known.version)
    return str(known.version)


def live_file(uri: str, name: str) -> str:
    """Return FILE.yaml of the live model that publishes it; empty for a model of no live model.

    Raises UsageError if the model does not exist.
    """
    from mlflow.exceptions import MlflowException

    client = open_store(uri)
    with reported(uri):
        try:
            return str(client.get_registered_model(name).tags.get(LIVE, ""))
        except MlflowException as error:
            if error.error_code != "RESOURCE_DOES_NOT_EXIST":
                raise
            known = [model.name for model in every(client.search_registered_models)]
            raise unknown("registered model", name, known) from error


def _described(results: Sequence[Result], fitted: Fitted) -> tuple[dict[str, str], str]:
    """Return the tags of a winner's version, and its description."""
    first, features = results[0], fitted.dataset.features
    mean = math.fsum(result.score or 0.0 for result in results) / len(results)
    tags = {
        KEY: first.key,
        "leaseboard.algorithm": first.name,
        "leaseboard.data": first.data,
        SCORE: f"{first.metric} {mean:.6g} (n={len(results)})",
    }
    better = {"min": "less", "max": "more"}[first.direction]
    about = (
        f"The model of **{literal(first.name)}** on {literal(first.data)} ({len(features):,} rows,"
        f" {features.shape[1]} features, {fitted.dataset.task}, digest {first.digest[:12]})."
        f"\n\n`score` is {metric_title(first.metric)}, {better} is better: {first.score:.6g} of"
        f" this model, {mean:.6g} the mean of {len(results)} repetitions."
    )
    if fitted.test is not None:
        tags["leaseboard.test"] = f"{fitted.test:.6g}"
        about += f" Its score on rows that it has not seen: {fitted.test:.6g}."
    return tags, about
