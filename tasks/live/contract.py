"""The data contract of a live model: what each column must hold, in a file of its owner."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import yaml
from pydantic import AfterValidator, Field, model_validator

from leaseboard.algorithms.errors import UsageError, unknown
from leaseboard.algorithms.tables.values import ValueKind
from leaseboard.tasks.live.settings import DataSettings, Duration, in_words
from leaseboard.tasks.machine.yaml_files import Strict, load_yaml

NUMBERS = ("number", "integer")
UNDECIDED: Literal["undecided"] = "undecided"
"""Kind of a column that has had no value yet."""
Real = Annotated[float, Field(allow_inf_nan=False)]

_HEADER = """\
# What rows must look like. Inferred from the first rows, then yours: edit it. A row that breaks a
# rule is quarantined. A batch without a column, or of which most rows break one rule, is rejected.
# What is not named here is not learned. The page "Keys of YAML files" describes: kind, low, high,
# size, categories, closed, missing, required; of rows zone, fresh, least, most.
"""


class ColumnRule(Strict):
    """Rule of a column."""

    kind: ValueKind | Literal["undecided"]
    """What its values are; of an undecided column no value has come yet: the first ones decide. An
    id is a text."""
    low: Real | None = None
    """The least of its numbers."""
    high: Real | None = None
    """The greatest of its numbers."""
    size: Annotated[list[Real], Field(min_length=2, max_length=2)] | None = None
    """The range of the median of a batch's numbers without signs and zeros: a unit that
    has changed is outside."""
    categories: list[str] = Field(default_factory=list)
    """The words that are known."""
    closed: bool = False
    """True: no other words are allowed."""
    missing: Annotated[float, Field(ge=0, le=1)] = 0.0
    """The share of rows that may be without a value; 0: a row without it is quarantined."""
    required: bool = True
    """False: a batch may come without the column, as before its labels are known."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.kind not in NUMBERS and (self.low, self.high, self.size) != (None, None, None):
            raise ValueError(f"low, high and size are of numbers, not of kind {self.kind}")
        if self.low is not None and self.high is not None and self.low > self.high:
            raise ValueError(f"low {self.low:g} is above high {self.high:g}: swap them")
        if self.size and not 0 <= self.size[0] <= self.size[1]:
            raise ValueError(f"size {self.size} is the least and the most, from 0 on")
        if self.kind != "category" and (self.categories or self.closed):
            raise ValueError(f"categories and closed are of kind category, not {self.kind}")
        if self.closed and not self.categories:
            raise ValueError("closed without categories allows nothing: name the categories")
        return self


def _known_zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (ValueError, OSError, ZoneInfoNotFoundError) as error:
        raise ValueError(f"zone {name!r} is not known: write one like Europe/Berlin") from error
    return name


class BatchRules(Strict):
    """Expectations of a batch: what is otherwise is reported, and ingested."""

    zone: Annotated[str, AfterValidator(_known_zone)] = "UTC"
    """The zone of dates without an offset, and of days, such as `Europe/Berlin`."""
    fresh: Duration | None = None
    """The age of the newest time, at most."""
    least: Annotated[int, Field(ge=0)] = 0
    """The number of rows, at least."""
    most: Annotated[int, Field(ge=0)] | None = None
    """The number of rows, at most."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.most is not None and self.least > self.most:
            raise ValueError(f"least {self.least} is above most {self.most}: swap them")
        return self


class Contract(Strict):
    """Data contract of a live model."""

    columns: Annotated[dict[str, ColumnRule], Field(min_length=1)]
    rows: BatchRules = BatchRules()

    @property
    def texts(self) -> tuple[str, ...]:
        """The columns that are read from a csv as texts, even where they look like numbers."""
        words = ("text", "category")
        return tuple(name for name, rule in self.columns.items() if rule.kind in words)

    @property
    def dates(self) -> tuple[str, ...]:
        """The columns that hold dates."""
        return tuple(name for name, rule in self.columns.items() if rule.kind == "date")

    def with_kinds(self, kinds: Mapping[str, ValueKind]) -> Self:
        """Return the contract with these kinds of its undecided columns."""
        columns = {
            name: rule.model_copy(update={"kind": kinds.get(name, UNDECIDED)})
            for name, rule in self.columns.items()
            if rule.kind == UNDECIDED
        }
        return self.model_copy(update={"columns": self.columns | columns})

    def of_labels(self, data: DataSettings) -> Self:
        """Return the part for a table of only ids and their labels."""
        names = filter(None, (data.id, data.target))
        return type(self)(columns={name: self.columns[name] for name in names})

    def to_yaml(self) -> str:
        """Return the text of its file."""
        lines = [
            f"  {_flow(name)}: {_flow(rule.model_dump(exclude_defaults=True))}\n"
            for name, rule in self.columns.items()
        ]
        rows = self.rows.model_dump(exclude_defaults=True)
        if self.rows.fresh is not None:
            rows["fresh"] = in_words(self.rows.fresh)
        return f"{_HEADER}columns:\n{''.join(lines)}rows: {_flow(rows)}\n"


def read_contract(path: Path, data: DataSettings) -> Contract:
    """Read the contract in a file, which must know the columns that FILE.yaml names.

    An id is a text that every row has, also where it looks like a number: 000123 is not 123.

    Raises UsageError, one line with file and line.
    """
    contract = load_yaml(path, Contract)
    check_uses(contract, data, f"{path}: ")
    if data.id is not None:
        contract.columns[data.id] = ColumnRule(kind="text")
    return contract


def check_uses(contract: Contract, data: DataSettings, place: str = "") -> None:
    """Raise UsageError, which begins with `place`, if a column is missing or cannot be used so."""
    for use in ("time", "id", "target"):
        name = getattr(data, use)
        if name is not None and name not in contract.columns:
            fix = "add it here, or name another as data's"
            raise UsageError(f"{place}{use}: {unknown('column', name, contract.columns)}: {fix}")
    if contract.rows.fresh is not None and data.time is None:
        raise UsageError(f"{place}rows.fresh: it is the age of the newest time: set data.time")
    kind = contract.columns[data.time].kind if data.time is not None else "date"
    if kind != "date":
        raise UsageError(
            f"{place}time: column {data.time!r} is of kind {kind}: name one of dates, such as"
            " 2024-02-29, or none"
        )
    if contract.columns[data.target].kind == "date":
        raise UsageError(
            f"{place}target: column {data.target!r} holds dates: name one of numbers or words"
        )
    if not contract.columns.keys() - {data.id, data.target}:
        raise UsageError(
            f"{place}no other column than {data.target!r} to predict it from: add one"
        )


def _flow(value: Any) -> str:
    """Return a value as YAML on one line."""
    form: dict[str, Any] = {"default_flow_style": True, "sort_keys": False, "width": 10**9}
    plain: str = yaml.safe_dump(value, allow_unicode=True, **form).removesuffix("\n...\n").strip()
    quoted: str = yaml.safe_dump(value, default_style='"', **form).strip()
    return quoted if "\n" in plain else plain  # a name may hold any sign
