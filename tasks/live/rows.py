"""Rows: where they come from, batches, identities, values, and a version that predicts them.

They come from a folder of files. A file that is still being written to is ingested as far as it
goes, if that ends with a line; the rest of it comes with the next update.
"""

import glob
import hashlib
import json
import os
import re
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leaseboard.algorithms.errors import DataError, LeaseboardError
from leaseboard.algorithms.tables.values import ValueKind
from leaseboard.tasks.fetch import dataset, files
from leaseboard.tasks.live.contract_check import CheckedRow, row_reader
from leaseboard.tasks.live.settings import UNDECIDED, ColumnRule, Contract, DataSettings
from leaseboard.tasks.machine.terminal import counted
from leaseboard.tasks.models.columns import Column, Values, typed
from leaseboard.tasks.models.model import ModelFile, Prediction, TableModel, likeliest, load
from leaseboard.tasks.store.live_tables import BatchRows, StoredRow

_NOT_YET = (".", "~", "#")
"""What the names of files begin with that a program hides, or is writing."""
_SIGN = re.compile(r"\[([*?[])\]")


@dataclass(frozen=True)
class Batch:
    """File of rows, or of labels of earlier ones."""

    name: str
    digest: str
    """Of its content; empty where it cannot be read."""
    frame: pd.DataFrame | None = None
    """None if there is a fault."""
    fault: str = ""
    """Why it cannot be read, in one line."""


def pending(
    data: DataSettings, knows: Callable[[str], bool], texts: Callable[[], Collection[str]] = tuple
) -> Iterator[Batch]:
    """Yield the new files of a source, one after the other.

    Ingest each before the next one is asked for. A file that cannot be read has its fault in place
    of rows, and the others follow. A rejected file comes again in the next update.

    - `knows`: returns whether content of a digest was ingested.
    - `texts`: called before each file; the columns of a csv that are texts, also if they look like
      numbers; see `leaseboard.tasks.live.settings.Contract.texts`.
    """
    home, rest = _divided(data.pattern)
    try:
        os.scandir(home).close()
    except OSError as error:
        fix = "no such folder: make it, or fix data.source"
        why = fix if isinstance(error, FileNotFoundError) else f"cannot be read: {error.strerror}"
        yield _broken(home, home, why)
        return
    fresh = dict[str, Path]()
    for path in sorted(home.glob(rest)):
        if any(part.startswith(_NOT_YET) for part in path.relative_to(home).parts):
            continue
        try:
            digest = _digest(path)
        except DataError as error:
            yield _broken(path, home, str(error))
            continue
        if digest and not knows(digest):
            fresh.setdefault(digest, path)
    for digest, path in counted(fresh.items(), "ingesting", "files"):
        name = path.relative_to(home).as_posix()
        try:
            if path.suffix.lower() in (".csv", ".tsv") and not _ends_a_line(path):
                said = "its last line has no end: it is still being written, or was cut off"
                raise DataError(f"{path}: {said}; end it with a line feed if it is whole")
            frame = files.read(str(path), texts=texts()).frame
        except FileNotFoundError:
            continue
        except OSError as error:
            yield Batch(name, digest, fault=f"{path}: cannot be read: {error.strerror}")
        except LeaseboardError as error:
            if path.exists():
                yield Batch(name, digest, fault=str(error))
        else:
            yield Batch(name, digest, frame)


def _digest(path: Path) -> str:
    """Return the digest of a file; empty if it was moved away.

    Raises DataError, without its name, if it cannot be read.
    """
    try:
        str(path).encode()
        if path.is_file():
            return dataset.file_digest(path)
        if os.path.lexists(path):  # to open a pipe would wait for its writer
            raise DataError("is not a file: remove it, or narrow data.source")
    except UnicodeEncodeError:
        raise DataError("its name is not UTF-8: rename it") from None
    except FileNotFoundError:
        pass
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}") from error
    return ""


def _broken(path: Path, home: Path, why: str) -> Batch:
    """Return a batch in place of a file that cannot be read."""
    name, shown = (
        os.fsencode(each).decode("utf-8", "backslashreplace")
        for each in (path if path == home else path.relative_to(home), path)
    )
    return Batch(name, "", fault=f"{shown}: {why}")


def _ends_a_line(path: Path) -> bool:
    with path.open("rb") as file:
        if b"\0" in file.read(1000):
            return True  # these are not lines: the reader says what is wrong
        size = file.seek(0, 2)
        file.seek(max(0, size - 1))
        return size == 0 or file.read(1) in b"\r\n"


def _divided(pattern: str) -> tuple[Path, str]:
    """Return the folder in which a pattern begins, and the rest; ``[*]`` is the sign itself."""
    parts = Path(pattern).parts
    fixed = 0
    while fixed < len(parts) - 1 and not glob.has_magic(_SIGN.sub("", parts[fixed])):
        fixed += 1
    return Path(*(_SIGN.sub(r"\1", part) for part in parts[:fixed])), "/".join(parts[fixed:])


OTHER_VALUES = "with other values"
REUSED = f"its {{id}} is that of an earlier row {OTHER_VALUES}"
TWICE = f"its {{id}} is in the batch twice, {OTHER_VALUES}"
RELABELLED = "its label has come before, and was another"


def to_json(values: Any) -> str:
    """Return values as short JSON; a number is read back unchanged."""
    return json.dumps(values, separators=(",", ":"), sort_keys=True)


def _given(values: Values) -> bytes:
    """Return what is not missing: a column that the contract got later changes no earlier row."""
    return to_json({name: each for name, each in values.items() if each is not None}).encode()


