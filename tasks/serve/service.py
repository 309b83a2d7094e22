"""What the server answers, whatever asks it: forecasts, thanks for labels, how it stands."""

from __future__ import annotations

import asyncio
import collections
import math
import uuid
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Annotated, Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from leaseboard.algorithms.errors import DataError, LeaseboardError, short
from leaseboard.tasks.keep.rows import packed
from leaseboard.tasks.keep.settings import DataSettings
from leaseboard.tasks.models.continued import LEVEL, Told
from leaseboard.tasks.serve.admission import RefusedError
from leaseboard.tasks.serve.champion import Champion, Follower
from leaseboard.tasks.serve.desk import Desk
from leaseboard.tasks.store.live_model import State

MOST_ROWS = 1000
"""Of a request."""
MOST_WAITING = 20_000
"""Rows of all requests that wait."""
_SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)


class WantedForecasts(BaseModel):
    """The body of ``/predict``."""

    model_config = ConfigDict(extra="forbid")

    rows: Annotated[list[dict[str, Any]], Field(min_length=1, max_length=MOST_ROWS)]
    level: float | None = None


class PostedLabel(BaseModel):
    """One of the body of ``/labels``."""

    model_config = ConfigDict(extra="forbid")

    id: Any
    label: Any


_WANTED: TypeAdapter[Any] = TypeAdapter(WantedForecasts)
_POSTED: TypeAdapter[Any] = TypeAdapter(
    Annotated[list[PostedLabel], Field(min_length=1, max_length=MOST_ROWS)]
)


