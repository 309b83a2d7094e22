"""``leaseboard verify``: is a bundle of somebody else's to be believed?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from leaseboard.flows.commands.options import Mirrors
from leaseboard.flows.folders import check_file
from leaseboard.flows.terminal import say

if TYPE_CHECKING:
    from leaseboard.tasks.tend.verdict import BundleVerdict, Covered

MOST_LINES = 20
_CODES = {"agreed": 0, "refuted": 1, "agreed in part": 3, "undecided": 3}


def verify(
    bundle: Annotated[Path, typer.Argument(help="A bundle of `leaseboard export`.")],
    share: Annotated[
        float, typer.Option(min=0.0001, max=1, help="Of its jobs, to run again; at least 7 are.")
    ] = 0.02,
    seed: Annotated[
        int | None,
        typer.Option(min=0, max=2**31 - 1, help="Of the draw (default: one that nobody knows)."),
    ] = None,
    mirror: Mirrors = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Where to write the bundle with the verdict (default: there)."),
    ] = None,
) -> int:
    """Check every seal of a bundle, run a random share of its jobs again, and say what came.

    The verdict goes into the bundle. Exits with 1 if the bundle is refused or refuted, and with 3
    if it agrees in part, as some jobs or data could not be looked at, or nothing can decide it.

    Example: leaseboard verify there.zip --share 0.1
    """
    from secrets import SystemRandom

    from leaseboard.algorithms.errors import UsageError
    from leaseboard.tasks.machine import paths
    from leaseboard.tasks.tend import verify as core
    from leaseboard.tasks.tend.bundle import read
    from leaseboard.tasks.tend.verdict import put

    if not bundle.is_file():
        raise UsageError(f"{str(bundle)!r}: no such file: name a bundle of `leaseboard export`")
    check_file(out or bundle)
    try:
        found = read(bundle)
    except UsageError as error:
        say(f"refused: {error}", err=True)
        return 1
    verdict = core.judge(
        found,
        share=share,
        seed=SystemRandom().randrange(2**31) if seed is None else seed,
        mirrors=paths.mirrors(tuple(mirror or ())),
        told=say,
    )
    _say(verdict)
    put(verdict, bundle, out or bundle)
    return _CODES[verdict.outcome]


def _say(verdict: BundleVerdict) -> None:
    for fault in verdict.faults[:MOST_LINES]:
        say(f"refuted: {fault}", err=True)
    if len(verdict.faults) > MOST_LINES:
        say(f"refuted: and {len(verdict.faults) - MOST_LINES} more faults", err=True)
    for data, why in verdict.unseen.items():
        say(f"not seen: {data}: {why}", err=True)
    for why, count in verdict.left.items():
        say(f"never drawn, {count} jobs: {why}")
    for line in verdict.stated:
        say(f"stated:  {line}")
    say(f"jobs:    {', '.join(f'{count} {status}' for status, count in verdict.jobs.items())}")
    say(f"could be drawn: {', '.join(_looked_at(*each) for each in verdict.covered.items())}")
    say(f"suite:   {verdict.suite}")
    say(f"drawn:   {len(verdict.again)} of {verdict.could_run}, with --seed {verdict.seed}")
    say(f"verdict: {verdict.outcome}; on the sender's word: {', '.join(verdict.unverified)}")


def _looked_at(label: str, covered: Covered) -> str:
    skipped = f" ({covered.skipped} skipped)" if covered.skipped else ""
    return f"{label} {covered.could_run} of {covered.ran}{skipped}"
