"""The champion and the contract of a live model, followed from second to second."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from leaseboard.algorithms.errors import LeaseboardError, UsageError, short
from leaseboard.algorithms.tables.values import text_of
from leaseboard.tasks.live.contract import NUMBERS, Contract, read_contract
from leaseboard.tasks.live.contract_check import row_check
from leaseboard.tasks.live.rows import reader_of
from leaseboard.tasks.live.settings import DataSettings, LiveSettings
from leaseboard.tasks.live.shadow import CHAMPION
from leaseboard.tasks.live.snapshot import Snapshot
from leaseboard.tasks.models.logged import CANDIDATE, KEY, download
from leaseboard.tasks.models.model import load_file
from leaseboard.tasks.store.live_tables import LONGEST_ID
from leaseboard.tasks.track.store import open_store, reported

if TYPE_CHECKING:
    from mlflow.tracking import MlflowClient

PERIOD = 1.0
"""Seconds between two looks at the alias."""
FIRST_LOOK = 15.0
"""Seconds that a start waits for the first look: a registry that is away takes a minute."""
LAST_LOOK = 5.0
"""Seconds that a stop waits for the last one."""


@dataclass(frozen=True)
class Champion:
    """Version that predicts."""

    snapshot: Snapshot
    name: str
    version: str
    candidate: str
    digest: str
    """Of what it has learned."""
    made: float
    """When its snapshot was made: seconds since 1970."""
    source: str = ""
    """Where the registry has it; a version's number may be given again once a model is deleted."""

    def describe(self) -> dict[str, str]:
        """Return which version it is, for answers."""
        return {"model": self.name, "version": self.version, "candidate": self.candidate,
                "digest": self.digest[:16]}  # fmt: skip


class RowRules:
    """Data contract for single rows."""

    def __init__(self, contract: Contract, data: DataSettings) -> None:
        columns = self.columns = dict(contract.columns)
        """Those of a row without its label, in the order of the contract."""
        target = columns.pop(data.target)
        needed = {data.target: target.model_copy(update={"missing": 0.0, "required": True})}
        self._data, self._read_label = data, reader_of(target.kind)
        self._read_id: Callable[[Any], Any] | None = None
        if data.id is not None:
            rule = needed[data.id] = columns[data.id]
            self._read_id = text_of if rule.kind in NUMBERS else reader_of(rule.kind)
        self._check_row = row_check(Contract(columns=columns))
        self._check_label = row_check(Contract(columns=needed))

    def row_fault(self, row: Mapping[str, Any]) -> str | None:
        """Return why a row without its label breaks the contract; None if it does not."""
        return self._check_row(row) or self._name_fault(row) or self._id_fault(row)

    def _name_fault(self, row: Mapping[str, Any]) -> str | None:
        """Return why a name is probably that of a column which may be left out, misspelled."""
        unknown = row.keys() - self.columns.keys() - {self._data.target}
        absent = self.columns.keys() - row.keys() if unknown else ()
        if not absent:
            return None
        return f"no column {min(absent)!r}, and {short(repr(min(unknown)), 60)} is unknown"

    def label_fault(self, row: Mapping[str, Any]) -> str | None:
        """Return why an id and a label break the contract; None if they do not."""
        return self._check_label(row) or self._id_fault(row)

    def label(self, row: Mapping[str, Any]) -> Any:
        """Return the label of a row, as an update reads it."""
        return self._read_label(row[self._data.target])

    def identity(self, row: Mapping[str, Any]) -> str | None:
        """Return the identity of the row in an update; None where rows have no id."""
        if self._data.id is None or self._read_id is None:
            return None
        return text_of(self._read_id(row[self._data.id]))

    def _id_fault(self, row: Mapping[str, Any]) -> str | None:
        """Return why the state could not find a row by its id."""
        identity = self.identity(row)
        if identity is None or (0 < len(identity) <= LONGEST_ID and "\0" not in identity):
            return None
        return (
            f"{self._data.id} {short(repr(identity), 60)} is not an id: write 1 to {LONGEST_ID}"
            " characters without NUL"
        )


