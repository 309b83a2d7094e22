"""The kinds of environments, and all that others need to know of them; each has a module here."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from leaseboard.algorithms.measures import OF_TABLE, OF_TASK

Chosen: TypeAlias = Literal["model", "arm", "configuration", "system"]


@dataclass(frozen=True, slots=True, eq=False)
class Kind:
    """Properties of a kind of environment."""

    chooses: Chosen
    """Result of its algorithms: a model that they trained themselves, the arm that is tuned
    next, one of given configurations, or a whole framework, which keeps what it finds."""
    reward: bool
    """True if it measures a reward, of which more is better, not a loss."""
    replayed: bool
    """Trials or probes are recorded, and charged what they cost when they ran."""
    unit: str = ""
    """Unit of its budget; empty where the option `unit` says it."""
    measured: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Further measures of its jobs by task, see `leaseboard.algorithms.measures`."""


KINDS = {
    "stream": Kind("model", reward=False, replayed=False, unit="examples", measured=OF_TASK),
    "holdout": Kind("model", reward=False, replayed=False, unit="examples", measured=OF_TABLE),
    "pulls": Kind("arm", reward=True, replayed=True, measured=OF_TABLE),
    "samples": Kind("configuration", reward=True, replayed=True),
    "systems": Kind("system", reward=True, replayed=True, unit="cpu_seconds", measured=OF_TABLE),
    "folds": Kind("configuration", reward=True, replayed=True, unit="fits"),
}

REWARDING = frozenset(name for name, kind in KINDS.items() if kind.reward)
"""The names of those by which more is better; a job that failed early has no kind."""


ON_STREAMS = frozenset(name for name, kind in KINDS.items() if kind.measured is OF_TASK)
"""The names of those that are compared with the naive baselines of streams."""


def choosing(what: Chosen) -> frozenset[str]:
    """Return the names of the kinds whose algorithms choose that.

    Examples
    --------
    >>> sorted(choosing("model"))
    ['holdout', 'stream']
    """
    return frozenset(name for name, kind in KINDS.items() if kind.chooses == what)
