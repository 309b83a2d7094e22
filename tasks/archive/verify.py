"""Verification of an archive: its checksums, contradictions, data, and a few jobs run again.

What can be run again here a job itself says, never its result: that is the sender's word.
"""

import math
import platform
import random
from collections import Counter
from collections.abc import Callable, Hashable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from leaseboard.algorithms.errors import (
    DataError,
    DataUnavailableError,
    LeaseboardError,
    UsageError,
)
from leaseboard.tasks.archive.bundle import Bundle, named, place
from leaseboard.tasks.archive.claims import asked, faults
from leaseboard.tasks.archive.rerun import run_again, runs_here
from leaseboard.tasks.archive.verdict import BundleVerdict, Covered, Outcome, Rerun
from leaseboard.tasks.fetch import loading
from leaseboard.tasks.jobs.described import describe
from leaseboard.tasks.jobs.environments import unit_of
from leaseboard.tasks.jobs.job import Job, Result
from leaseboard.tasks.jobs.programs import is_untrusted
from leaseboard.tasks.jobs.run import check
from leaseboard.tasks.jobs.suites.suite import Suite, is_group
from leaseboard.tasks.machine.environment import versions
from leaseboard.tasks.machine.paths import other_store, shipped_conf
from leaseboard.tasks.machine.progress import counted
from leaseboard.tasks.machine.yaml_files import load_yaml

MOST_FAULTS = 1000
LEAST_DRAWN = 7
"""If half of the jobs are forged, fewer than one draw of so many in a hundred misses them all."""
SKIPPED = "skipped by the sender, and it cannot be run here either"
RUNS_HERE = "skipped by the sender, and it can be run here"
_LISTS = {"algorithms": "algorithm", "data": "data"}
_NOT_COMPARED = frozenset(("name", "tracking", "baselines", *_LISTS))
"""Parts of a suite that no page shows, or that are compared one by one."""


def judge(
    bundle: Bundle,
    *,
    share: float,
    seed: int,
    mirrors: tuple[Path, ...] = (),
    say: Callable[[str], None] = lambda _: None,
) -> BundleVerdict:
    """Check an archive that `leaseboard.tasks.archive.bundle.read` read; run a share of it again.

    - `share`: of the jobs that can be run again; at least `LEAST_DRAWN` are.
    - `seed`: of the draw: the same one draws the same jobs.
    - `say`: is given a line for each job that has been run again.
    """
    jobs = asked(bundle)
    wrong = faults(bundle)
    unseen: dict[str, str] = {}
    stated = bundle.suite.described() if bundle.suite else []
    if not wrong:  # else it is refuted already, and no data are read
        wrong, unseen, others = _other_data(bundle.results, mirrors)
        stated += others
    barred = {
        key: _why_not(result, jobs.get(place(result))) or unseen.get(result.data, "")
        for key, result in bundle.results.items()
    }
    skipped = [key for key, each in bundle.results.items() if each.status == "skipped"]
    can = sorted(key for key, why in barred.items() if not why and key not in skipped)
    again = []
    # What this machine recorded is not asked: it may be what the archive was made from.
    with TemporaryDirectory() as folder, other_store(Path(folder) / "store.sqlite"):
        chosen = drawn(can, share, seed, lambda key: place(bundle.results[key])[:2])
        for key in counted([] if wrong else chosen, "running again", "jobs"):
            result = bundle.results[key]
            outcome, reason = run_again(bundle, key, jobs[place(result)], mirrors)
            again.append(Rerun(key=key, job=named(result), outcome=outcome, reason=reason))
            say(f"{outcome}: {named(result)}" + (f": {reason}" if reason else ""))
        could: set[str] = set()  # of a name that runs here one whole job is enough to say so
        for key in skipped:
            result = bundle.results[key]
            if not (wrong or barred[key]):
                if result.name not in could and runs_here(jobs[place(result)], mirrors):
                    could.add(result.name)
                barred[key] = RUNS_HERE if result.name in could else SKIPPED
                say(f"{barred[key]}: {named(result)}")
    return BundleVerdict(
        manifest=bundle.manifest.checksum,
        outcome=_outcome(wrong, again, set(barred.values())),
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
        suite=compare_with_shipped(bundle.suite) if bundle.suite else "it has none",
        versions=versions(),
        host=platform.node(),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
    ).with_checksum()


def drawn(
    keys: list[str], share: float, seed: int, cell: Callable[[str], Hashable] = str
) -> list[str]:
    """Return a random share of `keys`, at least `LEAST_DRAWN`, one of each cell after the other.

    - `cell`: of a key, such as algorithm and dataset: many jobs of one do not hide another's.

    Examples
    --------
    >>> found = drawn([str(i) for i in range(400)], 0.02, seed=1, cell=lambda key: key == "7")
    >>> len(found), "7" in found
    (8, True)
    """
    rounds: Counter[Hashable] = Counter()
    number = {}
    for key in random.Random(seed).sample(keys, len(keys)):  # noqa: S311  (can be repeated)
        number[key] = rounds[cell(key)]
        rounds[cell(key)] += 1
    count = max(LEAST_DRAWN, math.ceil(share * len(keys)))
    return sorted(number, key=number.__getitem__)[:count]


