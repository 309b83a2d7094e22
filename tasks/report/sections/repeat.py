"""How to repeat the board: the commands, the data with their digests, the versions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import pandas as pd

from tasks.report.cells import Names, named
from tasks.report.commands import command_of, commands_of
from tasks.report.material import Material
from tasks.report.section import Section
from tasks.report.shell import packages


@dataclass(frozen=True, kw_only=True)
class Repeat(Section):
    """What to type, on which data, with which packages."""

    template: ClassVar[str] = "sections/repeat.html"

    suite: str
    command: str
    stands_for: Sequence[str]
    data_sets: Sequence[Mapping[str, str]]
    packages: Mapping[str, str]


def section(made: Material) -> Section:
    """All that it takes to get the same numbers."""
    first = next(made.frame.itertuples(), None)
    return Repeat(
        "repeat",
        "How to repeat it",
        nav="Repeat it",
        suite=(made.suite.name if made.suite else "") or made.folder,
        command=command_of(first, commands_of(made.suite)) if first is not None else "",
        stands_for=made.suite.stands_for() if made.suite else [],
        data_sets=data_sets(made.frame, made.names),
        packages=packages(),
    )


def data_sets(frame: pd.DataFrame, names: Names) -> list[dict[str, str]]:
    """Every data set with its digest, source and licence as the results record them."""
    found = []
    for data, rows in frame.groupby("data", sort=False):
        digests = sorted(set(rows["digest"]) - {""})
        found.append(
            {
                "name": named(str(data), names),
                "reference": str(data),
                "digest": ", ".join(digests) or "not read",
                "source": _first(rows, "source"),
                "licence": _first(rows, "licence"),
            }
        )
    return found


def _first(rows: pd.DataFrame, column: str) -> str:
    if column not in rows.columns:
        return ""
    return next((str(value) for value in rows[column] if value), "")
