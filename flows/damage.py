"""Say which files of a run folder are not as they were written."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from flows.terminal import say

if TYPE_CHECKING:
    from tasks.folder.results import Damage

MOST_LINES = 5


def say_damage(found: Sequence[Damage]) -> None:
    """One line on standard error for each file, the first few by name."""
    for damage in found[:MOST_LINES]:
        say(f"leaseboard: {damage}", err=True)
    if len(found) > MOST_LINES:
        say(f"leaseboard: and {len(found) - MOST_LINES} more such files", err=True)


def check_folder(out: Path) -> None:
    """Look at all files of a run folder, and say which are damaged."""
    from tasks.folder import results

    say_damage(results.damaged(out))
