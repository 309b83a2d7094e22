"""Reference of the keys of YAML files, which ``make docs`` makes of the classes that read them."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel

from leaseboard.tasks.jobs.checks import Requirement
from leaseboard.tasks.jobs.environments import holdout, pulls, samples, systems
from leaseboard.tasks.jobs.suites.suite import (
    Contender,
    Data,
    Normalise,
    Scheduled,
    Suite,
    Tracking,
)
from leaseboard.tasks.live import settings
from leaseboard.tasks.preprocess.encoding import StreamOptions
from leaseboard.tasks.processes.child import Limits

PAGE = Path(__file__).parent / "reference" / "keys.md"
TOP = """\
# Keys of YAML files

The keys of a suite, of `schedule.yaml`, of the FILE.yaml of a live model, and the options of each
environment: those of `environment:` in a suite and of `--set` in a race. A key that is not here, a
value of another type, or one out of its range is refused with the file and its line.
"""
HEAD = "| key | type | default | meaning |\n| --- | --- | --- | --- |"
SUITE = {"A suite": Suite, "Data of a suite": Data, "Algorithms of a suite": Contender,
         "Limits of a job": Limits, "Tracking": Tracking, "Normalise": Normalise,
         "Requirements": Requirement}  # fmt: skip
ENVIRONMENTS = {"Stream": StreamOptions, "Hold-out": holdout.Options, "Pulls": pulls.Options,
                "Samples": samples.Options, "Systems": systems.Options}  # fmt: skip
LIVE = {"A live model": settings.LiveSettings, "Data of a live model": settings.DataSettings,
        "Model of a live model": settings.ModelSettings, "Retrain": settings.RetrainSettings,
        "Compare": settings.CompareSettings, "Columns of a contract": settings.ColumnRule,
        "Rows of a contract": settings.BatchRules}  # fmt: skip
WORDS = {int: "number", float: "number", str: "text", bool: "true or false", list: "list",
         tuple: "list", dict: "mapping", Path: "path", timedelta: "duration"}  # fmt: skip


SECTIONS: dict[str, type[BaseModel]] = SUITE | ENVIRONMENTS | {"schedule.yaml": Scheduled} | LIVE


def page() -> str:
    """Return the page, in Markdown."""
    parts = [TOP]
    for title, kind in SECTIONS.items():
        parts.append(f"## {title}\n\n{HEAD}")
        parts.append("\n".join(_rows(kind)) + "\n")
    return "\n".join(parts)


def meanings(kind: type[BaseModel]) -> dict[str, str]:
    """Return the docstring below each field of a class and of those that it inherits from."""
    found: dict[str, str] = {}
    for each in reversed(kind.__mro__):
        if BaseModel in each.__mro__[1:]:
            source: Any = ast.parse(textwrap.dedent(inspect.getsource(each))).body[0]
            for field, after in pairwise(source.body):
                if isinstance(field, ast.AnnAssign) and isinstance(after, ast.Expr):
                    found[ast.unparse(field.target)] = ast.literal_eval(after.value)
    return found


def _rows(kind: type[BaseModel]) -> Iterator[str]:
    """Yield the row of each key."""
    texts = meanings(kind)
    for key, field in kind.model_fields.items():
        text = re.sub(r"`+", "`", " ".join(texts[key].split())).replace("|", "\\|")
        yield f"| `{key}` | {_type(field.annotation)} | {_default(field)} | {text} |"


def _type(annotation: Any) -> str:
    """Return the words for the type of a key."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _type(inner[0])
    if origin is Literal:
        return " or ".join(f"`{each}`" for each in inner)
    if origin in (Union, UnionType):
        return " or ".join(dict.fromkeys(_type(each) for each in inner if each is not NoneType))
    known = origin or annotation
    if inspect.isclass(known) and issubclass(known, BaseModel):
        known = dict
    return WORDS.get(known, "text")


def _default(field: Any) -> str:
    """Return the default of a key."""
    value = field.get_default(call_default_factory=True)
    if field.is_required():
        return "required"
    if isinstance(value, BaseModel):
        return "see there"
    if isinstance(value, timedelta):
        return f"`{value.total_seconds():g}s`"
    if value is None or value in ("", (), [], {}):
        return "none"
    return f"`{str(value).lower()}`" if isinstance(value, bool) else f"`{value}`"
