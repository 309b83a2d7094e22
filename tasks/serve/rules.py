"""What requests must keep to: the contract, read again when people have edited it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from leaseboard.algorithms.errors import UsageError, short
from leaseboard.tasks.keep.conform import row_check
from leaseboard.tasks.keep.contract import NUMBERS, Contract, read_contract
from leaseboard.tasks.keep.rows import reader_of
from leaseboard.tasks.keep.settings import DataSettings
from leaseboard.tasks.models.plain_columns import text_of
from leaseboard.tasks.store.live_tables import LONGEST_ID

Fault = Callable[[Mapping[str, Any]], str | None]
"""Why a row is refused; None if it is not."""


class RowRules:
    """The contract as it is for single rows.

    Attributes
    ----------
    row_fault : callable
        Why a row without its label breaks the contract; None if it does not.
    label_fault : callable
        The same of a row that is an id and a label.
    """

    def __init__(self, contract: Contract, data: DataSettings) -> None:
        columns = dict(contract.columns)
        self._data, self._target = data, columns.pop(data.target)
        self._id = None if data.id is None else columns[data.id]
        self._read_label = reader_of(self._target.kind)
        numbers = self._id is not None and self._id.kind in NUMBERS
        self._read_id = (
            None if self._id is None else text_of if numbers else reader_of(self._id.kind)
        )
        self.row_fault = self._with_id(row_check(Contract(columns=columns)))
        needed = {data.target: self._target.model_copy(update={"missing": 0.0, "required": True})}
        if data.id is not None and self._id is not None:
            needed[data.id] = self._id
        self.label_fault = self._with_id(row_check(Contract(columns=needed)))

    def label(self, row: Mapping[str, Any]) -> Any:
        """The label of a row, as a turn reads it."""
        return self._read_label(row[self._data.target])

    def identity(self, row: Mapping[str, Any]) -> str | None:
        """What a turn calls the row; None where rows have no id."""
        if self._data.id is None or self._read_id is None:
            return None
        return text_of(self._read_id(row[self._data.id]))

    def _with_id(self, fault: Fault) -> Fault:
        """The same, where an id must be one by which the state can find its row, too."""

        def why(row: Mapping[str, Any]) -> str | None:
            found = fault(row)
            identity = None if found else self.identity(row)
            if identity is None or (0 < len(identity) <= LONGEST_ID and "\0" not in identity):
                return found
            return (
                f"{self._data.id} {short(repr(identity), 60)} is no id: write 1 to {LONGEST_ID}"
                " characters without NUL"
            )

        return why


class RulesFile:
    """The rules of a contract's file."""

    def __init__(self, path: Path, data: DataSettings) -> None:
        self._path, self._data = path, data
        self._stamp: tuple[int, ...] = ()
        self._rules: RowRules | None = None

    def read(self) -> RowRules:
        """The rules now; the same as before unless the file was replaced or edited.

        Raises UsageError if it is no contract.
        """
        try:
            found = self._path.stat()
        except OSError as error:
            raise UsageError(f"cannot read {self._path}: {error.strerror}") from error
        stamp = found.st_ino, found.st_mtime_ns, found.st_size
        if self._rules is None or stamp != self._stamp:
            rules = RowRules(read_contract(self._path, self._data), self._data)
            self._rules, self._stamp = rules, stamp
        return self._rules
