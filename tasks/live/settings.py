"""The two files of a live model, both its owner's: FILE.yaml and the data contract.

FILE.yaml says which data, which model, and when challengers are made; the contract what each
column must hold.
"""

import glob
import math
import re
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import yaml
from pydantic import AfterValidator, BeforeValidator, Field, FiniteFloat, model_validator

from leaseboard.algorithms.errors import UsageError, unknown
from leaseboard.algorithms.tables.values import ValueKind
from leaseboard.tasks.machine.addresses import is_variable
from leaseboard.tasks.machine.yaml_files import Strict, load_yaml

_UNITS = {"w": 604_800, "d": 86_400, "h": 3600, "m": 60, "s": 1}
"""Seconds."""


def duration(text: object) -> timedelta:
    """Return the duration that a text says; ValueError for anything else.

    Examples
    --------
    >>> duration("12h")
    datetime.timedelta(seconds=43200)
    """
    if isinstance(text, timedelta):
        return text
    found = re.fullmatch(r"(\d{1,6})([wdhms])", text) if isinstance(text, str) else None
    if found is None:
        raise ValueError("a duration is a whole number and its unit, such as 7d, 12h or 30m")
    return timedelta(seconds=int(found[1]) * _UNITS[found[2]])


def in_words(length: timedelta) -> str:
    """Return the text that `duration` reads as `length`, rounded up to seconds.

    Examples
    --------
    >>> in_words(timedelta(days=2)), in_words(timedelta(hours=36))
    ('2d', '36h')
    """
    seconds = math.ceil(length.total_seconds())
    unit = next(unit for unit, size in _UNITS.items() if not seconds % size)
    return f"{seconds // _UNITS[unit]}{unit}" if seconds else "0s"


Duration = Annotated[timedelta, BeforeValidator(duration)]
"""A duration in a YAML file."""


FOLDER = "folder:"
"""What a source begins with."""

Name = Annotated[str, Field(min_length=1, max_length=200)]
Address = Annotated[str, Field(min_length=1, max_length=4096)]
Alert = Annotated[str, Field(pattern=r"^(\$\w+$|[A-Za-z]+://.)", max_length=4096)]


class DataSettings(Strict):
    """``data:``, where rows come from and what their columns are for."""

    source: Annotated[Address, Field(pattern=r"^folder:.+\.(csv|tsv|parquet|pq)$")]
    """`folder:` and a pattern of csv, tsv or parquet files, each a batch."""
    time: Name | None = None
    """The column with the time of a row."""
    id: Name | None = None
    """The column that identifies rows, so that late labels find theirs."""
    target: Name
    """The column to predict."""
    label_delay: Duration = timedelta()
    """How long after its row a label usually arrives: `90s`, `30m`, `12h`, `7d`, `2w`."""

    @property
    def pattern(self) -> str:
        """The pattern of a folder's files."""
        return self.source.removeprefix(FOLDER)


class ModelSettings(Strict):
    """``model:``, the algorithm that predicts, its settings and its seed."""

    algorithm: Name = "online-automl"
    """A race of streams, a policy over arms, or a selection."""
    settings: dict[str, Any] = Field(default_factory=dict)
    """Its settings."""
    seed: Annotated[int, Field(ge=0, lt=2**31)] = 0
    """The random seed."""


class RetrainSettings(Strict):
    """``retrain:``, when a challenger is made: whichever comes first; without any, never."""

    every: Duration | None = None
    """The time since the last challenger."""
    rows: Annotated[int, Field(ge=1)] | None = None
    """The number of labels since the last one."""
    when: Literal["drift"] | None = None
    """As soon as the monitor detects drift."""
    window: Annotated[int, Field(ge=1, le=10_000_000)] = 10_000
    """The number of last rows from which it learns, and which are stored."""


class CompareSettings(Strict):
    """``compare:``, how sure a promotion is."""

    alpha: Annotated[float, Field(gt=0, lt=1)] = 0.05
    """How often a promotion, or a rollback, may be wrong."""


class LiveSettings(Strict):
    """Settings of a live model: all that FILE.yaml says."""

    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]*$", max_length=48)]
    """The name of its folder, its MLflow experiment and model."""
    data: DataSettings
    """The source of rows."""
    model: ModelSettings = ModelSettings()
    """The algorithm that predicts."""
    retrain: RetrainSettings = RetrainSettings()
    """When to train a challenger."""
    contract: Annotated[Path, Field(strict=False)]
    """The file of the data contract."""
    compare: CompareSettings = CompareSettings()
    """The comparison of challengers."""
    alerts: list[Alert] = Field(default_factory=list)
    """Who is notified: addresses of `http://` or `https://` get JSON by POST, others are those of
    Apprise, for mail, chat, many more; `$NAME` is read from the environment."""
    retention: Duration | None = None
    """Rows of earlier days are deleted, at least a day and `label_delay`; by default what is not
    needed any more is."""
    state: Address | None = None
    """A SQLite file or PostgreSQL; by default `runs/live/NAME/state.sqlite`."""

    @model_validator(mode="after")
    def _check_retention(self) -> Self:
        least = max(self.data.label_delay, timedelta(days=1))
        if self.retention is not None and self.retention < least:
            raise ValueError(
                f"retention {in_words(self.retention)} is below {in_words(least)}: a day, and as"
                " long as labels usually take to come, or they would find no row"
            )
        return self


def read_settings(path: Path) -> LiveSettings:
    """Read the settings in a file, whose relative paths are from the folder of that file.

    Raises UsageError, one line with file and line.
    """
    settings = load_yaml(path, LiveSettings)
    home = path.resolve().parent
    source = f"{FOLDER}{Path(glob.escape(str(home))) / settings.data.pattern}"
    state = settings.state
    if state is not None and "://" not in state and not is_variable(state):
        state = str(home / state)
    data = settings.data.model_copy(update={"source": source})
    found = {"data": data, "contract": home / settings.contract, "state": state}
    return settings.model_copy(update=found)


NUMBERS = ("number", "integer")
UNDECIDED: Literal["undecided"] = "undecided"
"""Kind of a column that has had no value yet."""

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
    low: FiniteFloat | None = None
    """The least of its numbers."""
    high: FiniteFloat | None = None
    """The greatest of its numbers."""
    size: Annotated[list[FiniteFloat], Field(min_length=2, max_length=2)] | None = None
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
