"""The leaderboard in MLflow: on the suite's run and its experiment, where people look first."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from leaseboard.tasks.jobs.job import Result
from leaseboard.tasks.track.records import (
    JOBS,
    NIGHT,
    NIGHTS,
    runs_link,
    sound_key,
    suite_key,
)
from leaseboard.tasks.track.store import TrackingError, open_store, reported
from leaseboard.tasks.track.tracker import find_suite
from leaseboard.tasks.track.writers import METRICS_PER_BATCH

if TYPE_CHECKING:
    from mlflow.entities import Run
    from mlflow.tracking import MlflowClient

NOTE = "mlflow.note.content"
FLOW_RUN = "leaseboard.flow_run"
"""Tag of a suite's run: the address of the flow run that logged it, or its identifier."""
KIND = ("mlflow.experimentKind", "custom_model_development")
"""Saves the UI its own guess, by which an experiment without models is one of traces."""
MOST_BOARD = 5_000
"""Characters of a leaderboard in a description; the store takes 8,000 with the links."""
REPORT = "report.html"


class Place(NamedTuple):
    """Places of a suite within MLflow's UI, from ``#`` on."""

    jobs: str
    report: str
    """Of ``report.html`` among the artifacts of the suite's run."""


def publish(
    uri: str,
    suite: str,
    results: Sequence[Result],
    *,
    board: str,
    standings: Mapping[str, Mapping[str, float]],
    files: Sequence[Path],
    tags: Mapping[str, str],
) -> Place:
    """Describe a suite's run and experiments by the leaderboard, and attach files.

    The run gets the standings as metrics at the time when it began, so that a chart of all of them
    by wall time shows an algorithm over time.

    Raises TrackingError if the store cannot be used or does not know the suite's run.

    - `results`: of all its jobs; their keys find its run.
    - `board`: Markdown.
    - `standings`: score, rank and CPU seconds of each algorithm, by the name of the measure.
    - `files`: artifacts of the suite's run, such as the report.
    - `tags`: of the suite's run, such as its `FLOW_RUN`.
    """
    client = open_store(uri)
    with reported(uri):
        names = suite, f"{suite}/configurations"
        known = [client.get_experiment_by_name(name) for name in names]
        if None in known:
            raise TrackingError(f"the store has no experiment {suite!r}: run the suite first")
        jobs, configurations = (str(each.experiment_id) for each in known)
        run = find_suite(client, jobs, suite_key(suite, [result.key for result in results]))
        if run is None:
            raise TrackingError(f"the store has no run of these jobs of {suite!r}: run it first")
        run_id = run.info.run_id
        if len(board) > MOST_BOARD:
            rows, _, _ = board[:MOST_BOARD].rpartition("\n")
            board = f"{rows}\n\nThe report has the other rows.\n"
        place = Place(
            runs_link(jobs, JOBS), f"#/experiments/{jobs}/runs/{run_id}/artifacts/{REPORT}"
        )
        considered = runs_link(configurations, "", "metrics.`lease`", orderByAsc="false")
        nights = runs_link(jobs, NIGHTS, "attributes.start_time", compareRunsMode="CHART")
        note = (
            f"{board}\n[All jobs]({place.jobs}) and their [configurations]({considered}); each job"
            f" links to its own. Leaderboards of earlier runs: [over time]({nights}).\n"
        )
        about = f"The configurations that [the jobs]({place.jobs}) of **{suite}** considered.\n"
        for experiment, text in ((jobs, note), (configurations, about)):
            client.set_experiment_tag(experiment, *KIND)
            client.set_experiment_tag(experiment, NOTE, text)
        if any(path.name == REPORT for path in files):
            note += f"\n[The report]({place.report}).\n"
        flow_run = tags.get(FLOW_RUN, "")
        if flow_run.startswith("http"):
            note += f"\n[The flow run in Prefect]({flow_run}).\n"
        for name, text in ((NOTE, note), *tags.items()):
            client.set_tag(run_id, name, text)
        for path in files:
            client.log_artifact(run_id, str(path))
        _log_standings(client, run, standings)
    return place


def _log_standings(
    client: MlflowClient, run: Run, standings: Mapping[str, Mapping[str, float]]
) -> None:
    """Log the standings; the tag that says that a run has them comes last."""
    from mlflow.entities import Metric

    run_id, at = run.info.run_id, run.info.start_time
    metrics = [
        Metric(sound_key(f"{measure}/{name.replace('/', '_')}"), value, at, 0)
        for measure, values in standings.items()
        for name, value in values.items()
        if math.isfinite(value)
    ]
    for start in range(0, len(metrics), METRICS_PER_BATCH):
        client.log_batch(run_id, metrics[start : start + METRICS_PER_BATCH])
    client.set_tag(run_id, NIGHT, "true")
