"""Data references: ``openml:215``, ``synthetic:fried?rows=1000&seed=0``, ``file:path.csv``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal, Self, TypeVar
from urllib.parse import quote, unquote

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from leaseboard.algorithms.errors import UsageError, invalid, rule, unknown

SOURCES = ("openml", "mirror", "sklearn", "river", "synthetic", "file", "plugin")
"""Every source a reference can name."""

TASKS = ("regression", "classification")

Count = Annotated[int, Field(ge=1)]
Finite = Annotated[float, Field(allow_inf_nan=False)]


class Options(BaseModel):
    """Options that every source takes; generators add their own."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    rows: Count | None = None
    """A sample of so many rows."""
    first_rows: Count | None = None
    target: str | None = None
    """The target's column; by default the last one, or what the source names."""
    task: Literal["regression", "classification"] | None = None
    threshold: Finite | None = None
    """Makes two classes of a numeric target."""
    missing_target: Literal["drop"] | None = None

    @model_validator(mode="after")
    def _agree(self) -> Self:
        if self.rows is not None and self.first_rows is not None:
            raise ValueError("rows draws a sample and first_rows takes the first rows: give one")
        if self.threshold is not None and self.task == "regression":
            raise ValueError(
                "a threshold makes two classes of the target, so the task cannot be regression:"
                " drop one of the two options"
            )
        return self


Kind = TypeVar("Kind", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Reference:
    """Parsed reference: source, name, and options as text.

    `source` is the empty string where the text has none: a name of ``conf/data``, or a path.
    """

    source: str
    name: str
    options: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        """Return the text of the reference, which parses to an equal one."""
        options = "&".join(
            f"{quote(key, safe='')}={quote(value, safe='')}" for key, value in self.options.items()
        )
        colon = ":" if self.source else ""
        return f"{self.source}{colon}{self.name}" + (f"?{options}" if options else "")

    def with_options(self, options: Mapping[str, str]) -> Reference:
        """Return the same reference with `options`, which win over its own."""
        return replace(self, options={**self.options, **options})

    def checked(self, model: type[Kind]) -> Kind:
        """Return the options as values; UsageError for one that `model` does not take."""
        for key in self.options:
            if key not in model.model_fields:
                raise unknown(f"option of {self.source}:{self.name}", key, model.model_fields)
        given: dict[str, Any] = dict(self.options)
        try:
            return model(**given)
        except ValidationError as error:
            first = error.errors()[0]
            if not first["loc"]:
                raise UsageError(f"{self}{rule(first)}") from error
            raise invalid(f"{self}: {first['loc'][0]}", error.errors()) from error


def parse(text: str) -> Reference:
    """Split ``source:name?key=value&key=value``; UsageError says what is wrong with it.

    Examples
    --------
    >>> parse("synthetic:fried?rows=100&seed=1")
    Reference(source='synthetic', name='fried', options={'rows': '100', 'seed': '1'})
    """
    source, colon, rest = text.partition(":")
    if not colon:
        source, rest = "", text
    elif source not in SOURCES:
        raise unknown("data source", source, SOURCES)
    name, _, query = rest.partition("?")
    if not name:
        raise UsageError(
            f"data reference {text!r} names no data: write source:name, such as openml:215"
        )
    options: dict[str, str] = {}
    for part in filter(None, query.split("&")):
        key, _, value = map(unquote, part.partition("="))
        if not value:
            raise UsageError(
                f"option {part!r} of {text!r} has no value: write key=value; a ? in the name of a"
                " file begins its options, too: rename the file"
            )
        if key in options:
            raise UsageError(f"option {key!r} of {text!r} is given twice: keep one")
        options[key] = value
    return Reference(source, name, options)


def with_options(text: str, **given: str | None) -> str:
    """Return the reference `text` with further options.

    Examples
    --------
    >>> with_options("file:sales.csv", target="revenue", task=None)
    'file:sales.csv?target=revenue'
    """
    options = {key: value for key, value in given.items() if value is not None}
    return str(parse(text).with_options(options)) if options else text
