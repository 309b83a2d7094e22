"""Published against measured: which of the papers' numbers come out again."""

from __future__ import annotations

from collections.abc import Sequence

from leaseboard.tasks.report.section import (
    Cell,
    Material,
    Names,
    Section,
    Table,
    data_cell,
    finite,
    number,
    spread,
)
from leaseboard.tasks.report.sections.selections import compared
from leaseboard.tasks.score.normalise import NORMALISED_MEANS
from leaseboard.tasks.score.published import (
    Agreement,
    printed_decimals,
    published_against_measured,
)
from leaseboard.tasks.score.selection import with_metrics


def section(made: Material) -> Section | None:
    """Every claim of the suite beside what was measured; None without claims."""
    if made.suite is None or not made.suite.published:
        return None
    scale = made.suite.normalise
    found = published_against_measured(
        with_metrics(made.frame, compared(made)),
        made.suite.published,
        scale.zero if scale else None,
        scale.one if scale else None,
    )
    table = Table(
        "published-table",
        "Published and measured values",
        [
            "Source", "Algorithm", "Data", "Metric", "Published", "Measured", "Verdict",
            "In the paper's spread", "Tolerance", "n",
        ],
        [_row(one, made.names) for one in sorted(found, key=lambda one: one.n == 0)],
        filters="published numbers",
        few=0,
        numeric_from=4,
    )  # fmt: skip
    title, text = "Published against measured", [_text(found)]
    if scale and any(one.claim.metric == "normalised_score" for one in found):
        text.append(
            NORMALISED_MEANS.format(metric=made.found.board.metric, zero=scale.zero, one=scale.one)
        )
    return Section("published", title, nav="Published", text=text, tables=[table])


def _text(found: Sequence[Agreement]) -> str:
    measured = [agreement for agreement in found if agreement.n]
    judged = [agreement for agreement in measured if agreement.agrees is not None]
    agreeing = sum(bool(agreement.agrees) for agreement in judged)
    return (
        f"{agreeing} of {len(judged)} published numbers that can be judged come out again;"
        f" {len(measured)} of {len(found)} were measured in this run. A number agrees if its"
        " difference is within the suite’s tolerance where it names one, else within the paper’s"
        " own standard deviation, at the digits that the paper prints. Published spreads are as"
        " printed; measured ones are standard deviations over n repetitions that divide by n, as"
        " the papers’ do."
    )


def _row(agreement: Agreement, names: Names) -> list[Cell]:
    claim = agreement.claim
    digits = printed_decimals(claim)
    verdict = {True: "agrees", False: "differs", None: "–"}[agreement.agrees]
    measured = spread(agreement.measured, agreement.measured_sd, digits + 1)
    if not agreement.n:
        verdict, measured = "not measured", "–"
    within = {True: "yes", False: "no", None: "–"}[agreement.within_spread]
    return [
        Cell(claim.source, claim.source),
        Cell(claim.algorithm, claim.algorithm),
        data_cell(claim.data, names),
        Cell(claim.metric, claim.metric),
        Cell(spread(claim.value, claim.sd, digits), claim.value),
        Cell(measured, finite(agreement.measured)),
        Cell(verdict, verdict, {"agrees": "good", "differs": "bad"}.get(verdict, "")),
        Cell(within, within),
        Cell("–") if claim.tolerance is None else number(claim.tolerance),
        Cell(str(agreement.n), agreement.n),
    ]
