"""Summary of a live model, in sentences that page and terminal share."""

from datetime import date, datetime, timedelta

from leaseboard.tasks.live.candidates import CHALLENGER, CHAMPION, PREVIOUS, evidence_so_far
from leaseboard.tasks.live.page.quality import best_baseline, is_regression, measure_of
from leaseboard.tasks.live.record import DECIDED, LossTotal, ModelRecord, name_of
from leaseboard.tasks.score.numbers import short

MOST_INCIDENTS = 5
LATELY = timedelta(days=7)
"""The days that the summary is of."""


def champion(record: ModelRecord) -> str:
    """Return who is champion, and since when."""
    found = record.champion
    if found is None:
        return "The model has no champion yet: the first is made when enough labels have come."
    reigns = [each for each in record.tenures if each.role == CHAMPION]
    since = next((s.start for s in reigns[::-1] if s.candidate == found.number), found.created)
    return (
        f"{name_of(found)} has been champion since {since[:10]} and has learned {found.learned:,}"
        " rows."
    )


def quality(record: ModelRecord) -> str:
    """Return the loss of the last days in the target's unit, and of the best naive baseline."""
    days = record.days_of(record.champion.number) if record.champion else {}
    if not days:
        return "No prediction of a champion has met its label yet."
    last = max(days)
    first = (date.fromisoformat(last) - LATELY).isoformat()

    def lately(number: int) -> LossTotal:  # of days that the champion predicted, too
        found = record.days_of(number).items()
        return LossTotal.of(each for day, each in found if day in days and day > first)

    assert record.champion is not None
    total, target = lately(record.champion.number), record.settings.data.target
    mine, labels = total.measures, f"{total.rows:,} labels of the {LATELY.days} days up to {last}"
    if is_regression(record):
        text = f"Over the {labels} its predictions of {target} have an RMSE of"
        text += f" {short(mine['rmse'], 3)} (MAE {short(mine['mae'], 3)})"
    else:
        text = f"Over the {labels} {100 * mine['error']:.1f} % of its predictions of {target} were"
        text += f" wrong, and their Brier score is {short(mine['brier'], 3)}"
    totals = {each.number: lately(each.number) for each in record.baselines}
    best = best_baseline({n: {last: each} for n, each in totals.items() if each.rows}, record)
    theirs = totals[best.number].measures if best else {"loss": 0.0}
    if best is None or not theirs["loss"]:
        return f"{text}; it has no naive baseline to compare with."
    skill = 1 - mine["loss"] / theirs["loss"]
    verdict = "better" if skill > 0 else "worse" if skill < 0 else "no better"
    return (
        f"{text}: {verdict} than {best.name} with {short(theirs[measure_of(record)], 3)}, the best"
        f" naive baseline (skill {short(skill, 2)})."
    )


def challenge(record: ModelRecord) -> str:
    """Return who challenges, and the evidence so far."""
    alpha, tests = record.settings.compare.alpha, record.lifecycle.tests
    parts = [
        f"{name_of(rival)}, {role}: {evidence_so_far(tests.get(role), alpha)}."
        for role in (CHALLENGER, PREVIOUS)
        if (rival := record.in_role(role)) and (role in tests or role == CHALLENGER)
    ]
    return " ".join(parts) or "The champion has no challenger."


def labels(record: ModelRecord) -> str:
    """Return how many rows wait for their label."""
    total = sum(record.waiting.values())
    if not total:
        return "No labels are missing."
    rows = "1 row waits" if total == 1 else f"{total:,} rows wait"
    return f"{rows} for a label, the oldest since {min(record.waiting)}."


def trouble(record: ModelRecord) -> str:
    """Return how many incidents are open."""
    count = len(record.open)
    return f"{count or 'No'} open incident{'' if count == 1 else 's'}."


def last_update(record: ModelRecord) -> str:
    """Return what the last update did."""
    found = record.state.last_update()
    if found is None:
        return "There was no update yet."
    began = found["began"][:16].replace("T", " ")
    if found["ended"] is None:
        if record.now.replace(microsecond=0) <= datetime.fromisoformat(found["began"]):
            return f"The update of {began} UTC wrote this page."
        return (
            f"The last update began {began} UTC and has not ended: it is running, or was stopped."
        )
    if found["outcome"] == "failure":
        return f"The last update began {began} UTC, and failed."
    counts = [
        f"{name.replace('_', ' ')} {value}"
        for name, value in found["summary"].items()
        if isinstance(value, int) and value
    ]
    return f"The last update was {began} UTC" + (f": {', '.join(counts)}." if counts else ".")


def status(record: ModelRecord) -> str:
    """Return what `leaseboard live status` prints."""
    parts = {
        "champion": champion(record),
        "lately": quality(record),
        "against": challenge(record),
        "labels": labels(record),
        "update": last_update(record),
        "decided": "; ".join(each.what for each in record.history if each.kind == DECIDED),
        "deleted": "; ".join(f"{each.at[:16]} {each.what}" for each in record.deletions[-1:]),
        "incidents": trouble(record),
    }
    lines = [f"{record.settings.name}: {record.settings.data.target}"]
    lines += [f"  {name:<10} {text}" for name, text in parts.items() if text]
    for case in record.open[:MOST_INCIDENTS]:
        incident = case.incident
        lines.append(f"    {incident.since:%Y-%m-%d %H:%M} {incident.kind}: {incident.what}")
    more = len(record.open) - MOST_INCIDENTS
    if more > 0:
        lines.append(f"    and {more} more, on the page")
    return "\n".join(lines)
