"""Diagnostics: numbered checks of results and event logs.

``diagnostics.yaml`` has the title, the advice and the sentences of each code. A pure function of
`leaseboard.tasks.score.diagnostics` finds it. On an alarm a person should act before the result is
used; a note is for information.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeVar

import yaml
from pydantic import AfterValidator

from leaseboard.algorithms.errors import unknown
from leaseboard.tasks.jobs.job import plain_value

ALARM, NOTE = "alarm", "note"
"""Severities."""
CODES: Mapping[str, Mapping[str, Any]] = yaml.safe_load(
    Path(__file__).with_name("diagnostics.yaml").read_text(encoding="utf-8")
)


class Diagnostic(NamedTuple):
    """Finding of a code: its severity, the name of its sentence, and what that is filled with."""

    code: str
    severity: str
    sentence: str
    facts: Mapping[str, Any]

    def __str__(self) -> str:
        text: str = CODES[self.code]["says"][self.sentence]
        return text.format(**self.facts)

    @property
    def meaning(self) -> Mapping[str, str]:
        """Title and advice of the code."""
        return {name: CODES[self.code][name] for name in ("title", "advice")}

    def as_row(self) -> dict[str, Any]:
        """Return what programs read: with the sentence and the meaning."""
        fields = self._asdict() | {"what": str(self)} | self.meaning
        return plain_value(fields | {"facts": dict(self.facts)})


def check_codes(codes: Sequence[str]) -> Sequence[str]:
    """Return the codes; UsageError with near ones for an unknown one."""
    for code in codes:
        if code not in CODES:
            raise unknown("code", code, CODES)
    return codes


Codes = Annotated[list[str], AfterValidator(check_codes)]
"""Codes in a YAML file."""
Subject = TypeVar("Subject")


def find(
    finders: Iterable[Callable[[Subject], Iterable[Diagnostic]]],
    subject: Subject,
    ignore: Iterable[str] = (),
) -> list[Diagnostic]:
    """Return what the functions of the codes find: alarms first, then by code."""
    found = [each for finder in finders for each in finder(subject)]
    found = [each for each in found if each.code not in ignore]
    return sorted(found, key=lambda each: (each.severity != ALARM, each.code))


def counts_of(found: Iterable[Diagnostic]) -> str:
    """Return the number of findings of each code.

    Examples
    --------
    >>> counts_of([Diagnostic("LB002", ALARM, "", {}), Diagnostic("LB006", NOTE, "", {})])
    'LB002 1, LB006 1'
    >>> counts_of([])
    'none'
    """
    counts = Counter(each.code for each in found)
    return ", ".join(f"{code} {counts[code]}" for code in sorted(counts)) or "none"


def lines_of(found: Iterable[Diagnostic]) -> list[str]:
    """Return a line for each code and severity: the first finding, and how many more there are.

    That of an alarm ends with what to do.
    """
    groups: dict[tuple[str, str], list[Diagnostic]] = {}
    for each in found:
        groups.setdefault((each.code, each.severity), []).append(each)
    return [
        f"{code} {severity}: {mine[0]}"
        + f" (and {len(mine) - 1} more)" * (len(mine) > 1)
        + f". {mine[0].meaning['advice']}" * (severity == ALARM)
        for (code, severity), mine in groups.items()
    ]
