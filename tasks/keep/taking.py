"""What a batch brings: new rows, labels that have come, repeats, and what is set aside."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd

from leaseboard.tasks.keep.changes import KeptRow
from leaseboard.tasks.keep.content import packed, plain_value, seal_of, values_in
from leaseboard.tasks.keep.settings import DataSettings

OTHER_VALUES = "with other values"
REUSED = f"its {{id}} is that of an earlier row {OTHER_VALUES}"
TWICE = f"its {{id}} stands in the batch twice, {OTHER_VALUES}"
RELABELLED = "its label has come before, and was another"
UNKNOWN = "a label for a row that never came"


@dataclass
class Sorted:
    """What a batch brings."""

    new: list[KeptRow] = field(default_factory=list)
    """In their order; without forecasts yet."""
    labelled: list[KeptRow] = field(default_factory=list)
    """Rows that came before, with the label that has come now."""
    aside: list[tuple[str, str, str]] = field(default_factory=list)
    """Identity, reason, and the row as JSON."""
    early: list[tuple[str, str]] = field(default_factory=list)
    """Labels whose row may come later: its identity, and the label as JSON."""
    repeated: int = 0
    old: int = 0
    """Of these, rows of days that are forgotten: nobody knows whether they had come before."""

    def counts(self) -> dict[str, int]:
        """How many of each."""
        return {
            "new": len(self.new),
            "labels": len(self.labelled) + sum(row.label is not None for row in self.new),
            "repeated": self.repeated,
            "aside": len(self.aside),
        } | ({"early": len(self.early)} if self.early else {})

    def may_wait(self) -> list[tuple[str, str]]:
        """Have the labels of rows that never came wait for these, and return them."""
        aside, self.aside = self.aside, []
        for identity, reason, row in aside:
            (label, *_) = json.loads(row).values()
            if reason == UNKNOWN and label is not None:
                self.early.append((identity, packed(label)))
            else:
                self.aside.append((identity, reason, row))
        return self.early


def is_labels_alone(frame: pd.DataFrame, data: DataSettings) -> bool:
    """Whether a table brings only labels of rows that came before."""
    return data.id is not None and set(map(str, frame)) == {data.id, data.target}


def take(
    frame: pd.DataFrame,
    ids: Sequence[str],
    known: Mapping[str, KeptRow],
    data: DataSettings,
    day: str,
    forgotten: tuple[str, str] | None = None,
    times: pd.Series | None = None,
) -> Sorted:
    """Sort the rows of a table that keeps the contract.

    - `ids`: the identity of each row.
    - `known`: the rows of these identities that were taken in before.
    - `day`: of rows without a time of their own.
    - `forgotten`: the first and the last day of rows whose identities are known no more. A row of
      these days that is not known counts as a repeat: it may have been learned.

    - `times`: of the rows, as the clock that days are of shows them; None: as the table does.

    A row that comes again is a repeat, if it says nothing else than before; it may bring the label
    that it did not have.
    """
    taken, seen = Sorted(), dict(known)
    alone = is_labels_alone(frame, data)
    labels = [None] * len(frame)
    if data.target in frame:
        labels = [plain_value(value) for value in frame[data.target].tolist()]
    if times is None and data.time in frame:
        times = pd.to_datetime(frame[data.time], format="ISO8601", utc=True)
    days = [day] * len(frame)
    if times is not None:
        days = [str(each) for each in times.dt.strftime("%Y-%m-%d").fillna(day)]
    features = values_in(frame.drop(columns=[data.target, data.id or ""], errors="ignore"))
    for identity, label, at, values in zip(ids, labels, days, features, strict=True):
        text, told = packed(values), None if label is None else packed(label)
        before = seen.get(identity)
        if before is None and alone:
            taken.aside.append((identity, UNKNOWN, packed({data.target: label})))
        elif before is None and forgotten is not None and forgotten[0] <= at <= forgotten[1]:
            taken.repeated += 1
            taken.old += 1
        elif before is None:
            row = KeptRow(identity, seal_of(text), at, text, "", told, is_settled=told is not None)
            seen[identity] = row
            taken.new.append(row)
        elif not alone and before.seal != seal_of(text):
            reason = (TWICE if before.number == 0 else REUSED).format(id=data.id or "identity")
            taken.aside.append((identity, reason, packed({**values, data.target: label})))
        elif told is None or (before.is_settled and before.label in (told, None)):
            taken.repeated += 1
        elif before.is_settled:
            taken.aside.append((identity, RELABELLED, packed({data.target: label})))
        else:
            row = replace(before, label=told, is_settled=True)
            seen[identity] = row
            if before.number:
                taken.labelled.append(row)
            else:  # it came without its label, further up in the same table
                place = next(i for i, new in enumerate(taken.new) if new.id == identity)
                taken.new[place] = row
    taken.labelled.sort(key=lambda row: row.number)
    return taken


def label_of(row: KeptRow) -> Any:
    """The label of a settled row."""
    assert row.label is not None
    return json.loads(row.label)