class Follower:
    """Follower of the alias and the contract of a live model.

    - `uri`: of the MLflow store.
    - `keep`: the settings of the live model.
    - `report`: called with each new fault, once. The last champion goes on predicting.

    Raises UsageError if the contract cannot be read.
    """

    def __init__(self, uri: str, keep: LiveSettings, report: Callable[[str], None]) -> None:
        self.champion: Champion | None = None
        self._uri, self._keep, self.name = uri, keep, keep.name
        self._version_of_file: tuple[int, ...] = ()
        self._read_rules()
        self.fault = ""
        self.report = report
        self._faults: list[str] = []
        self._looked = threading.Event()
        self._client: MlflowClient | None = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="follow", daemon=True)

    def start(self) -> None:
        """Look at the alias now, and then every second."""
        self._thread.start()
        self._looked.wait(FIRST_LOOK)

    def stop(self) -> None:
        """Look no more."""
        self._stop.set()
        self._thread.join(LAST_LOOK)

    def look(self) -> None:
        """Read the alias and the contract; a fault of one does not hold up the other."""
        faults = [why for step in (self._read_rules, self._take_up) if (why := _fault_of(step))]
        for fault in faults:
            if fault not in self._faults:
                self.report(fault)
        self._faults, self.fault = faults, "; ".join(faults)

    def _follow(self) -> None:
        self.look()
        self._looked.set()
        while not self._stop.wait(PERIOD):
            self.look()

    def _read_rules(self) -> None:
        """Read the contract if it was replaced or edited."""
        path = self._keep.contract
        try:
            found = path.stat()
        except OSError as error:
            raise UsageError(f"cannot read {path}: {error.strerror}") from error
        seen = found.st_ino, found.st_mtime_ns, found.st_size
        if seen != self._version_of_file:
            self._contract = read_contract(path, self._keep.data)
            self._version_of_file = seen
            self._set_rules()

    def _set_rules(self) -> None:
        """Judge rows by the contract; the champion knows the kinds of columns undecided there."""
        known = self.champion.snapshot.columns if self.champion is not None else ()
        contract = self._contract.with_kinds({each.name: each.kind for each in known})
        self.rules = RowRules(contract, self._keep.data)

    def _take_up(self) -> None:
        from mlflow.exceptions import MlflowException

        client = self._client = self._client or open_store(self._uri)
        with reported(self._uri):
            try:
                version = client.get_model_version_by_alias(self.name, CHAMPION)
            except MlflowException as error:
                if error.error_code in {"RESOURCE_DOES_NOT_EXIST", "INVALID_PARAMETER_VALUE"}:
                    if self.champion is None:
                        return  # none yet
                    raise LeaseboardError(
                        f"models:/{self.name}@{CHAMPION} is gone: predictions still come from"
                        f" version {self.champion.version}; run `leaseboard live update`"
                    ) from error
                raise
            now = self.champion
            is_same = now is not None and now.version == str(version.version)
            if now is not None and is_same and now.source == version.source:
                return
            with tempfile.TemporaryDirectory() as folder:
                (place,) = download(client, self._uri, version, folder, "artifacts")
                snapshot = load_file(place, f"models:/{self.name}/{version.version}")
        tags = version.tags
        if not isinstance(snapshot, Snapshot) or not tags.keys() >= {CANDIDATE, KEY}:
            raise LeaseboardError(
                f"version {version.version} of {self.name} is not of a live model: let"
                " `leaseboard live update` publish one"
            )
        # The first prediction loads compiled code: no caller should wait for that.
        snapshot.predict_rows([snapshot.read({})])
        self.champion = Champion(
            snapshot,
            self.name,
            str(version.version),
            tags[CANDIDATE],
            tags[KEY].partition("-")[2],
            version.creation_timestamp / 1000,
            version.source,
        )
        self._set_rules()
        self.report(f"predictions come from models:/{self.name}/{version.version}")


def _fault_of(step: Callable[[], None]) -> str:
    """Return why a step failed, in a line; the next look tries again."""
    try:
        step()
    except (LeaseboardError, OSError) as error:
        return " ".join(str(error).split())
    except Exception as error:  # noqa: BLE001  (the thread must not end)
        return f"internal error: {type(error).__name__}: {short(' '.join(str(error).split()))}"
    return ""
