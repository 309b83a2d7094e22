"""The one thread that forecasts: what waits together is forecast, and logged, together."""

from __future__ import annotations

import asyncio
import queue
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime

from leaseboard.algorithms.errors import LeaseboardError
from leaseboard.tasks.keep.rows import Values, packed
from leaseboard.tasks.models.continued import LEVEL, Told
from leaseboard.tasks.serve.champion import Champion
from leaseboard.tasks.store.live_model import State

TOGETHER = 2000
"""Rows that are forecast together, about."""


@dataclass(frozen=True)
class WaitingRows:
    """Rows of a caller that waits."""

    champion: Champion
    ids: Sequence[str]
    rows: Sequence[Values]
    level: float | None
    """Of the intervals; None where the champion tells none."""
    answer: Future[list[Told]] = field(default_factory=Future)


class Desk:
    """Forecasts in one thread, since a model is for one.

    - `tell`: is told when the state cannot be written any more, and when it can again.

    No forecast is told before it stands in the state of the keep: one commit for all requests that
    came while the last was written.
    """

    def __init__(
        self, state: State, clock: Callable[[], datetime], tell: Callable[[str], None]
    ) -> None:
        self.waiting = 0
        """Rows that wait."""
        self.fault = ""
        """Why the state could not be written the last time; empty if it was."""
        self._state, self._clock, self._tell = state, clock, tell
        self._queue: queue.SimpleQueue[WaitingRows] = queue.SimpleQueue()
        self._thread = ThreadPoolExecutor(1, "forecast")

    async def ask(
        self, champion: Champion, ids: Sequence[str], rows: Sequence[Values], level: float | None
    ) -> list[Told]:
        """What the champion forecasts of rows, once that is logged."""
        request = WaitingRows(champion, ids, rows, level)
        self.waiting += len(rows)
        try:
            self._queue.put(request)
            self._thread.submit(self._answer)
            return await asyncio.wrap_future(request.answer)
        finally:
            self.waiting -= len(rows)

    def note(self, error: Exception | None = None) -> None:
        """Remember that the state could not be written, or could; what is new is reported."""
        fault = "" if error is None else " ".join(str(error).split())
        if fault != self.fault:
            self._tell(fault or "the state can be written again")
        self.fault = fault

    def stop(self) -> None:
        """Answer what waits, and end."""
        self._thread.shutdown()

    def _answer(self) -> None:
        """Answer all that waits, or about `TOGETHER` rows; the next calls find the rest."""
        group: list[WaitingRows] = []
        while not self._queue.empty() and sum(len(each.rows) for each in group) < TOGETHER:
            group.append(self._queue.get_nowait())
        told: list[list[Told] | Exception] = []
        for request in group:
            try:
                told.append(_forecasts(request))
            except Exception as error:  # noqa: BLE001  (whatever a model raises is one caller's)
                told.append(error)
        at = self._clock().isoformat(timespec="milliseconds")
        log = [
            {"id": identity, "at": at, "snapshot": f"{request.champion.name}/"
             f"{request.champion.version}", "level": request.level,
             "forecast": packed(forecast)}
            for request, found in zip(group, told, strict=True)
            if not isinstance(found, Exception)
            for identity, forecast in zip(request.ids, found, strict=True)
        ]  # fmt: skip
        try:
            if log:
                self._state.log_served(log)
                self.note()
        except Exception as error:  # noqa: BLE001  (nothing is told that is not logged)
            self.note(error)
            told = [error if isinstance(each, list) else each for each in told]
        for request, found in zip(group, told, strict=True):
            if not request.answer.set_running_or_notify_cancel():
                continue  # its caller waits no more
            if isinstance(found, Exception):
                request.answer.set_exception(found)
            else:
                request.answer.set_result(found)


def _forecasts(request: WaitingRows) -> list[Told]:
    level = LEVEL if request.level is None else request.level
    told = request.champion.snapshot.foresee(request.rows, level)
    if len(told) != len(request.rows):
        raise LeaseboardError(
            f"version {request.champion.version} of {request.champion.name} has learned nothing"
            " yet: take a turn with `leaseboard keep`"
        )
    return told
