"""Jobs of a bundle run again here, and what came of them beside what the bundle says."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, NamedTuple

from leaseboard.algorithms import registry
from leaseboard.tasks.folder.results import EVENTS
from leaseboard.tasks.jobs.job import Job
from leaseboard.tasks.machine.environment import versions
from leaseboard.tasks.pool.attempts import run_one
from leaseboard.tasks.tend.alike import first_difference, first_other_event, first_other_shape
from leaseboard.tasks.tend.bundle import Bundle
from leaseboard.tasks.tend.by_seconds import by_seconds, held_to

Outcome = Literal["agreed", "refuted", "undecided"]


class Came(NamedTuple):
    """What running a job again said."""

    outcome: Outcome
    reason: str = ""


def run_again(bundle: Bundle, key: str, job: Job, mirrors: tuple[Path, ...]) -> Came:
    """Run a job and compare it with the bundle's.

    What other code or other packages made and is different is undecided, not refuted. So is what
    seconds or memory addresses decide, which are others in every run.
    """
    known = bundle.results[key]
    with tempfile.TemporaryDirectory() as folder:
        made = run_one(job, Path(folder), mirrors=mirrors, here=True).result
        if made.status == "skipped":
            return Came("undecided", made.reason)
        log = Path(folder) / EVENTS
        here = log.read_bytes() if log.is_file() else b""
    why = first_difference(known, made) or first_other_event(bundle.log(key), here)
    if not why:
        return Came("agreed")
    if by_seconds(job):
        refuted, checked = held_to(bundle, key, job, here, mirrors)
        if not refuted:
            return Came("undecided", f"{checked}: {why}")
        why = refuted
    if luck := registry.unrepeatable(job.algorithm):
        refuted = first_other_shape(known, made)
        if not refuted:
            return Came("undecided", f"its score was NOT checked: {luck}: {why}")
        why = refuted
    if made.version != known.version:
        return Came("undecided", f"{why}; the code was {known.version}, here it is {made.version}")
    if other := _other_packages(bundle.manifest.versions):
        return Came("undecided", f"{why}; it was made with {other}")
    return Came("refuted", why)


def runs_here(job: Job, mirrors: tuple[Path, ...]) -> bool:
    """Return whether a job that was skipped elsewhere comes to a result here."""
    with tempfile.TemporaryDirectory() as folder:
        made = run_one(job, Path(folder), mirrors=mirrors, here=True).result
        return made.status in ("ok", "diverged")


def _other_packages(made_with: Mapping[str, str]) -> str:
    here = versions()
    names = sorted(made_with.keys() | here.keys())
    return ", ".join(
        f"{name} {made_with.get(name, 'missing')}, here {here.get(name, 'missing')}"
        for name in names
        if made_with.get(name) != here.get(name)
    )
