"""Saved views: how the MLflow UI shows an experiment before a user has set it up.

The UI keeps the views that people save as tags of the experiment and lists them under *Views*;
these are such tags, in the same format. A view names columns, filter, order and groups. Links name
the workflow too: else the UI opens in the one that its reader chose last, at first GenAI.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from leaseboard.tasks.jobs.job import Result

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
BY_ALGORITHM = {
    "aggregateFunction": "average",
    "groupByKeys": [{"mode": "param", "groupByData": "name"}],
}


@dataclass(frozen=True, slots=True)
class View:
    """Saved view; `state` is what the UI stores of one, without its defaults.

    One without a name is found by links alone: the UI does not list it.
    """

    key: str
    name: str
    state: Mapping[str, Any]

    @classmethod
    def of(
        cls, data: str, names: Mapping[str, str], param: str, columns: Sequence[str], order: str,
        *, rising: bool = False, **more: Any,
    ) -> View:  # fmt: skip
        """Return the view of the runs whose parameter or tag `param` is `data`."""
        # MLflow has no way to write a quote in a text of that quote: _ is any sign.
        quote = '"' if "'" in data else "'"
        same, text = ("LIKE", data.replace(quote, "_")) if quote in data else ("=", data)
        state = {
            "searchFilter": f"{param} {same} {quote}{text}{quote}",
            "selectedColumns": list(columns),
            "orderByKey": order,
            "orderByAsc": rising,
        }
        key = hashlib.sha256(data.encode()).hexdigest()[:12]
        return cls(key, names.get(data, data), state | more)

    @property
    def tag(self) -> tuple[str, str]:
        """The experiment's tag that the UI reads. Times are of no use, and would differ."""
        state = json.dumps(self.state)
        whole = {"name": self.name, "createdAt": 0, "updatedAt": 0, "state": state}
        return TAG + self.key, json.dumps(whole) if self.name else state

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
HELD = "metrics.lease > 0"
LEASED = View(
    "leased", "Configurations that held a lease",
    {"searchFilter": HELD, "selectedColumns": list(CONFIGURATION_COLUMNS),
     "orderByKey": "metrics.`units`", "orderByAsc": False},
)  # fmt: skip
CONFIGURATIONS = View(
    "configurations", "All configurations",
    {"searchFilter": "tags.leaseboard.level = 'configuration'",
     "selectedColumns": list(CONFIGURATION_COLUMNS),
     "orderByKey": "metrics.`lease`", "orderByAsc": False},
)  # fmt: skip
"""Those of the longest lease come first. MLflow joins all that have the value which it orders by:
few have a lease, and all of them an outcome."""


def data_views(results: Sequence[Result], names: Mapping[str, str]) -> list[View]:
    """Return a view of each dataset: its jobs grouped by algorithm, the best first.

    Charts of such a view are anytime curves, averaged over repetitions, of the metric's own name,
    under which every job has its curve.
    """
    found = []
    for each in {r.data: r for r in sorted(results, key=lambda r: r.status == "ok")}.values():
        metric = f"metrics.`{each.metric or 'score'}`"
        columns = [metric if name == "metrics.`score`" else name for name in COLUMNS]
        rising = each.direction == "min"
        more = {"groupBy": BY_ALGORITHM, "runsHiddenMode": "FIRST_20_RUNS"}
        view = View.of(each.data, names, "params.data", columns, metric, rising=rising, **more)
        found.append(view)
    return found


def configuration_views(results: Sequence[Result], names: Mapping[str, str]) -> list[View]:
    """Return a view of each dataset's configurations, those that consumed most first.

    Not those of the best score: of few units it says little.
    """
    tag, units = "tags.leaseboard.data", "metrics.`units`"
    return [
        View.of(data, names, tag, CONFIGURATION_COLUMNS, units)
        for data in dict.fromkeys(result.data for result in results)
    ]


def job_view(result: Result, *, leased: bool) -> View:
    """Return the view of a job's configurations, or those that held a lease, the best first."""
    view = View.of(
        result.key, {}, "tags.leaseboard.job", CONFIGURATION_COLUMNS, "metrics.`score`",
        rising=result.direction == "min",
    )  # fmt: skip
    held = f"{HELD} and {view.state['searchFilter']}" if leased else view.state["searchFilter"]
    return View(result.key, "", {**view.state, "searchFilter": held})
