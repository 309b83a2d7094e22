"""What the budget of a job counts, by its bench alone: its data need not be there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from leaseboard.algorithms.benches.folds import FoldsBench
from leaseboard.algorithms.benches.holdout import HoldoutBench
from leaseboard.algorithms.benches.stream import StreamBench
from leaseboard.algorithms.benches.systems import SystemsBench
from leaseboard.tasks.jobs.benches import check_options, pulls, samples

_ALWAYS = {
    bench.kind: bench.unit for bench in (StreamBench, HoldoutBench, FoldsBench, SystemsBench)
}
_AS_ASKED = {"pulls": pulls.Options, "samples": samples.Options}


def unit_of(kind: str, given: Mapping[str, Any]) -> str:
    """The unit of a bench of `kind` with the options `given`.

    Raises UsageError for options that it has not.

    Examples
    --------
    >>> unit_of("stream", {}), unit_of("pulls", {}), unit_of("systems", {})
    ('examples', 'trials', 'cpu_seconds')
    >>> unit_of("samples", {"unit": "seconds"})
    'seconds'
    """
    checked = check_options(kind, given)
    return _ALWAYS[kind] if kind in _ALWAYS else _AS_ASKED[kind](**checked).unit
