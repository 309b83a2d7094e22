"""The papers' own numbers: published against measured."""

import pandas as pd

from leaseboard.tasks.report.charts import sentences, wording
from leaseboard.tasks.report.material import Material
from leaseboard.tasks.report.page import Cell, Section, Table, data_cell, spread
from leaseboard.tasks.report.sections.selections import compared
from leaseboard.tasks.score.numbers import fixed
from leaseboard.tasks.score.published import (
    Agreement,
    printed_decimals,
    published_against_measured,
)
from leaseboard.tasks.score.selection import with_metrics
from leaseboard.tasks.score.summary import scale_of


def published(made: Material) -> Section | None:
    """Return every claim of the suite with its measurement; None without claims."""
    if made.suite is None or not made.suite.published:
        return None
    scale = scale_of(made.suite, made.found.board.metric)
    frame = with_metrics(made.frame, compared(made))
    found = published_against_measured(frame, made.suite.published, scale)
    rows = [_claim(made, each) for each in sorted(found, key=lambda each: each.n == 0)]
    table = Table("published-table", frame=pd.DataFrame(rows), **wording("published-table"))
    judged = [each.agrees for each in found if each.n and each.agrees is not None]
    measured = sum(each.n > 0 for each in found)
    counts = {"agreeing": sum(judged), "judged": len(judged), "measured": measured}
    text = [sentences("published.text", **counts, all=len(found))]
    if scale.zero and any(each.claim.metric == "normalised_score" for each in found):
        text.append(scale.meaning)
    return Section("published", **wording("published"), text=text, tables=[table])


def _claim(made: Material, agreement: Agreement) -> dict[str, object]:
    claim, digits = agreement.claim, printed_decimals(agreement.claim)
    verdict = {True: "agrees", False: "differs", None: "–"}[agreement.agrees]
    measured = spread(fixed(agreement.measured, digits + 1), agreement.measured_sd, digits + 1)
    if not agreement.n:
        verdict, measured = "not measured", "–"
    kind = {"agrees": "good", "differs": "bad"}.get(verdict, "")
    return {
        "Source": claim.source,
        "Algorithm": claim.algorithm,
        "Data": data_cell(claim.data, made.names),
        "Metric": claim.metric,
        "Published": Cell(spread(fixed(claim.value, digits), claim.sd, digits), claim.value),
        "Measured": Cell(measured, agreement.measured),
        "Verdict": Cell(verdict, verdict, kind),
        "In the paper's spread": agreement.within_spread,
        "Tolerance": claim.tolerance,
        "n": agreement.n,
    }