def label_of(row: StoredRow) -> Any:
    """Return the label of a labelled row."""
    assert row.label is not None
    return json.loads(row.label)


def identify(rows: Iterable[CheckedRow], data: DataSettings) -> list[str]:
    """Return the identity of each row of a batch: its id, or else a digest of what it holds.

    Without an id a row is identified by its values without the target, which may come later, and
    by how many rows above it in the batch are the same.
    """
    if data.id is not None:
        return [row.values[data.id] for row in rows]
    found, seen = [], Counter[str]()
    for row in rows:
        values = row.values | {name: at.isoformat() for name, at in row.moments.items()}
        del values[data.target]
        digest = hashlib.blake2b(_given(values), digest_size=16).hexdigest()
        found.append(f"{digest}-{seen[digest]}" if digest in seen else digest)
        seen[digest] += 1
    return found


def sort_rows(
    rows: Iterable[tuple[str, str, Values]],
    known: Mapping[str, StoredRow],
    data: DataSettings,
    *,
    alone: bool = False,
    forgotten: tuple[str, str] | None = None,
    early: Mapping[str, str] | None = None,
) -> BatchRows:
    """Sort the rows of a table that conforms to the contract.

    - `rows`: of each the identity, the day and the values.
    - `known`: the rows of these identities that came before.
    - `forgotten`: the first and the last day of rows whose identities are no longer known. An
      unknown row of these days counts as a repeat: it may have been learned.
    - `alone`: the table has only labels of rows that came before.
    - `early`: labels that came before their rows, as JSON, by identity.

    A row that comes again with the same values is a repeat, or brings the label that was missing.
    """
    found, seen = BatchRows(), dict(known)
    for identity, at, row_values in rows:
        values = {n: each for n, each in row_values.items() if n not in (data.target, data.id)}
        label = row_values[data.target]
        text, came = to_json(values), None if label is None else to_json(label)
        checksum, before = zlib.crc32(_given(values)), seen.get(identity)
        if before is None and alone:
            if came is not None:
                found.early[identity] = came
        elif before is None and forgotten is not None and forgotten[0] <= at <= forgotten[1]:
            found.repeated += 1
            found.old += 1
        elif before is None:
            came = came or (early or {}).get(identity)
            row = StoredRow(identity, checksum, at, text, "", came, is_labelled=came is not None)
            seen[identity] = row
            found.new.append(row)
        elif not alone and before.checksum != checksum:
            reason = (TWICE if before.number == 0 else REUSED).format(id=data.id or "identity")
            found.quarantined.append((identity, reason, to_json({**values, data.target: label})))
        elif came is None or (before.is_labelled and before.label in (came, None)):
            found.repeated += 1
        elif before.is_labelled:
            found.quarantined.append((identity, RELABELLED, to_json({data.target: label})))
        else:
            row = replace(before, label=came, is_labelled=True)
            seen[identity] = row
            if before.number:
                found.labelled.append(row)
            else:  # it came without its label, further up in the same table
                place = next(i for i, new in enumerate(found.new) if new.id == identity)
                found.new[place] = row
    found.labelled.sort(key=lambda row: row.number)
    return found


def features_of(
    contract: Contract, data: DataSettings, kinds: Mapping[str, ValueKind]
) -> tuple[Column, ...]:
    """Return the columns that a candidate predicts from; none of them is undecided.

    - `kinds`: those that candidates have learned, in the place of the contract's.
    """
    found = {
        name: kinds.get(name, rule.kind)
        for name, rule in contract.columns.items()
        if name not in (data.target, data.id) and rule.kind != UNDECIDED
    }
    return tuple(
        Column(name=name, kind="text" if kind == "category" else kind)
        for name, kind in found.items()
    )


class Snapshot(TableModel):
    """A live model that learns no more, as MLflow's registry and the server have it.

    - `columns`: the features of the contract.
    - `model`: what it has learned; it is for one thread at a time.
    """

    kind = "snapshot"

    def __init__(self, columns: Sequence[Column], model: TableModel) -> None:
        super().__init__(columns)
        self.model, self.classes, self.levels = model, model.classes, model.levels
        rules = (ColumnRule(kind=each.kind, missing=1, required=False) for each in self.columns)
        self._read = row_reader(dict(zip((each.name for each in columns), rules, strict=True)))
        model.forget_pending()
        model.dates = tuple(each.name for each in self.columns if each.kind == "date")

    def read(self, row: Mapping[str, Any]) -> Values:
        """Return the values of a row that conforms; a feature that it does not have is missing.

        DataError for a value of another kind than the feature had when it was learned.
        """
        found, fault = self._read(row)
        if fault is not None:
            raise DataError(
                f"{fault}, as the model has learned it: the contract was edited since; run"
                " `leaseboard live update`"
            )
        return found

    def predict(self, frame: pd.DataFrame) -> NDArray[Any]:
        """See `TableModel.predict`."""
        rows = typed(frame, self.columns).to_dict("records")
        found = self.predict_rows([self.read(row) for row in rows])
        return np.array([*map(likeliest, found)], dtype=object if self.classes else np.float64)

    def predict_rows(self, rows: Sequence[Values], ids: Sequence[str] = ()) -> list[Prediction]:
        """See `TableModel.predict_rows`; nothing is remembered."""
        return self.model.predict_rows(rows)

    def state(self) -> dict[str, Any]:
        """See `TableModel.state`."""
        return {"model": self.model.dump()}

    @classmethod
    def restored(cls, file: ModelFile) -> Self:
        """See `TableModel.restored`."""
        return cls(file.columns, load(file.state["model"], file.name))
