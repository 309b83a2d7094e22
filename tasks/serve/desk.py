"""The one thread that predicts: requests that wait together are answered together."""

import asyncio
import queue
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime

from leaseboard.algorithms.errors import LeaseboardError
from leaseboard.tasks.live.rows import to_json
from leaseboard.tasks.machine.disk import reach
from leaseboard.tasks.models.columns import Values
from leaseboard.tasks.models.model import LEVEL, Prediction
from leaseboard.tasks.serve.champion import Champion
from leaseboard.tasks.store.live_model import State

TOGETHER = 2000
"""Rows that are predicted together, about."""


@dataclass(frozen=True)
class WaitingRows:
    """Rows of one request that waits; `level` is None where the champion has no intervals."""

    champion: Champion
    ids: Sequence[str]
    rows: Sequence[Values]
    level: float | None
    answer: Future[list[Prediction]] = field(default_factory=Future)


class Desk:
    """Queue of requests, answered in one thread, because a model is not safe for several.

    - `report`: called when the state cannot be written any more, and when it can again.

    No prediction is sent before it is in the state of the live model: one commit for all requests
    that came while the last was written.
    """

    def __init__(
        self, state: State, clock: Callable[[], datetime], report: Callable[[str], None]
    ) -> None:
        self.fault = ""
        """Why the state could not be written the last time; empty if it was."""
        self._state, self._clock, self._report = state, clock, report
        self._queue: queue.SimpleQueue[WaitingRows] = queue.SimpleQueue()
        self._thread = ThreadPoolExecutor(1, "prediction")

    async def ask(
        self, champion: Champion, ids: Sequence[str], rows: Sequence[Values], level: float | None
    ) -> list[Prediction]:
        """Return the champion's predictions of rows, once they are logged."""
        request = WaitingRows(champion, ids, rows, level)
        self._queue.put(request)
        self._thread.submit(self._answer)
        return await asyncio.wrap_future(request.answer)

    def note(self, error: Exception | None = None) -> None:
        """Remember that the state could not be written, or could; report a change."""
        fault = "" if error is None else " ".join(str(error).split())
        if fault != self.fault:
            self._report(fault or "the state can be written again")
        self.fault = fault

    def recovers(self) -> bool:
        """Return whether the state can be written, which is tried if it could not."""
        if self.fault:
            try:
                self._state.check()
                self.note()
            except LeaseboardError as error:
                self.note(error)
        return not self.fault

    def stop(self) -> None:
        """Answer what waits, and end."""
        self._thread.shutdown()

    def _answer(self) -> None:
        """Answer all that waits, or about `TOGETHER` rows; the next calls find the rest."""
        group: list[WaitingRows] = []
        while not self._queue.empty() and sum(len(each.rows) for each in group) < TOGETHER:
            group.append(self._queue.get_nowait())
        at, log = self._clock().isoformat(timespec="milliseconds"), []
        predicted: list[list[Prediction] | Exception] = []
        for each in group:
            try:
                found = _predictions(each)
            except Exception as error:  # noqa: BLE001  (an error of a model is of one request)
                predicted.append(error)
                continue
            predicted.append(found)
            snapshot = f"{each.champion.name}/{each.champion.version}"
            log += [
                {"id": identity, "at": at, "snapshot": snapshot, "level": each.level,
                 "prediction": to_json(prediction)}
                for identity, prediction in zip(each.ids, found, strict=True)
            ]  # fmt: skip
        try:
            if log:
                reach("serve.before-log")
                self._state.log_served(log)
                reach("serve.after-log")
                self.note()
        except Exception as error:  # noqa: BLE001  (nothing is sent that is not logged)
            self.note(error)
            predicted = [error if isinstance(each, list) else each for each in predicted]
        for request, answer in zip(group, predicted, strict=True):
            if not request.answer.set_running_or_notify_cancel():
                continue  # its caller waits no more
            if isinstance(answer, Exception):
                request.answer.set_exception(answer)
            else:
                request.answer.set_result(answer)


def _predictions(request: WaitingRows) -> list[Prediction]:
    level = LEVEL if request.level is None else request.level
    found = request.champion.snapshot.predict_rows(request.rows, level)
    if len(found) != len(request.rows):
        raise LeaseboardError(
            f"version {request.champion.version} of {request.champion.name} has learned nothing"
            " yet: run `leaseboard live update`"
        )
    return found
