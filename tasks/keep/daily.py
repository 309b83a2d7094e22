"""A keep's days in MLflow: a run a day, and all of them as series in one run above.

A day is closed when it is over and none of its rows waits for a label. Its run holds what the
champion of that day came to. It hangs below the run of the keep, which holds the same metrics with
a step a day, because runs beside one another are points to MLflow and no lines. A run is found
again by its day: so a turn that was killed does not make it twice, and labels that came late
change what it holds.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any

from leaseboard.algorithms.benches.measures import skill_over
from leaseboard.tasks.keep.content import packed
from leaseboard.tasks.keep.losses import measures_of
from leaseboard.tasks.keep.page.story import stays
from leaseboard.tasks.keep.publish import Publishable, provenance
from leaseboard.tasks.keep.shadow import CHAMPION, REFERENCE
from leaseboard.tasks.track.client import PARENT, search
from leaseboard.tasks.track.store import experiment, open_store, reported

if TYPE_CHECKING:
    from mlflow.tracking import MlflowClient

MOST_DAYS = 60
"""Days that are looked at in a turn: the last. Of a longer past the first are not logged."""

LEVEL, DAY, DIGEST = "leaseboard.level", "leaseboard.day", "leaseboard.digest"
"""Tags: ``keep`` or ``day``, which day, and of what was logged of it."""


@dataclass(frozen=True, slots=True)
class ClosedDay:
    """What a day came to."""

    day: str
    lineage: int
    """The champion's of that day."""
    metrics: Mapping[str, float]

    @property
    def digest(self) -> str:
        """Of all of it."""
        return hashlib.sha256(packed([self.lineage, dict(self.metrics)]).encode()).hexdigest()


def closed_days(kept: Publishable, now: datetime) -> list[ClosedDay]:
    """The last days that are over and have all their labels."""
    state = kept.state
    lineages = {each.number: each for each in state.lineages()}
    history = state.history()
    reigns = [
        (stay.start[:10], stay.lineage)
        for stay in stays(history, lineages, now.isoformat(timespec="seconds"))
        if stay.role == CHAMPION
    ]
    tried = [each.number for each in lineages.values() if each.role == REFERENCE]
    opened = [each.at[:10] for each in history if each.kind == "opened"]
    days: dict[str, dict[int, tuple[int, dict[str, float]]]] = {}
    for each in state.days():
        days.setdefault(each["day"], {})[each["lineage"]] = each["rows"], each["sums"]
    waiting, today = state.waiting(), now.date().isoformat()
    found = []
    for day in [day for day in sorted(days) if day < today and day not in waiting][-MOST_DAYS:]:
        told = days[day]
        there = [(since, number) for since, number in reigns if number in told]
        number = next((n for since, n in there[::-1] if since < day), there[0][1] if there else 0)
        if not number:
            continue
        rows, sums = told[number]
        metrics = {**measures_of(sums, rows), "rows": float(rows)}
        metrics["incidents"] = float(opened.count(day))
        losses = [told[each][1]["loss"] / told[each][0] for each in tried if each in told]
        if losses:
            metrics["skill"] = skill_over(losses, metrics["loss"])
        found.append(ClosedDay(day, number, metrics))
    return found


def log_days(
    uri: str, kept: Publishable, versions: Mapping[str, str], now: datetime, *, flow_run: str = ""
) -> list[str]:
    """Have the store hold a run of each closed day; returns the days that were written.

    - `versions`: of the roles in the registry, as `leaseboard.tasks.keep.publish.publish` gave
      them.
    - `flow_run`: the identifier of the flow run that asks for it.

    Raises TrackingError if the store cannot be used.
    """
    days = closed_days(kept, now)
    if not days:
        return []
    client = open_store(uri)
    with reported(uri):
        place = experiment(client, uri, f"keep/{kept.keep.name}")
        since = f"attributes.start_time >= {_moment(days[0].day)}"
        runs = search(client, place, f"tags.`{LEVEL}` = 'day' and {since}")
        known = {run.data.tags[DAY]: run for run in runs}
        new = [
            each
            for each in days
            if each.day not in known
            or known[each.day].info.status != "FINISHED"
            or known[each.day].data.tags.get(DIGEST) != each.digest
        ]
        if not new:
            return []
        parent = _parent(client, place, kept)
        first = date.fromisoformat(min(each.born for each in kept.state.lineages())[:10])
        tags = provenance(kept.state.batches(), kept.recipe) | (
            {"leaseboard.flow_run": flow_run} if flow_run else {}
        )
        champion = next(each for each in kept.state.lineages() if each.role == CHAMPION)
        for each in new:
            step = (date.fromisoformat(each.day) - first).days
            told = {**tags, "leaseboard.lineage": str(each.lineage), DIGEST: each.digest}
            if each.lineage == champion.number:
                told["leaseboard.model_version"] = versions.get(CHAMPION, "")
            # The series first: a run of a day that is whole says that it is in there.
            _fill(client, parent, each, step, {})
            run = known.get(each.day)
            run_id = str(run.info.run_id) if run else _created(client, place, kept, each, parent)
            _fill(client, run_id, each, step, told)
            client.set_terminated(run_id, "FINISHED", _moment(each.day, days=1))
        client.set_terminated(parent, "FINISHED", _moment(new[-1].day, days=1))
    return [each.day for each in new]


def _parent(client: MlflowClient, place: str, kept: Publishable) -> str:
    """The run of the keep."""
    for run in search(client, place, f"tags.`{LEVEL}` = 'keep'"):
        return str(run.info.run_id)
    run = client.create_run(place, tags={LEVEL: "keep"}, run_name=kept.keep.name)
    return str(run.info.run_id)


def _created(
    client: MlflowClient, place: str, kept: Publishable, day: ClosedDay, parent: str
) -> str:
    run = client.create_run(
        place,
        start_time=_moment(day.day),
        tags={LEVEL: "day", DAY: day.day, PARENT: parent},
        run_name=f"{kept.keep.name} {day.day}",
    )
    return str(run.info.run_id)


def _fill(
    client: MlflowClient, run_id: str, day: ClosedDay, step: int, tags: Mapping[str, str]
) -> None:
    from mlflow.entities import Metric, RunTag

    at = _moment(day.day)
    metrics: Sequence[Any] = [Metric(k, value, at, step) for k, value in day.metrics.items()]
    client.log_batch(run_id, metrics=metrics, tags=[RunTag(k, v) for k, v in tags.items()])


def _moment(day: str, days: int = 0) -> int:
    """When a day begins, or so many later, in milliseconds."""
    begins = datetime.fromisoformat(day).replace(tzinfo=UTC) + timedelta(days=days)
    return int(begins.timestamp() * 1000)
