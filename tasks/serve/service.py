"""Answers of the server: predictions, receipts of labels, health and metrics."""

import asyncio
import collections
import uuid
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Annotated, Any, NamedTuple

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from pydantic import Field, TypeAdapter

from leaseboard.algorithms.errors import DataError, LeaseboardError, short
from leaseboard.tasks.live.rows import to_json
from leaseboard.tasks.live.settings import DataSettings
from leaseboard.tasks.machine.failpoints import reach
from leaseboard.tasks.models.model import LEVEL, Prediction
from leaseboard.tasks.serve.admission import RefusedError
from leaseboard.tasks.serve.bodies import MOST_ROWS, Body, Row, parsed
from leaseboard.tasks.serve.champion import Champion, Follower
from leaseboard.tasks.serve.desk import Desk
from leaseboard.tasks.store.live_model import State

MOST_WAITING = 20_000
"""Rows of all requests that wait."""
_SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)


class PostedLabel(Body):
    """One of the body of ``/labels``."""

    id: Any
    label: Any


_POSTED: TypeAdapter[Any] = TypeAdapter(
    Annotated[list[PostedLabel], Field(min_length=1, max_length=MOST_ROWS)]
)


class Meters:
    """Metrics of one server, for Prometheus."""

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
        self.predictions = counter("leaseboard_predictions", "Rows that were predicted.")
        self.labels = counter("leaseboard_labels", "Labels that were posted.")
        self.errors = counter("leaseboard_errors", "Requests that failed by our fault.")
        self.champion = gauge(
            "leaseboard_snapshot", "1 for the snapshot that predicts.",
            ["model", "version", "candidate", "digest"],
        )  # fmt: skip
        self.fault = gauge("leaseboard_fault", "1 while /health has a fault.")

    def text(self, champion: Champion | None) -> bytes:
        """Return all of them, as Prometheus reads them."""
        self.champion.clear()
        if champion is not None:
            self.champion.labels(**champion.describe()).set(1)
        return generate_latest(self._registry)


class Predicted(NamedTuple):
    """Predictions of the rows of a request, which are in the log."""

    champion: Champion
    level: float | None
    """Of the intervals; None without intervals."""
    ids: Sequence[str]
    predictions: Sequence[Prediction]


