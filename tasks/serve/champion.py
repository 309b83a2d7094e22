"""The champion of a live model, followed from second to second, and the one thread that predicts.

The alias `champion` of MLflow's registry names a candidate. What it has learned by now is in the
state of the live model, where each update writes it. Requests that wait together are answered
together.
"""

import asyncio
import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from leaseboard.algorithms.errors import LeaseboardError, short
from leaseboard.algorithms.tables.values import ValueKind, is_gap, text_of
from leaseboard.tasks.live.candidates import CHAMPION
from leaseboard.tasks.live.contract_check import row_reader
from leaseboard.tasks.live.incidents import LifecycleState
from leaseboard.tasks.live.record import key_of
from leaseboard.tasks.live.rows import Snapshot, features_of, to_json
from leaseboard.tasks.live.settings import Contract, DataSettings, LiveSettings, read_contract
from leaseboard.tasks.machine.disk import reach
from leaseboard.tasks.models.columns import Values
from leaseboard.tasks.models.model import Prediction, load
from leaseboard.tasks.models.registry import KEY
from leaseboard.tasks.store.live_model import State
from leaseboard.tasks.track.store import open_store, reported

if TYPE_CHECKING:
    from mlflow.tracking import MlflowClient

PERIOD = 1.0
"""Seconds between two looks at the alias."""
FIRST_LOOK = 15.0
"""Seconds that a start waits for the first look: a registry that is away takes a minute."""


@dataclass(frozen=True)
class Champion:
    """Candidate that predicts, in its state after an update."""

    snapshot: Snapshot
    name: str
    version: str
    candidate: str
    digest: str
    """Of what it has learned."""
    kinds: Mapping[str, ValueKind]
    """Those of the features that it has learned."""

    def describe(self) -> dict[str, str]:
        """Return which version it is, for answers."""
        return {"model": self.name, "version": self.version, "candidate": self.candidate,
                "digest": self.digest[:16]}  # fmt: skip


class RowRules:
    """Data contract for single rows."""

    def __init__(self, contract: Contract, data: DataSettings) -> None:
        columns = {name: rule for name, rule in contract.columns.items() if name != data.target}
        self._data, self._read, self.names = data, row_reader(columns), columns.keys()
        self._categories = {
            name: set(map(text_of, rule.categories))
            for name, rule in columns.items()
            if rule.kind == "category"
        }

    def row_fault(self, row: Mapping[str, Any]) -> str | None:
        """Return why a row without its label breaks the contract; None if it does not."""
        return self._read(row)[1] or self._name_fault(row)

    def unknown_categories(self, row: Mapping[str, Any]) -> list[str]:
        """Return the columns whose category the contract does not name."""
        return [
            name
            for name, known in self._categories.items()
            if not is_gap(row.get(name)) and text_of(row[name]) not in known
        ]

    def identity(self, row: Mapping[str, Any]) -> str | None:
        """Return the identity of the row in an update; None where rows have no id."""
        return None if self._data.id is None else text_of(row[self._data.id])

    def _name_fault(self, row: Mapping[str, Any]) -> str | None:
        """Return why a name is probably that of a column which may be left out, misspelled."""
        unknown = row.keys() - self.names - {self._data.target}
        absent = self.names - row.keys() if unknown else ()
        if not absent:
            return None
        return f"no column {min(absent)!r}, and {short(repr(min(unknown)), 60)} is unknown"


