"""FILE.yaml of a live model: which data, which model, and when challengers are made."""

import glob
import math
import re
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

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