class PredictionService:
    """Answers for one live model.

    - `clock`: says what time it is, in UTC.
    """

    def __init__(
        self, data: DataSettings, follower: Follower, state: State, clock: Callable[[], datetime]
    ) -> None:
        self.meters = Meters()
        self.follower = follower
        self._data, self._state, self._clock = data, state, clock
        self._desk = Desk(state, clock, follower.report)

    def stop(self) -> None:
        """Answer what waits, and end."""
        self.follower.stop()
        self._desk.stop()

    async def predict(self, rows: Sequence[Row], level: float | None) -> Predicted:
        """Predict rows; each prediction is in the state before it is returned.

        - `level`: of the intervals; None: the usual one.
        """
        champion, rules = self.champion(), self.follower.rules
        if not 0 < len(rows) <= MOST_ROWS:
            said = f"{len(rows):,} rows: send 1 to {MOST_ROWS:,} in a request"
            raise RefusedError(400, "shape", said)
        if self._desk.waiting > MOST_WAITING:
            said = f"{self._desk.waiting} rows wait already: try again in a second"
            raise RefusedError(503, "busy", said)
        level = _level(champion, level)
        _refuse_broken(rules.row_fault, rows)
        ids = [rules.identity(row) or str(uuid.uuid4()) for row in rows]
        _refuse_twice(ids)
        try:
            values = [champion.snapshot.read(row) for row in rows]
            found = await self._desk.ask(champion, ids, values, level)
        except DataError as error:
            raise RefusedError(400, "model", str(error)) from error
        self.meters.predictions.inc(len(rows))
        return Predicted(champion, level, ids, found)

    def champion(self) -> Champion:
        """Return the champion; raise RefusedError if there is none yet."""
        if self.follower.champion is None:
            said = "no champion yet: run `leaseboard live update`"
            raise RefusedError(503, "no champion", said)
        return self.follower.champion

    async def labels(self, body: bytes) -> dict[str, Any]:
        """Store labels until the next update joins them."""
        posted = parsed(_POSTED, body, '[{"id": ..., "label": ...}]')
        data, rules = self._data, self.follower.rules
        if data.id is None:
            said = "the live model has no id that labels could name: name a column in its file"
            raise RefusedError(400, "labels", said)
        rows = [{data.id: each.id, data.target: each.label} for each in posted]
        _refuse_broken(rules.label_fault, rows)
        ids = [rules.identity(row) or "" for row in rows]
        _refuse_twice(ids)
        at = self._clock().isoformat(timespec="seconds")
        found = [
            {"id": identity, "at": at, "label": to_json(rules.label(row))}
            for identity, row in zip(ids, rows, strict=True)
        ]
        try:
            await asyncio.to_thread(self._state.post, found)
            reach("serve.after-labels")
        except LeaseboardError as error:
            self._desk.note(error)
            raise
        self._desk.note()
        self.meters.labels.inc(len(found))
        return {"posted": len(found)}

    async def health(self, *, trusted: bool) -> tuple[int, dict[str, Any]]:
        """Return whether there is a champion, and which.

        - `trusted`: the caller may know why, too: a fault names places of this machine.
        """
        champion = self.follower.champion
        status, code = "ok", 200
        if champion is None:
            status, code = "no champion yet", 503
        elif self._desk.fault and not await asyncio.to_thread(self._recovers):
            status, code = "the state cannot be written", 503
        found: dict[str, Any] = {"status": status}
        if champion is not None:
            found |= {
                "snapshot": champion.describe(),
                "age_seconds": round(self._clock().timestamp() - champion.made, 1),
            }
        return code, found | ({"fault": self._fault} if trusted else {})

    def metrics(self) -> bytes:
        """Return the metrics."""
        if self._desk.fault:
            self._recovers()
        self.meters.fault.set(bool(self._fault))
        return self.meters.text(self.follower.champion)

    @property
    def _fault(self) -> str:
        """The present fault; empty without a fault."""
        return "; ".join(filter(None, (self.follower.fault, self._desk.fault)))

    def _recovers(self) -> bool:
        """Return whether the state can be written again."""
        try:
            self._state.check()
        except LeaseboardError as error:
            self._desk.note(error)
            return False
        self._desk.note()
        return True


def _level(champion: Champion, wanted: float | None) -> float | None:
    """Return the level of the intervals; None without intervals."""
    levels = champion.snapshot.levels
    if wanted is None:
        return LEVEL if LEVEL in levels else None
    if wanted not in levels:
        fix = f"name one of {', '.join(map(str, levels))}" if levels else "leave it out"
        said = f"level {wanted:g}: this model has no such intervals: {fix}"
        raise RefusedError(400, "level", said)
    return wanted


def _refuse_broken(
    fault: Callable[[Mapping[str, Any]], str | None], rows: Sequence[Mapping[str, Any]]
) -> None:
    """Raise RefusedError with all reasons if a row breaks the contract."""
    broken = [{"row": i + 1, "reason": why} for i, row in enumerate(rows) if (why := fault(row))]
    if broken:
        said = (
            f"row {broken[0]['row']}: {broken[0]['reason']}: fix it, or leave it out"
            f" ({len(broken)} of {len(rows)} break the contract)"
        )
        raise RefusedError(400, "contract", said, refused=broken)


def _refuse_twice(ids: Sequence[str]) -> None:
    """Raise RefusedError if two rows of a request have one id."""
    identity, times = collections.Counter(ids).most_common(1)[0]
    if times > 1:
        rows = [row for row, each in enumerate(ids, 1) if each == identity]
        said = f"id {short(repr(identity), 60)} is that of rows {rows[0]} and {rows[1]}: send one"
        raise RefusedError(400, "id", said)
