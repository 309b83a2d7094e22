"""The champion and the contract of a live model, as they are from second to second."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leaseboard.algorithms.errors import LeaseboardError, UsageError, short
from leaseboard.algorithms.tables.values import text_of
from leaseboard.tasks.keep.conform import row_check
from leaseboard.tasks.keep.contract import NUMBERS, Contract, read_contract
from leaseboard.tasks.keep.rows import reader_of
from leaseboard.tasks.keep.settings import DataSettings, Keep
from leaseboard.tasks.keep.shadow import CHAMPION
from leaseboard.tasks.keep.snapshot import Snapshot
from leaseboard.tasks.models.load import load
from leaseboard.tasks.models.logged import KEY, SAVED
from leaseboard.tasks.models.registry import LINEAGE
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
    """What forecasts."""

    snapshot: Snapshot
    name: str
    version: str
    lineage: str
    digest: str
    """Of what it has learned."""
    made: float
    """When its snapshot was made: seconds since 1970."""
    source: str = ""
    """Where the registry has it; a version's number may be given again once a model is deleted."""

    def told(self) -> dict[str, str]:
        """Which it is, for answers."""
        return {"model": self.name, "version": self.version, "lineage": self.lineage,
                "digest": self.digest[:16]}  # fmt: skip


class RowRules:
    """The contract as it is for single rows."""

    def __init__(self, contract: Contract, data: DataSettings) -> None:
        columns = dict(contract.columns)
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
        """Why a row without its label breaks the contract; None if it does not."""
        return self._check_row(row) or self._id_fault(row)

    def label_fault(self, row: Mapping[str, Any]) -> str | None:
        """The same of a row that is an id and a label."""
        return self._check_label(row) or self._id_fault(row)

    def label(self, row: Mapping[str, Any]) -> Any:
        """The label of a row, as an update reads it."""
        return self._read_label(row[self._data.target])

    def identity(self, row: Mapping[str, Any]) -> str | None:
        """What an update calls the row; None where rows have no id."""
        if self._data.id is None or self._read_id is None:
            return None
        return text_of(self._read_id(row[self._data.id]))

    def _id_fault(self, row: Mapping[str, Any]) -> str | None:
        """Why the state could not find a row by its id."""
        identity = self.identity(row)
        if identity is None or (0 < len(identity) <= LONGEST_ID and "\0" not in identity):
            return None
        return (
            f"{self._data.id} {short(repr(identity), 60)} is no id: write 1 to {LONGEST_ID}"
            " characters without NUL"
        )


class Follower:
    """Holds the champion and the rules, and takes up others when alias or contract change.

    - `uri`: of the MLflow store.
    - `keep`: whose model it is, and whose contract.
    - `tell`: gets each new fault once. What was there before goes on.

    Raises UsageError if the contract cannot be read.
    """

    def __init__(self, uri: str, keep: Keep, tell: Callable[[str], None]) -> None:
        self.champion: Champion | None = None
        self._uri, self._keep, self._name = uri, keep, keep.name
        self._stamp: tuple[int, ...] = ()
        self._read_rules()
        self.fault = ""
        self.tell = tell
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
        """Take up what the alias and the contract say now; neither waits for the other's mend."""
        faults = [why for step in (self._read_rules, self._take_up) if (why := _fault_of(step))]
        for fault in faults:
            if fault not in self._faults:
                self.tell(fault)
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
        stamp = found.st_ino, found.st_mtime_ns, found.st_size
        if stamp != self._stamp:
            self.rules = RowRules(read_contract(path, self._keep.data), self._keep.data)
            self._stamp = stamp

    def _take_up(self) -> None:
        from mlflow.exceptions import MlflowException
        from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository

        client = self._client = self._client or open_store(self._uri)
        with reported(self._uri):
            try:
                version = client.get_model_version_by_alias(self._name, CHAMPION)
            except MlflowException as error:
                if error.error_code in {"RESOURCE_DOES_NOT_EXIST", "INVALID_PARAMETER_VALUE"}:
                    if self.champion is None:
                        return  # none yet
                    raise LeaseboardError(
                        f"models:/{self._name}@{CHAMPION} is gone: forecasts still come from"
                        f" version {self.champion.version}; take a turn with `leaseboard keep`"
                    ) from error
                raise
            now = self.champion
            is_same = now is not None and now.version == str(version.version)
            if now is not None and is_same and now.source == version.source:
                return
            logged = client.get_logged_model(version.source.removeprefix("models:/"))
            repository = get_artifact_repository(logged.artifact_location, tracking_uri=self._uri)
            with tempfile.TemporaryDirectory() as folder:
                place = repository.download_artifacts(f"artifacts/{SAVED}", dst_path=folder)
                snapshot = load(Path(place))
        tags = version.tags
        if not isinstance(snapshot, Snapshot) or not tags.keys() >= {LINEAGE, KEY}:
            raise LeaseboardError(
                f"version {version.version} of {self._name} is no snapshot of a keep: let"
                " `leaseboard keep` publish one"
            )
        # Compiled code is loaded at the first forecast, which no caller shall wait for.
        snapshot.foresee([snapshot.read({})])
        self.champion = Champion(
            snapshot,
            self._name,
            str(version.version),
            tags[LINEAGE],
            tags[KEY].partition("-")[2],
            version.creation_timestamp / 1000,
            version.source,
        )
        self.tell(f"forecasts come from models:/{self._name}/{version.version}")


def _fault_of(step: Callable[[], None]) -> str:
    """Why a step could not be taken, in a line; whatever it was, the next look tries again."""
    try:
        step()
    except (LeaseboardError, OSError) as error:
        return " ".join(str(error).split())
    except Exception as error:  # noqa: BLE001  (a thread that ended would follow nobody)
        return f"internal error: {type(error).__name__}: {short(' '.join(str(error).split()))}"
    return ""