def compare_with_shipped(suite: Suite) -> str:
    """Return whether `suite` equals the shipped one of its name or title, and where it differs."""
    files = sorted((shipped_conf() / "suites").glob("*.yaml"))
    known = {path.stem: load_yaml(path, Suite) for path in files if not is_group(path)}
    name = suite.name
    if name not in known:
        name = next((each for each in known if known[each].title == suite.title), "")
    if not name:
        return "none of its name or title is shipped"
    shipped, said = (each.model_dump(mode="json") for each in (known[name], suite))
    found = []
    for field, what in _LISTS.items():
        ours, theirs = _by_name(shipped[field]), _by_name(said[field])
        for words, names in (
            (f"without {what}", [each for each in ours if each not in theirs]),
            (f"with more {what}", [each for each in theirs if each not in ours]),
            (
                f"other settings of {what}",
                [each for each in ours if each in theirs and ours[each] != theirs[each]],
            ),
        ):
            if names:
                found.append(f"{words} {', '.join(names)}")
    for field, value in shipped.items():
        if field not in _NOT_COMPARED and said[field] != value:
            both = f"{field} {said[field]}, shipped {value}"
            found.append(both if len(both) < 160 else f"other {field}")
    if found:
        return f"NOT the shipped {name!r}: {'; '.join(found)}"
    return f"equals the shipped {name!r}"


def _by_name(entries: list[dict[str, Any]]) -> dict[str, Any]:
    """Return entries by the name of an algorithm, or the reference of data."""
    return {each.get("data") or each["name"] or each["algorithm"]: each for each in entries}


def _why_not(result: Result, job: Job | None) -> str:
    """Return why a job is never run again; empty if it can be drawn, or tried if skipped."""
    if job is None:
        return "no job of its suite"
    if result.status not in ("ok", "diverged", "skipped"):
        return f"{result.status}: that it failed is the sender's word"
    try:
        if is_untrusted(job):
            return "it runs code of a user's, which is not run for an archive"
        check(job)
        unit = unit_of(describe(job.algorithm, job.settings).environment, job.environment)
    except LeaseboardError as error:
        return f"it cannot be run here: {error}"
    if result.status != "skipped" and "seconds" in unit:
        return "its budget is in seconds, which differ from run to run"
    return ""


def _other_data(
    results: Mapping[str, Result], mirrors: tuple[Path, ...]
) -> tuple[list[str], dict[str, str], list[str]]:
    """Return which data are others than their references name, and which are not available.

    Returns
    -------
    list of str
        A line for each digest that is another.
    dict
        By reference, why the data are not available.
    list of str
        A line for each source and licence that is another: copies of the same data may have both.
    """
    wrong, unseen, stated = [], {}, []
    for reference in sorted({each.data for each in results.values() if each.digest}):
        mine = [each for each in results.values() if each.digest and each.data == reference]
        try:
            found = loading.load(reference, mirrors=mirrors)
        except (DataUnavailableError, DataError, UsageError) as error:
            unseen[reference] = str(error)
            continue
        wrong += [
            f"{reference}: the archive was made on data of the digest {one}, here it is"
            f" {found.digest}"
            for one in sorted({each.digest for each in mine} - {found.digest})
        ]
        ran = [each for each in mine if each.status in ("ok", "diverged")]
        stated += [
            f"{reference}: its {name} is {one!r}, here it is {getattr(found, name)!r}"
            for name in ("source", "licence")
            for one in sorted({getattr(each, name) for each in ran} - {getattr(found, name)})
        ]
    return wrong, unseen, stated


def _outcome(wrong: list[str], again: list[Rerun], barred: set[str]) -> Outcome:
    """Return "agreed" only where every job that runs here could have been drawn."""
    found = {one.outcome for one in again}
    if wrong or "refuted" in found:
        return "refuted"
    if found != {"agreed"}:
        return "undecided"
    return "agreed" if barred <= {"", SKIPPED} else "agreed in part"


def _covered(results: Mapping[str, Result], barred: Mapping[str, str]) -> dict[str, Covered]:
    """Return by name how many jobs ran, could be run again, and were skipped."""
    found: dict[str, Counter[str]] = {}
    for key, result in sorted(results.items(), key=lambda each: place(each[1])):
        skipped = result.status == "skipped"
        kind = "skipped" if skipped else "barred" if barred[key] else "could_run"
        found.setdefault(result.name, Counter())[kind] += 1
    return {
        name: Covered(
            ran=count["could_run"] + count["barred"],
            could_run=count["could_run"],
            skipped=count["skipped"],
        )
        for name, count in found.items()
    }
