"""Which differences between algorithms are significant over data sets."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from markupsafe import Markup

from leaseboard.tasks.report.draw import svg
from leaseboard.tasks.report.section import Cell, Material, Section, Table, number
from leaseboard.tasks.score.significance import Comparison
from leaseboard.tasks.score.summary import short


@dataclass(frozen=True, kw_only=True)
class SignificanceTests(Section):
    """Demsar's diagram with its caption; the pairwise tests are folded away."""

    template: ClassVar[str] = "sections/significance_tests.html"

    found: Comparison
    picture: Markup
    friedman: str
    distance: str


def section(made: Material) -> Section | None:
    """The tests over data sets; None for a single one, which ranks nobody."""
    if made.found.board.one_set:
        return None
    found = made.found.tests
    rows = [
        [
            Cell(pair.first, pair.first),
            Cell(pair.second, pair.second),
            number(pair.p, 3),
            Cell("yes" if pair.different else "no", int(pair.different)),
        ]
        for pair in found.pairs
    ]
    caption = "Wilcoxon signed-rank tests over data sets, Holm-adjusted"
    columns = ["First", "Second", "Adjusted p", "Different"]
    pairs = Table("pairs-table", caption, columns, rows, filters="pairs", few=12, numeric_from=2)
    return SignificanceTests(
        id="tests",
        title="Significance",
        nav="Significance",
        tables=[pairs] if rows else [],
        found=found,
        picture=svg.critical_difference(found),
        friedman=short(found.friedman_p, 2) if math.isfinite(found.friedman_p) else "",
        distance=short(found.critical_difference, 3),
    )
