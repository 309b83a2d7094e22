"""The board in MLflow: on the suite's run and its experiment, where people look first.

With it come saved views: how the MLflow UI shows the experiment before anybody has set it up. The
UI keeps the views that people save as tags of the experiment and lists them under *Views*; these
are such tags, in the same format. A view names columns, filter, order and groups. Links name the
workflow too: else the UI opens in the one that its reader chose last, at first GenAI.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from leaseboard.tasks.jobs.job import Result
from leaseboard.tasks.track.client import search
from leaseboard.tasks.track.records import suite_key
from leaseboard.tasks.track.store import TrackingError, open_store, reported
from leaseboard.tasks.track.tracker import find_suite

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
    - `figures`: HTML, for its artifact ``figures.html``.

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


TAG = "mlflow.sharedViewState."
COLUMNS = (
    "params.`label`", "params.`data`", "params.`repetition`", "metrics.`score`",
    "metrics.`cpu_seconds`", "tags.`leaseboard.status`",
)  # fmt: skip
CONFIGURATION_COLUMNS = (
    "tags.`leaseboard.outcome`", "metrics.`score`", "metrics.`units`", "metrics.`lease`",
    "metrics.`bound.lower`", "metrics.`bound.upper`", "tags.`leaseboard.reason`",
    "tags.`leaseboard.algorithm`", "tags.`leaseboard.data`",
)  # fmt: skip
"""What became of a configuration: its score, its last lease and bounds, and where it stands."""
BY_ALGORITHM = {
    "aggregateFunction": "average",
    "groupByKeys": [{"mode": "param", "groupByData": "label"}],
}


@dataclass(frozen=True, slots=True)
class View:
    """A saved view; `state` is what the UI stores of one, without its defaults."""

    key: str
    name: str
    state: Mapping[str, Any]

    @property
    def tag(self) -> tuple[str, str]:
        """The experiment's tag that the UI reads. Times are of no use, and would differ."""
        state = json.dumps(self.state)
        whole = {"name": self.name, "createdAt": 0, "updatedAt": 0, "state": state}
        return TAG + self.key, json.dumps(whole)

    def link(self, experiment: str, *, charts: bool = False) -> str:
        """Its address within the UI."""
        chosen = {"compareRunsMode": "CHART"} if charts else {}
        query = urlencode(
            {"viewStateShareKey": self.key, "workflowType": "machine_learning"} | chosen
        )
        return f"#/experiments/{experiment}/runs?{query}"


JOBS = View(
    "jobs", "All jobs",
    {"searchFilter": "tags.leaseboard.level = 'job'", "selectedColumns": list(COLUMNS),
     "orderByKey": "params.`data`", "orderByAsc": True},
)  # fmt: skip

CONFIGURATIONS = View(
    "configurations", "All configurations",
    {"searchFilter": "tags.leaseboard.level = 'configuration'",
     "selectedColumns": list(CONFIGURATION_COLUMNS),
     "orderByKey": "tags.`leaseboard.outcome`", "orderByAsc": True},
)  # fmt: skip
"""Champions come first: by outcome."""


def data_views(results: Sequence[Result], names: Mapping[str, str]) -> list[View]:
    """A view of each data set: its jobs grouped by algorithm, the best first.

    Charts of such a view are anytime curves, averaged over repetitions.
    """
    last = {r.data: r for r in sorted(results, key=lambda r: r.status == "ok")}
    return [_data_view(names.get(data, data), result) for data, result in last.items()]


def configuration_views(results: Sequence[Result], names: Mapping[str, str]) -> list[View]:
    """A view of each data set's configurations, those that consumed most first.

    Not those of the best score: of few units it says little.
    """
    return [
        View(
            _key(data),
            names.get(data, data),
            {
                "searchFilter": f"tags.leaseboard.data = {_quoted(data)}",
                "selectedColumns": list(CONFIGURATION_COLUMNS),
                "orderByKey": "metrics.`units`",
                "orderByAsc": False,
            },
        )
        for data in dict.fromkeys(result.data for result in results)
    ]


def _key(data: str) -> str:
    return hashlib.sha256(data.encode()).hexdigest()[:12]


def _quoted(data: str) -> str:
    quote = '"' if "'" in data else "'"
    return f"{quote}{data}{quote}"


def _data_view(name: str, result: Result) -> View:
    """By the metric's own name, under which every job has its curve."""
    metric = f"metrics.`{result.metric or 'score'}`"
    state = {
        "searchFilter": f"params.data = {_quoted(result.data)}",
        "selectedColumns": [metric if each == "metrics.`score`" else each for each in COLUMNS],
        "groupBy": BY_ALGORITHM,
        "runsHiddenMode": "FIRST_20_RUNS",
        "orderByKey": metric,
        "orderByAsc": result.direction == "min",
    }
    return View(_key(result.data), name, state)


class Logged:
    """Reads the configuration runs of a suite's jobs.

    `uri`: the store; it is opened when the first job is asked for.
    """

    def __init__(self, uri: str, suite: str) -> None:
        self._uri, self._name = uri, f"{suite}/configurations"
        self._read: dict[str, dict[int, Mapping[str, float]]] = {}

    def __call__(self, key: str) -> dict[int, Mapping[str, float]]:
        """The last value of every metric of each configuration of the job `key`, by number.

        Raises TrackingError if the store cannot be used.
        """
        if key not in self._read:
            self._read[key] = self._of(key)
        return self._read[key]

    def _of(self, key: str) -> dict[int, Mapping[str, float]]:
        client = open_store(self._uri)
        with reported(self._uri):
            place = client.get_experiment_by_name(self._name)
            if place is None:
                return {}
            runs = search(client, place.experiment_id, f"tags.leaseboard.job = '{key}'")
            return {
                int(run.data.tags["leaseboard.configuration"]): dict(run.data.metrics)
                for run in runs
            }
