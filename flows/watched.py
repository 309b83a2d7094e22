"""The data that all jobs of a run map: code of a user's that writes into them is found out."""

from __future__ import annotations

from pathlib import Path

from tasks.fetch.arrays import seal

CHANGED = "the data that all jobs share were changed while they ran, by a job with code of yours"


class Watched:
    """Remembers folders as they were, while code of a user's runs beside them.

    A mapping cannot be written to, but files can; what is computed from them then is nothing.

    Parameters
    ----------
    needed : bool
        Otherwise nothing is looked at: our own code writes there only before the jobs begin.

    Attributes
    ----------
    broken : set of str
        The data sets, by reference, that are not as they were.
    """

    def __init__(self, *, needed: bool) -> None:
        self.broken: set[str] = set()
        self._needed = needed
        self._seals: dict[Path, tuple[str, str]] = {}

    def watch(self, folder: Path, reference: str) -> None:
        """From now on `folder`, made of the data of `reference`, must stay as it is."""
        if self._needed and folder not in self._seals:
            self._seals[folder] = reference, seal(folder)

    def check(self, folder: Path) -> None:
        """Look at `folder`, for the last time."""
        if folder in self._seals:
            reference, before = self._seals.pop(folder)
            if seal(folder) != before:
                self.broken.add(reference)

    def check_all(self) -> None:
        """Look at all folders that are watched."""
        for folder in list(self._seals):
            self.check(folder)
