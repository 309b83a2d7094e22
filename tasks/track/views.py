"""Saved views: how the MLflow UI shows an experiment before a user has set it up.

The UI keeps the views that people save as tags of the experiment and lists them under *Views*;
these are such tags, in the same format. A view names columns, filter, order and groups. Links name
the workflow too: else the UI opens in the one that its reader chose last, at first GenAI.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

TAG = "mlflow.sharedViewState."
COLUMNS = (
    "params.`name`", "params.`data`", "params.`repetition`", "metrics.`score`",
    "metrics.`cpu_seconds`", "tags.`leaseboard.status`",
)  # fmt: skip
CONFIGURATION_COLUMNS = (
    "tags.`leaseboard.outcome`", "metrics.`score`", "metrics.`units`", "metrics.`lease`",
    "metrics.`bound.lower`", "metrics.`bound.upper`", "tags.`leaseboard.reason`",
    "tags.`leaseboard.algorithm`", "tags.`leaseboard.data`",
)  # fmt: skip
"""What became of a configuration: its score, its last lease and bounds, and its state."""


@dataclass(frozen=True, slots=True)
class View:
    """Saved view; `state` is what the UI stores of one, without its defaults."""

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
        """Return its address within the UI."""
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

NIGHTS = View(
    "nights", "Leaderboards over time",
    {"searchFilter": "tags.leaseboard.night LIKE '%'", "orderByKey": "attributes.start_time",
     "orderByAsc": False, "selectedColumns": ["tags.`leaseboard.night`", "metrics.`jobs.ok`"],
     "groupBy": {"aggregateFunction": "average",
                 "groupByKeys": [{"mode": "tag", "groupByData": "leaseboard.suite"}]}},
)  # fmt: skip
"""As one group, whose charts draw its runs as one line: each has the step of its night."""
CONFIGURATIONS = View(
    "configurations", "All configurations",
    {"searchFilter": "tags.leaseboard.level = 'configuration'",
     "selectedColumns": list(CONFIGURATION_COLUMNS),
     "orderByKey": "metrics.`lease`", "orderByAsc": False},
)  # fmt: skip
"""Those of the longest lease come first. MLflow joins all that have the value which it orders by:
few have a lease, and all of them an outcome."""
