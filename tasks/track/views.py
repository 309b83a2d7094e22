"""Saved views of a suite's experiment: how the MLflow UI shows it before anybody has set it up.

The UI keeps the views that people save as tags of the experiment and lists them under *Views*;
these are such tags, in the same format. A view names columns, filter, order and groups. Links
name the workflow too: else the UI opens in the one that its reader chose last, at first GenAI.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from tasks.jobs.job import Result

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
