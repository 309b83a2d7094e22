"""The leaderboard in MLflow: on the suite's run and its experiment, where people look first."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from leaseboard.tasks.jobs.job import Result
from leaseboard.tasks.track.client import METRICS_PER_BATCH
from leaseboard.tasks.track.records import NIGHT, data_input, sound_key, suite_key
from leaseboard.tasks.track.store import TrackingError, open_store, reported
from leaseboard.tasks.track.tracker import find_suite
from leaseboard.tasks.track.views import CONFIGURATIONS, JOBS, NIGHTS

if TYPE_CHECKING:
    from mlflow.entities import Run
    from mlflow.tracking import MlflowClient

NOTE = "mlflow.note.content"
FLOW_RUN = "leaseboard.flow_run"
"""Tag of a suite's run: the address of the flow run that logged it, or its identifier."""
KIND = "mlflow.experimentKind"
MODEL_TRAINING = "custom_model_development"
MOST_BOARD = 5_000
"""Characters of a leaderboard in a description; the store takes 8,000 with the links."""
"""Saves the UI its own guess, by which an experiment without models is one of traces."""
REPORT = "report.html"
MOST_INPUTS = 1000


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
    standings: Mapping[str, Mapping[str, float]] | None = None,
    files: Sequence[Path] = (),
    tags: Mapping[str, str] | None = None,
) -> Place:
    """Describe a suite's run and experiments by the leaderboard, and attach files.

    The run gets the standings as metrics. Their step counts the suite's runs with a leaderboard,
    so that a chart of all of them shows an algorithm over time.

    Raises TrackingError if the store cannot be used or does not know the suite's run.

    - `results`: of all its jobs; their keys find its run.
    - `board`: Markdown.
    - `standings`: score, rank and CPU seconds of each algorithm, by the name of the measure.
    - `files`: artifacts of the suite's run, such as the report.
    - `tags`: of the suite's run, such as its `FLOW_RUN`.
    """
    client = open_store(uri)
    with reported(uri):
        experiments = []
        for name in (suite, f"{suite}/configurations"):
            known = client.get_experiment_by_name(name)
            if known is None:
                raise TrackingError(f"the store has no experiment {name!r}: run the suite first")
            experiments.append(str(known.experiment_id))
        jobs, configurations = experiments
        run = find_suite(client, jobs, suite_key(suite, [result.key for result in results]))
        if run is None:
            raise TrackingError(f"the store has no run of these jobs of {suite!r}: run it first")
        run_id = run.info.run_id
        if len(board) > MOST_BOARD:
            rows, _, _ = board[:MOST_BOARD].rpartition("\n")
            board = f"{rows}\n\nThe report has the other rows.\n"
        considered = f"[configurations]({CONFIGURATIONS.link(configurations)})"
        note = (
            f"{board}\n[All jobs]({JOBS.link(jobs)}) and their {considered}; each job links to its"
            f" own. Leaderboards of earlier runs: [over time]({NIGHTS.link(jobs, charts=True)}).\n"
        )
        about = (
            f"The {considered} that the jobs of **{suite}** considered, with outcome, score, lease"
            f" and bounds as columns. [The jobs]({JOBS.link(jobs)}) link to their own."
        )
        for experiment, text, views in (
            (jobs, note, (JOBS, NIGHTS)),
            (configurations, about, (CONFIGURATIONS,)),
        ):
            client.set_experiment_tag(experiment, KIND, MODEL_TRAINING)
            client.set_experiment_tag(experiment, NOTE, text)
            for view in views:
                client.set_experiment_tag(experiment, *view.tag)
        place = Place(JOBS.link(jobs), f"#/experiments/{jobs}/runs/{run_id}/artifacts/{REPORT}")
        if any(path.name == REPORT for path in files):
            note += f"\n[The report]({place.report}).\n"
        flow_run = (tags or {}).get(FLOW_RUN, "")
        if flow_run.startswith("http"):
            note += f"\n[The flow run in Prefect]({flow_run}).\n"
        for name, text in ((NOTE, note), *(tags or {}).items()):
            client.set_tag(run_id, name, text)
        for path in files:
            client.log_artifact(run_id, str(path))
        _log_standings(client, run, results, standings or {})
    return place


def _log_standings(
    client: MlflowClient,
    run: Run,
    results: Sequence[Result],
    standings: Mapping[str, Mapping[str, float]],
) -> None:
    """Log datasets and standings; the tag that says that a run has them comes last."""
    from mlflow.entities import Dataset, DatasetInput, InputTag, Metric

    run_id, at, night = run.info.run_id, run.info.start_time, run.data.tags.get(NIGHT)
    if night is None:
        newest = client.search_runs(
            [run.info.experiment_id], f"tags.`{NIGHT}` LIKE '%'", max_results=1,
            order_by=["attributes.start_time DESC"],
        )  # fmt: skip
        night = str(1 + max((int(each.data.tags[NIGHT]) for each in newest), default=0))
    data = {result.data: data_input(result) for result in results if result.digest}
    context = [InputTag("mlflow.data.context", "benchmark")]
    inputs = [
        DatasetInput(Dataset(each.name, each.digest, each.kind, each.source), context)
        for each in data.values()
    ]
    client.log_inputs(run_id, inputs[:MOST_INPUTS])
    metrics = [
        Metric(sound_key(f"{measure}/{name.replace('/', '_')}"), value, at, int(night))
        for measure, values in standings.items()
        for name, value in values.items()
        if math.isfinite(value)
    ]
    for start in range(0, len(metrics), METRICS_PER_BATCH):
        client.log_batch(run_id, metrics[start : start + METRICS_PER_BATCH])
    client.set_tag(run_id, NIGHT, night)
