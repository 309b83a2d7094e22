"""The kinds of benches, and all that others need to know of them; each has a module here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Chosen: TypeAlias = Literal["model", "arm", "configuration", "system"]


@dataclass(frozen=True, slots=True)
class Kind:
    """What tells a kind of bench from the others."""

    chooses: Chosen
    """What its algorithms come to: a model that they trained themselves, the arm that is tuned
    next, one of given configurations, or a whole system, which keeps what it finds."""
    reward: bool
    """What it measures of a configuration is a reward, of which more is better, not a loss."""
    replayed: bool
    """Trials or probes are recorded, and charged what they cost when they ran."""
    served_by: str
    """The module of `leaseboard.tasks.models` that makes a model of what a job found."""
    unit: str = ""
    """What its budget counts; empty where the option `unit` says it."""
    measured: bool = False
    """Its jobs have measures beside the score, see `leaseboard.algorithms.benches.measures`."""


KINDS = {
    "stream": Kind(
        "model",
        reward=False,
        replayed=False,
        served_by="streaming",
        unit="examples",
        measured=True,
    ),
    "holdout": Kind("model", reward=False, replayed=False, served_by="held_out", unit="examples"),
    "pulls": Kind("arm", reward=True, replayed=True, served_by="chosen"),
    "samples": Kind("configuration", reward=True, replayed=True, served_by="chosen"),
    "systems": Kind("system", reward=True, replayed=True, served_by="chosen", unit="cpu_seconds"),
    "folds": Kind("configuration", reward=True, replayed=True, served_by="chosen", unit="fits"),
}

REWARDING = frozenset(name for name, kind in KINDS.items() if kind.reward)
"""The names of those by which more is better; a job that failed early has no kind."""


MEASURED = frozenset(name for name, kind in KINDS.items() if kind.measured)
"""The names of those whose jobs have measures beside the score."""


def choosing(what: Chosen) -> frozenset[str]:
    """The names of the kinds whose algorithms choose that.

    Examples
    --------
    >>> sorted(choosing("model"))
    ['holdout', 'stream']
    """
    return frozenset(name for name, kind in KINDS.items() if kind.chooses == what)
