"""Records of values that are computed once: trials of arms, and probes of configurations.

It is a SQLite file in the cache, or a PostgreSQL where several machines work, which then share
what each of them computes. Nothing is ever changed in it: a record is appended or it is not.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leaseboard.tasks.machine import paths

if TYPE_CHECKING:
    from leaseboard.tasks.store.database import Database
    from leaseboard.tasks.store.record_table import Records

Record = dict[str, Any]
_SQLITE = "sqlite:///"


class Store:
    """Records by key; any number of processes may use it, and be killed at any moment.

    - `place`: a SQLite file, which the first look makes, with its folders; as text, as users
      write it, such a file or the address of a PostgreSQL with its password. By default what
      ``LEASEBOARD_STORE`` says, else a file in the cache.

    Examples
    --------
    >>> import tempfile
    >>> store = Store(Path(tempfile.mkdtemp()) / "store.sqlite")
    >>> records = store.records({"data": "wine", "rows": 1000})
    >>> records.extend(lambda number: {"number": number, "correct": 850})
    True
    >>> list(records)
    [{'correct': 850, 'number': 0}]
    """

    def __init__(self, place: Path | str | None = None) -> None:
        place = paths.store_place() if place is None else place
        if isinstance(place, str) and (":" not in place or place.startswith(_SQLITE)):
            place = Path(place.removeprefix(_SQLITE)).expanduser().absolute()
        self.place = place

    @cached_property
    def _database(self) -> Database:
        """The database of the records, imported late: its libraries take a fifth of a second."""
        from leaseboard.tasks.store.database import Database
        from leaseboard.tasks.store.record_table import SCHEMA

        return Database(self.place, SCHEMA)

    def records(self, key: Mapping[str, Any]) -> Records:
        """Return the records of `key`, which holds everything that they depend on."""
        from leaseboard.tasks.store.record_table import Records

        return Records(self._database, key)