class Follower:
    """Follower of the alias and the contract of a live model.

    - `uri`: of the MLflow store.
    - `report`: called with each new fault, once. The last champion goes on predicting.

    Raises UsageError if the contract cannot be read.
    """

    def __init__(
        self, uri: str, settings: LiveSettings, state: State, report: Callable[[str], None]
    ) -> None:
        self.champion: Champion | None = None
        self.name, self.fault, self.report = settings.name, "", report
        self._uri, self._settings, self._state = uri, settings, state
        self._read_contract()
        self._set_rules()
        self._client: MlflowClient | None = None
        self._looked = threading.Event()

    def start(self) -> None:
        """Look now, and then every second, until the process ends."""
        threading.Thread(target=self._follow, name="follow", daemon=True).start()
        self._looked.wait(FIRST_LOOK)

    def look(self) -> None:
        """Read the alias and the contract; a fault of one does not hold up the other."""
        steps = self._read_contract, self._take_up
        fault = "; ".join(filter(None, map(_fault_of, steps)))
        self._set_rules()
        if fault and fault != self.fault:
            self.report(fault)
        self.fault = fault

    def _follow(self) -> None:
        while True:
            self.look()
            self._looked.set()
            time.sleep(PERIOD)

    def _read_contract(self) -> None:
        self._contract = read_contract(self._settings.contract, self._settings.data)

    def _set_rules(self) -> None:
        """Judge rows by the contract; the state knows the kinds of columns undecided there."""
        contract = self._contract.with_kinds(self.champion.kinds if self.champion else {})
        self.rules = RowRules(contract, self._settings.data)

    def _take_up(self) -> None:
        """Take up the candidate that has the alias, as the last update left it."""
        from mlflow.exceptions import MlflowException

        client = self._client = self._client or open_store(self._uri)
        with reported(self._uri):
            try:
                version = client.get_model_version_by_alias(self.name, CHAMPION)
            except MlflowException as error:
                if error.error_code not in {"RESOURCE_DOES_NOT_EXIST", "INVALID_PARAMETER_VALUE"}:
                    raise
                if self.champion is None:
                    return  # none yet
                raise LeaseboardError(
                    f"models:/{self.name}@{CHAMPION} is gone: predictions still come from version"
                    f" {self.champion.version}; run `leaseboard live update`"
                ) from error
        keyed = {key_of(each): each for each in self._state.candidates()}
        candidate = keyed.get(version.tags.get(KEY, ""))
        if candidate is None or candidate.model is None:
            raise LeaseboardError(
                f"version {version.version} of {self.name} is not of a candidate of {self._state}:"
                " run `leaseboard live update`"
            )
        now, number, digest = self.champion, str(version.version), candidate.model
        if now is not None and (now.version, now.digest) == (number, digest):
            return
        model = load(self._state.model(digest), f"a model of the state {self._state}")
        kinds = LifecycleState.read(self._state.lifecycle()).kinds
        features = features_of(self._contract.with_kinds(kinds), self._settings.data, kinds)
        snapshot = Snapshot(features, model)
        # The first prediction loads compiled code: no caller should wait for that.
        snapshot.predict_rows([snapshot.read({})])
        self.champion = Champion(snapshot, self.name, number, str(candidate.number), digest, kinds)
        if now is None or now.version != number:
            self.report(f"predictions come from models:/{self.name}/{number}")


def _fault_of(step: Callable[[], None]) -> str:
    """Return why a step failed, in a line; the next look tries again."""
    try:
        step()
    except (LeaseboardError, OSError) as error:
        return " ".join(str(error).split())
    except Exception as error:  # noqa: BLE001  (the thread must not end)
        return f"internal error: {type(error).__name__}: {short(' '.join(str(error).split()))}"
    return ""


TOGETHER = 2000
"""Rows that are predicted together, about."""


class Desk:
    """Queue of requests, answered in one thread, because a model is not safe for several.

    No prediction is sent before it is in the state of the live model: one commit for all requests
    that came while the last was written.
    """

    def __init__(self, state: State, clock: Callable[[], datetime]) -> None:
        self._state, self._clock = state, clock
        self._queue: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._thread = ThreadPoolExecutor(1, "prediction")

    async def ask(
        self, champion: Champion, ids: Sequence[str], rows: Sequence[Values]
    ) -> list[Prediction]:
        """Return the champion's predictions of rows, once they are logged."""
        answer: Future[list[Prediction]] = Future()
        self._queue.put((champion, ids, rows, answer))
        self._thread.submit(self._answer)
        return await asyncio.wrap_future(answer)

    def stop(self) -> None:
        """Answer what waits, and end."""
        self._thread.shutdown()

    def _answer(self) -> None:
        """Answer all that waits, or about `TOGETHER` rows; the next calls find the rest."""
        at, log, made = self._clock().isoformat(timespec="milliseconds"), [], []
        while not self._queue.empty() and len(log) < TOGETHER:
            champion, ids, rows, answer = self._queue.get_nowait()
            if not answer.set_running_or_notify_cancel():
                continue  # its caller waits no more
            try:
                found = _predictions(champion, rows)
            except Exception as error:  # noqa: BLE001  (an error of a model is of one request)
                answer.set_exception(error)
                continue
            made.append((answer, found))
            snapshot = f"{champion.name}/{champion.version}"
            log += [
                {"id": identity, "at": at, "snapshot": snapshot, "prediction": to_json(prediction)}
                for identity, prediction in zip(ids, found, strict=True)
            ]
        try:
            if log:
                reach("serve.before-log")
                self._state.log_served(log)
                reach("serve.after-log")
        except Exception as error:  # noqa: BLE001  (nothing is sent that is not logged)
            for answer, _ in made:
                answer.set_exception(error)
        else:
            for answer, found in made:
                answer.set_result(found)


def _predictions(champion: Champion, rows: Sequence[Values]) -> list[Prediction]:
    found = champion.snapshot.predict_rows(rows)
    if len(found) != len(rows):
        raise LeaseboardError(
            f"version {champion.version} of {champion.name} has learned nothing yet: run"
            " `leaseboard live update`"
        )
    return found
