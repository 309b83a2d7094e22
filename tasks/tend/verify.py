"""Is a bundle to be believed? Its seals, its own contradictions, its data, and a few jobs again.

The verdict is sealed and goes into the bundle, beside the manifest that it is about.
"""

from __future__ import annotations

import math
import platform
import random
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from leaseboard.tasks.jobs.job import Result
from leaseboard.tasks.machine.environment import versions
from leaseboard.tasks.machine.paths import other_store
from leaseboard.tasks.tend.bundle import Bundle
from leaseboard.tasks.tend.claims import asked, faults, named, place
from leaseboard.tasks.tend.drawable import RUNS_HERE, SKIPPED, other_data, why_not
from leaseboard.tasks.tend.rerun import run_again, runs_here
from leaseboard.tasks.tend.shipped import beside_shipped
from leaseboard.tasks.tend.verdict import BundleVerdict, Covered, Outcome, Rerun

MOST_FAULTS = 1000
LEAST_DRAWN = 7
"""If half of the jobs are forged, fewer than one draw of so many in a hundred misses them all."""


def judge(
    bundle: Bundle,
    *,
    share: float,
    seed: int,
    mirrors: tuple[Path, ...] = (),
    told: Callable[[str], None] = lambda _: None,
) -> BundleVerdict:
    """Look at a bundle that `leaseboard.tasks.tend.bundle.read` has taken, and run a share of it
    again.

    - `share`: of the jobs that can be run again; at least `LEAST_DRAWN` are.
    - `seed`: of the draw: the same one draws the same jobs.
    - `told`: is told of each job that has been run again.
    """
    jobs = asked(bundle)
    wrong = faults(bundle)
    unseen: dict[str, str] = {}
    stated = bundle.suite.stands_for() if bundle.suite else []
    if not wrong:  # else it is refuted already, and is asked for nothing more
        wrong, unseen, others = other_data(bundle.results, mirrors)
        stated += others
    barred = {
        key: why_not(result, jobs.get(place(result))) or unseen.get(result.data, "")
        for key, result in bundle.results.items()
    }
    skipped = [key for key, each in bundle.results.items() if each.status == "skipped"]
    can = sorted(key for key, why in barred.items() if not why and key not in skipped)
    again = []
    # What this machine recorded is not asked: it may be what the bundle was made from.
    with TemporaryDirectory() as folder, other_store(Path(folder) / "store.sqlite"):
        chosen = drawn(can, share, seed, lambda key: place(bundle.results[key])[:2])
        for key in [] if wrong else chosen:
            result = bundle.results[key]
            came = run_again(bundle, key, jobs[place(result)], mirrors)
            again.append(Rerun(key=key, job=named(result), **came._asdict()))
            told(f"{came.outcome}: {named(result)}" + (f": {came.reason}" if came.reason else ""))
        could: set[str] = set()  # of a label that runs here one whole job is enough to say so
        for key in skipped:
            result = bundle.results[key]
            if not (wrong or barred[key]):
                if result.label not in could and runs_here(jobs[place(result)], mirrors):
                    could.add(result.label)
                barred[key] = RUNS_HERE if result.label in could else SKIPPED
                told(f"{barred[key]}: {named(result)}")
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
        stated=stated,
        covered=_covered(bundle.results, barred),
        suite=beside_shipped(bundle.suite) if bundle.suite else "it has none",
        versions=versions(),
        host=platform.node(),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
    ).sealed()


def drawn(
    keys: list[str], share: float, seed: int, cell: Callable[[str], Hashable] = str
) -> list[str]:
    """Return a random share of `keys`, at least `LEAST_DRAWN`, one of each cell in turn.

    - `cell`: of a key, such as algorithm and data set: many jobs of one do not hide another's.

    Examples
    --------
    >>> found = drawn([str(i) for i in range(400)], 0.02, seed=1, cell=lambda key: key == "7")
    >>> len(found), "7" in found
    (8, True)
    """
    turns: Counter[Hashable] = Counter()
    turn = {}
    for key in random.Random(seed).sample(keys, len(keys)):  # noqa: S311  (can be repeated)
        turn[key] = turns[cell(key)]
        turns[cell(key)] += 1
    count = max(LEAST_DRAWN, math.ceil(share * len(keys)))
    return sorted(turn, key=turn.__getitem__)[:count]


def _outcome(wrong: list[str], again: list[Rerun], barred: Iterable[str]) -> Outcome:
    """Return "agreed" only where every job that runs here could have been drawn."""
    found = {one.outcome for one in again}
    if wrong or "refuted" in found:
        return "refuted"
    if found != {"agreed"}:
        return "undecided"
    return "agreed" if set(barred) <= {"", SKIPPED} else "agreed in part"


def _covered(results: Mapping[str, Result], barred: Mapping[str, str]) -> dict[str, Covered]:
    found: dict[str, list[str]] = {}
    for key, result in sorted(results.items(), key=lambda each: place(each[1])):
        said = "skipped" if result.status == "skipped" else barred[key]
        found.setdefault(result.label, []).append(said)
    return {
        label: Covered(
            ran=len(reasons) - reasons.count("skipped"),
            could_run=reasons.count(""),
            skipped=reasons.count("skipped"),
        )
        for label, reasons in found.items()
    }
