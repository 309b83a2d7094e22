"""What the published rules know of a configuration under consideration."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

Status = Literal["waiting", "pending", "live", "paused", "eliminated"]


@dataclass(slots=True)
class Candidate:
    """A configuration under consideration.

    `status` is ``waiting`` until the configuration joins S, ``pending`` until it is given its
    first lease. `low` and `high` are the range of labels that it has seen.
    """

    dimension: int
    lease: float
    status: Status = "waiting"
    low: float = math.inf
    high: float = -math.inf
