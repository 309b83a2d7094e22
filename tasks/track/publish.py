"""The board in MLflow: on the suite's run and its experiment, where people look first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tasks.jobs.job import Result
from tasks.track.records import suite_key
from tasks.track.store import TrackingError, open_store, reported
from tasks.track.tracker import find_suite
from tasks.track.views import CONFIGURATIONS, JOBS, View, configuration_views, data_views

if TYPE_CHECKING:
    from mlflow.tracking import MlflowClient

NOTE = "mlflow.note.content"
KIND = "mlflow.experimentKind"
MODEL_TRAINING = "custom_model_development"
"""Saves the UI its own guess, by which an experiment without models is one of traces."""
MOST_LINKS = 12


def publish(
    uri: str,
    suite: str,
    results: Sequence[Result],
    *,
    board: str,
    names: Mapping[str, str] | None = None,
    files: Iterable[Path] = (),
    figures: str = "",
) -> str:
    """Describe a suite's run and its experiments by the board, and attach report and figures.

    Raises TrackingError if the store cannot be used or does not know the suite's run.

    - `results`: of all its jobs; their keys find its run.
    - `board`: Markdown.
    - `names`: what the suite calls its data sets, by reference.
    - `files`: artifacts of the suite's run, such as the report.
    - `figures`: HTML, for its artifact ``figures.html``; the UI draws no SVG file.

    Returns the address of the jobs within the UI, from ``#`` on.
    """
    views = data_views(results, names or {})
    client = open_store(uri)
    with reported(uri):
        jobs, configurations = (
            _experiment(client, name) for name in (suite, f"{suite}/configurations")
        )
        key = suite_key(suite, [result.key for result in results])
        run_id = find_suite(client, jobs, key)
        if run_id is None:
            raise TrackingError(f"the store has no run of these jobs of {suite!r}: run it first")
        considered = CONFIGURATIONS.link(configurations)
        note = f"{board}\n{_links(jobs, views)} [All configurations]({considered}).\n"
        about = _about(suite, jobs, considered)
        for experiment, text in ((jobs, note), (configurations, about)):
            client.set_experiment_tag(experiment, KIND, MODEL_TRAINING)
            client.set_experiment_tag(experiment, NOTE, text)
        for view in (JOBS, *views):
            client.set_experiment_tag(jobs, *view.tag)
        for view in (CONFIGURATIONS, *configuration_views(results, names or {})):
            client.set_experiment_tag(configurations, *view.tag)
        client.set_tag(run_id, NOTE, note)
        for path in files:
            client.log_artifact(run_id, str(path))
        if figures:
            client.log_text(run_id, figures, "figures.html")
    return JOBS.link(jobs)


def _experiment(client: MlflowClient, name: str) -> str:
    found = client.get_experiment_by_name(name)
    if found is None:
        raise TrackingError(f"the store has no experiment {name!r}: run the suite first")
    return str(found.experiment_id)


def _links(experiment: str, views: Sequence[View]) -> str:
    curves = ", ".join(
        f"[{view.name}]({view.link(experiment, charts=True)})" for view in views[:MOST_LINKS]
    )
    rest = ", and more under *Views*" if len(views) > MOST_LINKS else ""
    return (
        f"[All jobs]({JOBS.link(experiment)}). Curves, averaged over repetitions: {curves}{rest}."
    )


def _about(suite: str, jobs: str, configurations: str) -> str:
    return (
        f"Every configuration that the jobs of **{suite}** considered: [with outcome, score, lease"
        f" and bounds as columns]({configurations}), and by data set under *Views*. The jobs"
        f" themselves are in [the experiment {suite}]({JOBS.link(jobs)}); each job's description"
        " links to its configurations here."
    )
