"""The papers' own numbers: errors relative to baselines, and published against measured."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from leaseboard.tasks.report.charts import Figure, axis, chart, colour, scatter
from leaseboard.tasks.report.material import Material
from leaseboard.tasks.report.page import Cell, Section, Table, data_cell, finite, number, spread
from leaseboard.tasks.report.sections.selections import compared
from leaseboard.tasks.score.compared import scale_of
from leaseboard.tasks.score.published import (
    Agreement,
    Relative,
    cumulative,
    printed_decimals,
    published_against_measured,
    relative,
)
from leaseboard.tasks.score.selection import with_metrics
from leaseboard.tasks.score.summary import fixed
from leaseboard.tasks.score.table import NORMALISED_MEANS, Floats


def relative_error(made: Material) -> Section | None:
    """Return errors and times relative to the suite's baselines; None where it names none."""
    if made.suite is None or not made.suite.relative_to:
        return None
    found = relative(made.frame, made.suite.relative_to)
    if not found.problems:
        return None
    text = (
        "The error of an algorithm between the least (0) and the largest (1) mean error of the"
        " baselines; below 0 it beats them all. Times are CPU seconds over those of the first"
        " baseline; hover over a cell to read them. A name that ends in -best is, on each data"
        " set, the best of its settings."
    )
    rows = [
        [
            label, int(np.isfinite(errors).sum()), int((errors < 0).sum()),
            int((errors < 0.5).sum()), number(_median(errors), 3), number(_median(times), 3),
            *(number(error, 3, hint=f"{time:.3g} times the time")
              for error, time in zip(errors, times, strict=True)),
        ]
        for label, errors, times in zip(found.labels, found.errors, found.times, strict=True)
    ]  # fmt: skip
    columns = ["Algorithm", "Data sets", "Below 0", "Below 0.5", "Median error", "Median time",
               *map(made.name, found.problems)]  # fmt: skip
    table = Table(
        "relative-error-table",
        "Relative errors; medians and counts over data sets",
        pd.DataFrame(rows, columns=columns, dtype=object),
    )
    return Section(
        "relative-error",
        "Relative error and time",
        nav="Relative error",
        text=[text],
        figures=figures(found),
        tables=[table],
    )


def figures(found: Relative) -> list[Figure]:
    """Return Figures 2 and 3 of the paper: CDFs over all data sets, and over the costly ones.

    Costly are those where the second baseline takes at least twice the time of the first.
    """
    everywhere = np.ones(len(found.problems), dtype=bool)
    groups = [(everywhere, "")]
    if len(found.baselines) > 1:
        second = found.baselines[1]
        costly = found.times[found.labels.index(second)] >= 2
        groups.append((costly, f" where {second} takes twice the time"))
    drawn = []
    for keep, condition in groups:
        n = int(keep.sum())
        where = f"on {n} data set{'' if n == 1 else 's'}{condition}"
        if n:
            drawn += [
                _cdf(found.labels, found.errors[:, keep], "relative error", "linear", where),
                _cdf(found.labels, found.times[:, keep], "relative time", "log", where),
            ]
    return drawn


def _cdf(labels: tuple[str, ...], values: Floats, what: str, kind: str, where: str) -> Figure:
    most = values[np.isfinite(values)].max(initial=-np.inf)
    lines = []
    folded = ["(" in label for label in labels]  # one setting of a family that has a best
    for place, index in enumerate(np.argsort(folded, kind="stable")):
        x, y = cumulative(values[index])
        if len(x):  # a step from nothing, level to the edge: one data set is seen too
            x, y = np.array([x[0], *x, most]), np.array([0, *y, y[-1]])
        lines.append(
            scatter(labels[index], x, y, colour(place), line={"shape": "hv"},
                    visible="legendonly" if folded[index] else True)
        )  # fmt: skip
    up = axis("data sets", rangemode="tozero", dtick=-(-values.shape[1] // 8))
    note = f"How many {what}s are at most x, {where}; further left and higher is better."
    return chart(f"{what.capitalize()} {where}", note, lines, axis(what, type=kind), up, 420)


def _median(values: Floats) -> float:
    return float(pd.Series(values).median())


def published(made: Material) -> Section | None:
    """Return every claim of the suite beside what was measured; None without claims."""
    if made.suite is None or not made.suite.published:
        return None
    scale = scale_of(made.suite)
    zero, one = scale["zero"], scale["one"]
    frame = with_metrics(made.frame, compared(made))
    found = published_against_measured(frame, made.suite.published, zero, one)
    table = Table(
        "published-table",
        "Published and measured values",
        pd.DataFrame([_claim(made, each) for each in sorted(found, key=lambda each: each.n == 0)]),
        filters="published numbers",
        few=0,
    )
    text = [_agreeing(found)]
    if zero and any(each.claim.metric == "normalised_score" for each in found):
        metric = made.found.board.metric
        text.append(NORMALISED_MEANS.format(metric=metric, zero=zero, one=one))
    title = "Published against measured"
    return Section("published", title, nav="Published", text=text, tables=[table])


def _agreeing(found: Sequence[Agreement]) -> str:
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
        "Measured": Cell(measured, finite(agreement.measured)),
        "Verdict": Cell(verdict, verdict, kind),
        "In the paper's spread": agreement.within_spread,
        "Tolerance": claim.tolerance,
        "n": agreement.n,
    }
