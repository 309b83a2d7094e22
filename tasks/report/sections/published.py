"""The papers' own numbers: errors relative to baselines, and published against measured."""

import numpy as np
import pandas as pd

from leaseboard.tasks.report.charts import Figure, axis, chart, colour, scatter, sentences, wording
from leaseboard.tasks.report.material import Material
from leaseboard.tasks.report.page import Cell, Section, Table, data_cell, finite, number, spread
from leaseboard.tasks.report.sections.selections import compared
from leaseboard.tasks.score.numbers import fixed
from leaseboard.tasks.score.published import (
    Agreement,
    Relative,
    cumulative,
    printed_decimals,
    published_against_measured,
    relative,
)
from leaseboard.tasks.score.selection import with_metrics
from leaseboard.tasks.score.summary import scale_of, several
from leaseboard.tasks.score.table import Floats


def relative_error(made: Material) -> Section | None:
    """Return errors and times relative to the suite's baselines; None where it names none."""
    if made.suite is None or not made.suite.relative_to:
        return None
    found = relative(made.frame, made.suite.relative_to)
    if not found.problems:
        return None
    errors, times = (pd.DataFrame(each, found.labels) for each in (found.errors, found.times))
    shown = pd.DataFrame(
        {
            "Algorithm": found.labels,
            "Datasets": errors.notna().sum(axis=1),
            "Below 0": (errors < 0).sum(axis=1),
            "Below 0.5": (errors < 0.5).sum(axis=1),
            "Median error": [number(each, 3) for each in errors.median(axis=1)],
            "Median time": [number(each, 3) for each in times.median(axis=1)],
        }
    )
    for place, problem in enumerate(found.problems):
        shown[made.name(problem)] = [
            number(error, 3, hint=f"{time:.3g} times the time")
            for error, time in zip(errors[place], times[place], strict=True)
        ]
    table = Table("relative-error-table", frame=shown, **wording("relative-error-table"))
    words = wording("relative-error")
    return Section("relative-error", **words, figures=figures(found), tables=[table])


def figures(found: Relative) -> list[Figure]:
    """Return Figures 2 and 3 of the paper: CDFs over all datasets, and over the costly ones.

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
        where = f"on {several(n)}{condition}"
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
        if len(x):  # a step from nothing, level to the edge: one dataset is seen too
            x, y = np.array([x[0], *x, most]), np.array([0, *y, y[-1]])
        lines.append(
            scatter(labels[index], x, y, colour(place), line={"shape": "hv"},
                    visible="legendonly" if folded[index] else True)
        )  # fmt: skip
    up = axis("datasets", rangemode="tozero", dtick=-(-values.shape[1] // 8))
    note = f"How many {what}s are at most x, {where}; further left and higher is better."
    return chart(f"{what.capitalize()} {where}", note, lines, axis(what, type=kind), up, 420)


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
        "Measured": Cell(measured, finite(agreement.measured)),
        "Verdict": Cell(verdict, verdict, kind),
        "In the paper's spread": agreement.within_spread,
        "Tolerance": claim.tolerance,
        "n": agreement.n,
    }