class Meters:
    """What Prometheus reads of one server."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        counter, gauge = (partial(each, registry=self._registry) for each in (Counter, Gauge))
        self.requests = counter(
            "leaseboard_requests", "Requests, by path and status.", ["path", "status"]
        )
        self.seconds = Histogram(
            "leaseboard_request_seconds", "How long requests took.", ["path"],
            buckets=_SECONDS, registry=self._registry,
        )  # fmt: skip
        self.refusals = counter(
            "leaseboard_refusals", "Requests that were refused, by reason.", ["reason"]
        )
        self.forecasts = counter("leaseboard_forecasts", "Rows that were forecast.")
        self.labels = counter("leaseboard_labels", "Labels that were posted.")
        self.errors = counter("leaseboard_errors", "Requests that failed by our fault.")
        self.champion = gauge(
            "leaseboard_snapshot", "1 for the snapshot that forecasts.",
            ["model", "version", "lineage", "digest"],
        )  # fmt: skip
        self.fault = gauge("leaseboard_fault", "1 while /health tells a fault.")
        self.age = gauge("leaseboard_snapshot_age_seconds", "Since the snapshot was made.")
        self.lag = gauge("leaseboard_label_lag_seconds", "Since a turn took in a label.")
        self.posted = gauge("leaseboard_labels_waiting", "Posted labels that wait for a turn.")

    def text(self, champion: Champion | None) -> bytes:
        """All of them, as Prometheus reads them."""
        self.champion.clear()
        if champion is not None:
            self.champion.labels(**champion.told()).set(1)
        return generate_latest(self._registry)


class ForecastService:
    """The answers for one keep.

    - `clock`: says what time it is, in UTC.
    """

    def __init__(
        self, data: DataSettings, follower: Follower, state: State, clock: Callable[[], datetime]
    ) -> None:
        self.meters = Meters()
        self.follower = follower
        self._data, self._state, self._clock = data, state, clock
        self._desk = Desk(state, clock, follower.tell)

    def stop(self) -> None:
        """Answer what waits, and end."""
        self.follower.stop()
        self._desk.stop()

    async def predict(self, body: bytes) -> dict[str, Any]:
        """Forecasts for rows; each stands in the state before it is told."""
        wanted = _parsed(_WANTED, body, '{"rows": [{...}]}')
        champion, rules, rows = self.follower.champion, self.follower.rules, wanted.rows
        if champion is None:
            said = "there is no champion yet: take a turn with `leaseboard keep`"
            raise RefusedError(503, "no champion", said)
        if self._desk.waiting > MOST_WAITING:
            said = f"{self._desk.waiting} rows wait already: try again in a second"
            raise RefusedError(503, "busy", said)
        level = _level(champion, wanted.level)
        _refuse_broken(rules.row_fault, rows)
        ids = [rules.identity(row) or str(uuid.uuid4()) for row in rows]
        _refuse_twice(ids)
        try:
            values = [champion.snapshot.read(row) for row in rows]
            told = await self._desk.ask(champion, ids, values, level)
        except DataError as error:
            raise RefusedError(422, "model", str(error)) from error
        self.meters.forecasts.inc(len(rows))
        forecasts = [
            {"id": identity, **_plain(each)} for identity, each in zip(ids, told, strict=True)
        ]
        return {"snapshot": champion.told(), "level": level, "forecasts": forecasts}

    async def labels(self, body: bytes) -> dict[str, Any]:
        """Keep labels until the next turn takes them in."""
        posted = _parsed(_POSTED, body, '[{"id": ..., "label": ...}]')
        data, rules = self._data, self.follower.rules
        if data.id is None:
            said = "the keep has no id by which labels find their rows: name a column in its file"
            raise RefusedError(422, "labels", said)
        rows = [{data.id: each.id, data.target: each.label} for each in posted]
        _refuse_broken(rules.label_fault, rows)
        ids = [rules.identity(row) or "" for row in rows]
        _refuse_twice(ids)
        at = self._clock().isoformat(timespec="seconds")
        found = [
            {"id": identity, "at": at, "label": packed(rules.label(row))}
            for identity, row in zip(ids, rows, strict=True)
        ]
        try:
            await asyncio.to_thread(self._state.post, found)
        except LeaseboardError as error:
            self._desk.note(error)
            raise
        self._desk.note()
        self.meters.labels.inc(len(found))
        return {"posted": len(found)}

    async def health(self, *, trusted: bool) -> tuple[int, dict[str, Any]]:
        """Whether there is what forecasts, and which it is.

        - `trusted`: who asks may know why, too: a fault names places of this machine.
        """
        champion = self.follower.champion
        status, code = "ok", 200
        if champion is None:
            status, code = "no champion yet", 503
        elif self._desk.fault and not await asyncio.to_thread(self._recovers):
            status, code = "the state cannot be written", 503
        told: dict[str, Any] = {"status": status}
        if champion is not None:
            told |= {"snapshot": champion.told(), "age_seconds": round(self._age(champion), 1)}
        return code, told | ({"fault": self._fault} if trusted else {})

    def metrics(self) -> bytes:
        """What Prometheus reads; the state is asked how labels stand."""
        champion, meters = self.follower.champion, self.meters
        if self._desk.fault:
            self._recovers()
        try:
            waiting, came = self._state.labels()
        except LeaseboardError as error:  # the other figures are wanted now of all times
            self._desk.note(error)
        else:
            meters.posted.set(waiting)
            if came is not None:
                meters.lag.set((self._clock() - datetime.fromisoformat(came)).total_seconds())
        meters.fault.set(bool(self._fault))
        if champion is not None:
            meters.age.set(self._age(champion))
        return meters.text(champion)

    @property
    def _fault(self) -> str:
        """What is wrong now; empty if nothing is."""
        return "; ".join(filter(None, (self.follower.fault, self._desk.fault)))

    def _recovers(self) -> bool:
        """Ask the state whether it can be written again."""
        try:
            self._state.check()
        except LeaseboardError as error:
            self._desk.note(error)
            return False
        self._desk.note()
        return True

    def _age(self, champion: Champion) -> float:
        """Seconds since its snapshot was made."""
        return self._clock().timestamp() - champion.made


def _parsed(shape: TypeAdapter[Any], body: bytes, example: str) -> Any:
    """RefusedError, in one line, for what has another shape."""
    try:
        return shape.validate_json(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        said = f"{where}: {first['msg']}" if where else first["msg"]
        raise RefusedError(422, "shape", f"{short(said)}: send {example}") from None


def _level(champion: Champion, wanted: float | None) -> float | None:
    """The level of the intervals; None where there are none."""
    kept = champion.snapshot.living.levels
    if wanted is None:
        return LEVEL if LEVEL in kept else None
    if wanted not in kept:
        mend = f"name one of {', '.join(map(str, kept))}" if kept else "leave it out"
        said = f"level {wanted:g}: this model tells no such intervals: {mend}"
        raise RefusedError(422, "level", said)
    return wanted


def _refuse_broken(
    fault: Callable[[Mapping[str, Any]], str | None], rows: Sequence[Mapping[str, Any]]
) -> None:
    """RefusedError with all reasons, if a row breaks the contract."""
    broken = [{"row": i + 1, "reason": why} for i, row in enumerate(rows) if (why := fault(row))]
    if broken:
        said = (
            f"row {broken[0]['row']}: {broken[0]['reason']}: mend it, or leave it out"
            f" ({len(broken)} of {len(rows)} break the contract)"
        )
        raise RefusedError(422, "contract", said, refused=broken)


def _refuse_twice(ids: Sequence[str]) -> None:
    """RefusedError if two rows of a request have one id."""
    identity, times = collections.Counter(ids).most_common(1)[0]
    if times > 1:
        rows = [row for row, each in enumerate(ids, 1) if each == identity]
        said = f"id {short(repr(identity), 60)} is that of rows {rows[0]} and {rows[1]}: send one"
        raise RefusedError(422, "id", said)


def _plain(told: Told) -> dict[str, Any]:
    """A forecast as JSON has it; an end that is not known yet is null."""
    if isinstance(told, Mapping):
        return {"forecast": max(told, key=told.__getitem__), "probabilities": told}
    ends = told if isinstance(told, list) else [told]
    finite = (each if math.isfinite(each) else None for each in ends)
    return dict(zip(("forecast", "low", "high"), finite, strict=False))
