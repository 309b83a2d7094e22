"""Diagnostics of a live model: a pure function for each code that concerns one, on its record.

They are of the last `LATELY` days. Tests are of days, not of rows: rows of a day are alike.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import timedelta

import numpy as np

from leaseboard.tasks.jobs.diagnostic_codes import ALARM, NOTE, Diagnostic, find
from leaseboard.tasks.live.losses import LossTotal
from leaseboard.tasks.live.record import CREATED, ROLLED_BACK, ModelRecord
from leaseboard.tasks.live.shadow import CHAMPION, PREVIOUS
from leaseboard.tasks.live.validation import GRACE
from leaseboard.tasks.models.model import LEVEL
from leaseboard.tasks.score.diagnostics import LEVEL as SHOWN
from leaseboard.tasks.score.diagnostics import RARE, is_refuted
from leaseboard.tasks.score.inference import p_value

LATELY, FEWEST_DAYS = timedelta(days=28), 7
"""Days that count, and the fewest that say anything."""
LATE, SHORT_OF_LEVEL = 0.05, 0.02
"""Shares: of labels that are overdue, of labels that intervals may miss beyond their level."""


def diagnostics_of(record: ModelRecord) -> list[Diagnostic]:
    """Return the findings of all codes that FILE.yaml does not ignore."""
    return find(FINDERS, record, record.settings.ignore)


def _last_days(record: ModelRecord, *numbers: int) -> list[str]:
    """Return the last days on which all of some candidates have predicted labels."""
    first = (record.now - LATELY).date().isoformat()
    return [day for day, found in sorted(record.days.items())
            if day >= first and {*numbers} <= found.keys()]  # fmt: skip


def unbeaten_baseline(record: ModelRecord) -> Iterator[Diagnostic]:
    """LB001: yield a naive baseline that is better than the champion, or as a note may be as good.

    By the signed-rank test of the daily means, the first with a level that all baselines share.
    """
    champion, naive = record.champion, [each.number for each in record.baselines]
    days = _last_days(record, champion.number, *naive) if champion and naive else []
    if champion is None or len(days) < FEWEST_DAYS:
        return
    loss = {number: LossTotal.of(record.days[day][number] for day in days).loss
            for number in (champion.number, *naive)}  # fmt: skip
    best = min(naive, key=loss.__getitem__)
    gains = [record.days[day][best].loss - record.days[day][champion.number].loss for day in days]
    better, worse = (p_value(sign * np.array(gains)) for sign in (1, -1))
    alarm = loss[best] < loss[champion.number] and len(naive) * worse <= SHOWN
    if alarm or better > SHOWN or loss[best] <= loss[champion.number]:
        kind = (ALARM, "live") if alarm else (NOTE, "unclear")
        facts = {"days": len(days), "score": loss[champion.number],
                 "p": len(naive) * worse if alarm else better,
                 "baseline": record.candidates[best].name, "other": loss[best]}  # fmt: skip
        yield Diagnostic("LB001", *kind, facts)


def missed_intervals(record: ModelRecord) -> Iterator[Diagnostic]:
    """LB007: yield that fewer labels are in the champion's intervals than their level says."""
    champion = record.champion
    days = _last_days(record, champion.number) if champion else []
    totals = [record.days[day][champion.number] for day in days if champion]
    totals = [each for each in totals if each.sums.get("intervals")]
    if len(totals) < FEWEST_DAYS:
        return
    share = LossTotal.of(totals).measures["coverage"]
    short = np.array([LEVEL - each.measures["coverage"] for each in totals])
    if share < LEVEL - SHORT_OF_LEVEL and p_value(short) <= RARE:
        labels = LossTotal.of(totals).sums["intervals"]
        facts = {"share": share, "labels": labels, "level": LEVEL, "p": p_value(short)}
        yield Diagnostic("LB007", ALARM, "live", facts)


def late_labels(record: ModelRecord) -> Iterator[Diagnostic]:
    """LB008: yield rows that wait for a label for longer than is usual."""
    limit = (record.now - record.settings.data.label_delay - GRACE).date().isoformat()
    first = (record.now - record.settings.data.label_delay - LATELY).date().isoformat()
    late = {day: rows for day, rows in record.waiting.items() if first <= day < limit}
    came = sum(max(total.rows for total in found.values())
               for day, found in record.days.items() if first <= day < limit)  # fmt: skip
    if late:
        count = sum(late.values())
        facts = {"late": count, "rows": count + came, "oldest": min(late)}
        kind = ALARM if count > LATE * (count + came) else NOTE
        yield Diagnostic("LB008", kind, "late", facts)


def spent_guarantee(record: ModelRecord) -> Iterator[Diagnostic]:
    """LB009: yield promotions of which half or more may be by chance, or too many went back.

    Of c comparisons at level alpha at most alpha c promote a worse challenger, in the mean. How
    large a share of the promotions that is has no bound.
    """
    kinds = [each.kind for each in record.history]
    promotions = sum(each.role == CHAMPION for each in record.tenures) - 1
    alpha, back = record.settings.compare.alpha, kinds.count(ROLLED_BACK)
    compared = max(promotions, back, kinds.count(CREATED) - 1)
    allowed = alpha * compared
    refuted = back > 0 and is_refuted(back, compared, alpha)
    if promotions > 0 and (2 * allowed >= promotions or refuted):
        facts = {"promotions": promotions, "alpha": alpha, "allowed": allowed, "back": back,
                 "compared": compared}  # fmt: skip
        yield Diagnostic("LB009", ALARM if refuted else NOTE, "live", facts)


def worse_version(record: ModelRecord) -> Iterator[Diagnostic]:
    """LB012: yield that the previous champion is better, by the sequential test of both.

    Evidence of 1 / alpha, at any time, is wrong with probability alpha; of its root a note.
    """
    test, previous = record.lifecycle.tests.get(PREVIOUS), record.in_role(PREVIOUS)
    alpha = record.settings.compare.alpha
    evidence = test.e_value("challenger") if test else 0.0
    if test and previous and evidence >= alpha**-0.5:
        facts = {"evidence": evidence, "labels": test.rows, "previous": previous.number}
        yield Diagnostic("LB012", ALARM if evidence >= 1 / alpha else NOTE, "live", facts)


FINDERS: Sequence[Callable[[ModelRecord], Iterable[Diagnostic]]] = (
    unbeaten_baseline, missed_intervals, late_labels, spent_guarantee, worse_version,
)  # fmt: skip
