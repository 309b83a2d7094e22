"""Is a bundle to be believed? Its seals, its own contradictions, its data, and a few jobs again.

The verdict is sealed and goes into the bundle, beside the manifest that it is about.
"""

from __future__ import annotations

import math
import platform
import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from tasks.jobs.job import Result
from tasks.machine.environment import versions
from tasks.machine.paths import other_store
from tasks.tend.bundle import Bundle
from tasks.tend.claims import asked, faults, named, place
from tasks.tend.drawable import SKIPPED, other_data, why_not
from tasks.tend.rerun import run_again
from tasks.tend.shipped import beside_shipped
from tasks.tend.verdict import BundleVerdict, Covered, Outcome, Rerun

MOST_FAULTS = 1000


def judge(
    bundle: Bundle,
    *,
    share: float,
    seed: int,
    mirrors: tuple[Path, ...] = (),
    told: Callable[[str], None] = lambda _: None,
) -> BundleVerdict:
    """Look at a bundle that `tasks.tend.bundle.read` has taken, and run a share of it again.

    - `share`: of the jobs that can be run again; at least one is.
    - `seed`: of the draw: the same one draws the same jobs.
    - `told`: is told of each job that has been run again.
    """
    jobs = asked(bundle)
    wrong = faults(bundle)
    unseen: dict[str, str] = {}
    if not wrong:  # else it is refuted already, and is asked for nothing more
        wrong, unseen = other_data(bundle.results, mirrors)
    barred = {
        key: why_not(result, jobs.get(place(result))) or unseen.get(result.data, "")
        for key, result in bundle.results.items()
    }
    can = sorted(key for key, why in barred.items() if not why)
    again = []
    # What this machine recorded is not asked: it may be what the bundle was made from.
    with TemporaryDirectory() as folder, other_store(Path(folder) / "store.sqlite"):
        for key in [] if wrong else drawn(can, share, seed):
            result = bundle.results[key]
            came = run_again(bundle, key, jobs[place(result)], mirrors)
            again.append(Rerun(key=key, job=named(result), **came._asdict()))
            told(f"{came.outcome}: {named(result)}" + (f": {came.reason}" if came.reason else ""))
    return BundleVerdict(
        manifest=bundle.manifest.seal,
        outcome=_outcome(wrong, again, barred.values()),
        jobs=dict(sorted(Counter(r.status for r in bundle.results.values()).items())),
        seed=seed,
        share=share,
        could_run=len(can),
        faults=wrong[:MOST_FAULTS],
        again=again,
        left=dict(sorted(Counter(filter(None, barred.values())).items())),
        unseen=unseen,
        covered=_covered(bundle.results, barred),
        suite=beside_shipped(bundle.suite) if bundle.suite else "it has none",
        versions=versions(),
        host=platform.node(),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
    ).sealed()


def drawn(keys: list[str], share: float, seed: int) -> list[str]:
    """A random share of `keys`, at least one of them if there are any.

    Examples
    --------
    >>> drawn(["a", "b", "c"], 0.02, seed=1)
    ['a']
    >>> len(drawn([str(i) for i in range(200)], 0.02, seed=1))
    4
    """
    count = min(len(keys), max(1, math.ceil(share * len(keys))))
    return random.Random(seed).sample(keys, count)  # noqa: S311  (a draw that can be repeated)


def _outcome(wrong: list[str], again: list[Rerun], barred: Iterable[str]) -> Outcome:
    """Only where every job that the sender ran could have been drawn is all of it agreed."""
    found = {one.outcome for one in again}
    if wrong or "refuted" in found:
        return "refuted"
    if found != {"agreed"}:
        return "undecided"
    return "agreed" if set(barred) <= {"", SKIPPED} else "agreed in part"


def _covered(results: Mapping[str, Result], barred: Mapping[str, str]) -> dict[str, Covered]:
    found: dict[str, list[str]] = {}
    for key, result in sorted(results.items(), key=lambda each: place(each[1])):
        found.setdefault(result.label, []).append(barred[key])
    return {
        label: Covered(
            ran=len(reasons) - reasons.count(SKIPPED),
            could_run=reasons.count(""),
            skipped=reasons.count(SKIPPED),
        )
        for label, reasons in found.items()
    }
