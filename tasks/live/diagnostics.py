"""Diagnostics of a live model: a pure function for each code that concerns one, on its record.

They are of the last `LATELY` days. Tests are of days, not of rows: rows of a day are alike.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import timedelta

import numpy as np

from leaseboard.tasks.jobs.diagnostic_codes import ALARM, NOTE, Diagnostic, find
from leaseboard.tasks.live.losses import LossTotal
from leaseboard.tasks.live.record import ModelRecord
from leaseboard.tasks.score.diagnostics import LEVEL as SHOWN
from leaseboard.tasks.score.inference import p_value

LATELY, FEWEST_DAYS = timedelta(days=28), 7
"""Days that count, and the fewest that say anything."""


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


FINDERS: Sequence[Callable[[ModelRecord], Iterable[Diagnostic]]] = (unbeaten_baseline,)
