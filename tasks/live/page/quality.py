"""Losses by day, and calibration of intervals and probabilities."""

from collections.abc import Mapping

from leaseboard.tasks.live.candidates import CHAMPION, REFERENCE
from leaseboard.tasks.live.page.day_charts import (
    by_span,
    day_chart,
    day_section,
    level,
    over_days,
    width_of,
)
from leaseboard.tasks.live.record import ROLES, LossTotal, ModelRecord, name_of
from leaseboard.tasks.models.model import LEVEL
from leaseboard.tasks.report.charts import INK, MUTED, Figure, Trace, colour
from leaseboard.tasks.report.page import Section
from leaseboard.tasks.store.live_tables import ModelCandidate

SERVED = 0
"""Number of the line of who was champion on a day, among the numbers of candidates."""
NAMES = {"rmse": "RMSE", "brier": "Brier score"}
UNITS = {"rmse": "root of the mean squared error", "brier": "mean Brier score"}
WEEK = 7

Drawn = Mapping[int, Mapping[str, LossTotal]]
"""Totals by span of days, by the number of the candidate."""


def is_regression(record: ModelRecord) -> bool:
    """Return whether labels are numbers."""
    totals = (each for found in record.days.values() for each in found.values())
    return any("absolute" in total.sums for total in totals)


def measure_of(record: ModelRecord) -> str:
    """Return the root of what comparisons go by, in the target's unit; of classes Brier."""
    return "rmse" if is_regression(record) else "brier"


def losses(record: ModelRecord) -> Section:
    """Return a line for each candidate and naive baseline."""
    if not record.days:
        text = ["No prediction has met its label yet: figures begin with the first day that does."]
        return Section("losses", "Quality by day", nav="Quality", text=text)
    width = width_of(record.days)
    shown = [each for role in ROLES if (each := record.in_role(role))] + record.baselines
    served = {day: record.days[day][number] for day, number in record.served.items()}
    days = {SERVED: served, **{each.number: record.days_of(each.number) for each in shown}}
    drawn = {n: totals for n, found in days.items() if (totals := by_span(found, width))}
    figure = _losses(record, drawn, width)
    return day_section("losses", "Quality by day", figure, nav="Quality")


def best_baseline(drawn: Drawn, record: ModelRecord) -> ModelCandidate | None:
    """Return the naive baseline with the least loss."""
    costs = {
        each.number: LossTotal.of(drawn[each.number].values()).loss
        for each in record.baselines
        if drawn.get(each.number)
    }
    return record.candidates[min(costs, key=costs.__getitem__)] if costs else None


def _losses(record: ModelRecord, drawn: Drawn, width: int) -> Figure | None:
    measure, target = measure_of(record), record.settings.data.target
    regression = measure == "rmse"
    traces = [
        _line(record, number, {day: each.measures[measure] for day, each in totals.items()}, width)
        for number, totals in drawn.items()
    ]
    note = UNITS[measure].capitalize() + (f", in the unit of {target}" if regression else "")
    note += (
        ": less is better. The wide band follows the champion of each day, a thin line is a"
        " candidate, a dotted one a naive baseline. A gap is days without labels."
    )
    return day_chart(
        "Loss by week" if width > 1 else "Loss by day", note, traces,
        f"{NAMES[measure]} of {target}", width, 340,
    )  # fmt: skip


def _line(
    record: ModelRecord, number: int, points: Mapping[str, float | None], width: int
) -> Trace:
    label = _label(record, number)
    if number == SERVED:  # below the candidates that share its points
        return over_days(label, points, width, MUTED, thick=9, opacity=0.4)
    dash = "dot" if record.candidates[number].role == REFERENCE else "solid"
    return over_days(label, points, width, colour(number), dash=dash)


def _label(record: ModelRecord, number: int) -> str:
    if number == SERVED:
        return "champion of the day"
    candidate = record.candidates[number]
    role = "" if candidate.role == REFERENCE else f" ({candidate.role})"
    return name_of(candidate) + role


def calibration(record: ModelRecord) -> Section | None:
    """Return, by week, whether intervals or probabilities hold; None for a model without them."""
    champion = record.champion
    found = by_span(record.days_of(champion.number), WEEK) if champion else {}
    if not found:
        return None
    total = LossTotal.of(found.values())
    if not is_regression(record):
        text, figure = _certainty(found, total)
    elif total.sums.get("intervals"):
        text, figure = _coverage(record, total)
    else:
        return None
    return day_section("calibration", "Calibration", figure, nav="Calibration", text=[text])


def _coverage(record: ModelRecord, total: LossTotal) -> tuple[str, Figure | None]:
    """Return the share of labels inside their interval, of each role."""
    lines, weeks = [], set[str]()
    for role in ROLES:
        candidate = record.in_role(role)
        totals = by_span(record.days_of(candidate.number), WEEK) if candidate else {}
        shares = {d: t.measures["coverage"] for d, t in totals.items() if t.sums.get("intervals")}
        if candidate is None or not shares:
            continue
        weeks |= set(shares)
        paint, thick = (INK, 2.6) if role == CHAMPION else (colour(candidate.number), 1.6)
        lines.append(over_days(f"{name_of(candidate)} ({role})", shares, WEEK, paint, thick=thick))
    text = (
        f"Of {total.sums['intervals']:,.0f} labels {100 * total.measures['coverage']:.1f} % were"
    )
    text += f" inside the champion's intervals, of which the level is {100 * LEVEL:g} %."
    return text, day_chart(
        "Labels inside their interval, by week",
        "Of the intervals that were predicted before the label was known.",
        [level(LEVEL, weeks, "level"), *lines], "share inside", WEEK,
    )  # fmt: skip


def _certainty(found: Mapping[str, LossTotal], total: LossTotal) -> tuple[str, Figure | None]:
    """Return how probable the champion called the likeliest class, and how often it was right."""
    sure = {day: each.sums["sure"] / each.rows for day, each in found.items()}
    right = {day: 1 - each.measures["error"] for day, each in found.items()}
    text = f"Over {total.rows:,} labels the champion gave the likeliest class a probability of"
    text += f" {100 * total.sums['sure'] / total.rows:.1f} % on average, and was right in"
    text += f" {100 * (1 - total.measures['error']):.1f} %."
    return text, day_chart(
        "Certainty and the share that was right, by week",
        "The nearer the lines, the better the probabilities of the likeliest class.",
        [over_days("certainty", sure, WEEK, colour(1), dash="dash"),
         over_days("right", right, WEEK, INK, thick=2.6)],
        "share", WEEK,
    )  # fmt: skip
