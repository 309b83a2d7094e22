"""Mirrors: read-only folders with a ``catalogue.csv`` and a parquet file for each dataset."""

import csv
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from leaseboard.algorithms.errors import DataError, DataUnavailableError, invalid, unknown
from leaseboard.tasks.fetch import files
from leaseboard.tasks.fetch.dataset import RawTable, file_digest

CATALOGUE = "catalogue.csv"


class Catalogued(BaseModel):
    """Entry of a catalogue, which may have further columns.

    `target` and `task` may be empty: then the target is the last column, and
    `leaseboard.tasks.fetch.dataset.infer_task` names the task.
    """

    model_config = ConfigDict(frozen=True)

    id: Annotated[str, Field(pattern=r"^[\w.-]+$")]
    name: str
    # "regression (threshold delay for classification)": the first word is the task.
    task: Annotated[str, BeforeValidator(lambda text: (text.split() or [""])[0])]
    rows: int
    features: int
    target: str
    sha256: str
    """Of the bytes of the file."""
    licence: str
    source: str = ""
    path: Annotated[Path, Field(exclude=True)]

    def check(self) -> None:
        """Raise DataError unless the file is there and has the catalogue's digest."""
        if not self.path.is_file():
            raise DataError(
                f"{self.path}: in the catalogue, but the file is missing: fetch it again"
            )
        if (found := file_digest(self.path)) != self.sha256:
            raise DataError(
                f"{self.path}: sha256 {found[:12]}... is not the catalogue's"
                f" {self.sha256[:12]}...: the file is damaged or was changed, fetch it again"
            )

    def table(self, rows: int | None = None) -> RawTable:
        """Read the file, of which the digest is checked first, or its first rows."""
        self.check()
        frame = files.read_parquet(self.path, rows)
        known = self.target or None, self.task or None
        return RawTable(frame, self.name, *known, self.source, self.licence)


def mirrored(mirrors: Iterable[Path]) -> dict[str, Catalogued]:
    """Return every dataset of the mirrors by id, in order; the first mirror that has one counts.

    Raises DataError for a catalogue that cannot be read.
    """
    found: dict[str, Catalogued] = {}
    for folder in mirrors:
        place = folder / CATALOGUE
        with place.open(encoding="utf-8", newline="") as lines:
            for row in csv.DictReader(lines):
                known = {key: value or "" for key, value in row.items() if key}
                try:
                    entry = Catalogued(**known, path=folder / f"{row.get('id')}.parquet")
                except ValidationError as error:
                    first = error.errors()[0]
                    what = f"{place}: {row.get('id')}: {first['loc'][0]}"
                    raise DataError(str(invalid(what, error.errors()))) from error
                found.setdefault(entry.id, entry)
    return found


def read(name: str, mirrors: tuple[Path, ...], rows: int | None = None) -> RawTable:
    """Return the dataset `name` of the mirrors; DataUnavailableError if none has it."""
    known = mirrored(mirrors)
    if name in known:
        return known[name].table(rows)
    why = "no mirror is set, name one with --mirror FOLDER or LEASEBOARD_MIRROR"
    if mirrors:
        why = str(unknown("dataset of the mirror", name, known, "leaseboard data list"))
    raise DataUnavailableError(f"mirror:{name} is not available: {why}")
