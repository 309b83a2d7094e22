"""Algorithms of which one seed makes two runs: whoever runs them again may see another score.

They stand here and not in their classes, whose modules others' jobs are keyed by as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

_AUTOVW = "AutoVW goes through a set in the order of memory addresses"

UNREPEATABLE: Mapping[str, str] = MappingProxyType(
    {
        "flaml": "FLAML weighs its learners by the seconds that they take",
        "flaml-autovw": _AUTOVW,
        "flaml-autovw-patched": _AUTOVW,
        "flaml-autovw-squared": _AUTOVW,
        "samlb-chacha": _AUTOVW,
    }
)
"""Why, by the name of the algorithm."""
