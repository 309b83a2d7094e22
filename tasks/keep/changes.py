"""What a keep's state is made of, and what a batch changes in it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

Letter = tuple[str, dict[str, str]]
"""An address, and what is to be told there."""


@dataclass(frozen=True, slots=True)
class KeptRow:
    """A row that was taken in."""

    id: str
    seal: int
    """The sum of its features' bytes: whether an id comes back with other values."""
    day: str
    features: str
    """As JSON; empty where they are forgotten."""
    forecasts: str
    """As JSON, by the lineage's number."""
    label: str | None
    """As JSON; None until it has come, and where it is forgotten."""
    number: int = 0
    """The order in which rows came; given by the state."""
    is_settled: bool = False
    """Whether the label has come."""


@dataclass(frozen=True, slots=True)
class Lineage:
    """A forecaster that lives in the keep."""

    number: int
    role: str
    """``champion``, ``challenger``, ``previous``, ``reference`` or ``retired``."""
    name: str
    """Of its algorithm."""
    model: str | None
    """The digest of what it has learned."""
    learned: int
    """Rows."""
    born: str
    why: str
    """Why it was made."""
    published: str | None = None
    """The digest of what was published last."""


@dataclass(frozen=True, slots=True)
class TakenIn:
    """A batch that was taken in."""

    name: str
    digest: str
    counts: Mapping[str, int]
    """How many of its rows are ``new``, ``repeated``, ``aside``, ``labels``."""
    watermark: str | None = None


@dataclass(frozen=True, slots=True)
class Happened:
    """What the page tells of: a lineage was born or promoted, an incident opened."""

    at: str
    kind: str
    subject: str
    what: str


@dataclass
class Changes:
    """Everything that one batch changes, or the end of a turn."""

    at: str
    batch: TakenIn | None = None
    rows: list[KeptRow] = field(default_factory=list)
    labels: list[tuple[int, str]] = field(default_factory=list)
    """Of rows that were there before: their number, and the label that came."""
    aside: list[tuple[str, str, str]] = field(default_factory=list)
    """Identity, reason, and the row as JSON."""
    lineages: list[Lineage] = field(default_factory=list)
    """Those that are new or changed."""
    models: dict[str, bytes] = field(default_factory=dict)
    days: dict[tuple[str, int], tuple[int, dict[str, float]]] = field(default_factory=dict)
    """By day and lineage: so many rows more, and what is added to the sums."""
    memory: dict[str, Any] = field(default_factory=dict)
    happened: list[Happened] = field(default_factory=list)
    letters: list[Letter] = field(default_factory=list)
    early: list[tuple[str, str, str]] = field(default_factory=list)
    """Labels that wait for their row: its identity, when they came, and the label as JSON."""
    posted: Sequence[int] = ()
    """Numbers of posted labels that were taken in."""
    window: int = 0
    """The content of settled rows is forgotten but for so many, the last."""
    horizon: str = ""
    """Rows before this day are forgotten wholly; empty if none are."""
    served_horizon: str = ""
    """So is what was served before this day."""


def digest_of(content: bytes) -> str:
    """The name under which a model is kept."""
    return hashlib.sha256(content).hexdigest()


def in_role(lineages: Sequence[Lineage], role: str) -> Lineage | None:
    """The lineage that has a role of which there is one."""
    return next((each for each in lineages if each.role == role), None)


def renamed(lineage: Lineage, role: str) -> Lineage:
    """The lineage in another role."""
    return replace(lineage, role=role)
