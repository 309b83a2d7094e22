"""Merge run folders of several machines into one, in any order, as often as one likes.

Equal work has an equal key, so of two results with the same key one is kept: one that is ok before
one that is not, then the earliest. A job of the folder whose files were edited or damaged is not
done, unless another folder has its result. Results of other code, other data or other seeds have
other keys; all are kept, and the table names them apart.
"""

import json
import math
import shutil
import tempfile
from dataclasses import dataclass, replace
from operator import attrgetter
from pathlib import Path
from typing import Any

from leaseboard.algorithms.errors import LeaseboardError, UsageError
from leaseboard.tasks.folder import results
from leaseboard.tasks.jobs.job import UNDONE, Result
from leaseboard.tasks.jobs.suites.suite import Suite
from leaseboard.tasks.machine import disk
from leaseboard.tasks.machine.failpoints import reach
from leaseboard.tasks.machine.progress import counted
from leaseboard.tasks.score.summary import Compared, compared

SAME_SCORE = 1e-9
"""Relative difference up to which two machines' scores of one job agree: libraries may round."""


@dataclass(frozen=True, slots=True)
class Merged:
    """Outcome of a merge."""

    results: list[Result]
    """All results in the folder, as their jobs wrote them."""
    rows: list[Result]
    """The same on the leaderboard: with other names where code, data or seeds differ."""
    suite: Suite | None
    found: Compared
    """The comparison of the rows."""
    added: int
    """Number of jobs whose result came from another folder and was not in this one."""
    conflicts: list[str]
    """One line for each job of which two machines have different scores."""


def merge(folders: list[Path], out: Path) -> Merged:
    """Merge run folders and what `out` holds already into `out`, which this process has locked.

    Raises UsageError if they are of different suites, or two results have the same place. Nothing
    is written.
    """
    results.put_back(out)
    shown = results.rows(out) if (out / results.TABLE).is_file() else []
    undone = [row for row in shown if row.status == UNDONE]
    here = {result.key: result for result in (*results.current(out), *undone)}
    suite = _one_suite([*folders, out])
    every: dict[str, list[tuple[Result, Path]]] = {}
    for folder in (out, *folders):
        for result in here.values() if folder is out else results.current(folder):
            every.setdefault(result.key, []).append((result, folder))
    chosen = {key: min(both, key=lambda each: _order(each[0])) for key, both in every.items()}
    found = [result for result, _ in chosen.values()]
    had_data = {place(result) for result in found if result.digest}
    kept = sorted(  # without jobs that had no data on one machine and a result on another
        (r for r in found if r.status != "skipped" or r.digest or place(r) not in had_data),
        key=lambda r: (r.data, r.name, r.repetition, r.key),
    )
    rows = _named_apart(kept)
    if suite is not None:  # without a scale by algorithms that have other names now
        names, scale = {row.name for row in rows}, suite.normalise
        if scale and not {scale.zero, scale.one} <= names:
            suite = suite.model_copy(update={"normalise": None})
    comparison = compared(rows, suite)  # what no leaderboard can show gets onto none
    new = []
    for result in kept:
        folder, there = chosen[result.key][1], here.get(result.key)
        # Compared by their text, because a NaN equals nothing.
        if folder is not out and (there is None or _order(there) != _order(result)):
            new.append(results.job_folder(folder, result.key))
    _put(new, out)
    results.discard_unfinished(out)
    for key in here.keys() - {result.key for result in kept}:
        shutil.rmtree(results.job_folder(out, key))
    results.assemble(out, rows)
    if suite is not None:
        content = suite.model_dump_json(indent=1).encode()
        results.write_atomically(out / results.SUITE_FILE, content)
    conflicts = [_conflict([first for first, _ in every[result.key]]) for result in kept]
    written = [result for result in kept if result.status != UNDONE]
    return Merged(written, rows, suite, comparison, len(new), list(filter(None, conflicts)))


def place(of: Result) -> tuple[str, str, int]:
    """Return where a job is on a leaderboard: name, data and repetition."""
    return of.name or of.algorithm, of.data, of.repetition


def named(of: Result) -> str:
    """Return a job in words."""
    return "{} on {}, repetition {}".format(*place(of))


def _order(result: Result) -> tuple[object, ...]:
    """Return the rank of a result: smaller is better; the text decides last."""
    rank = {"ok": 0, "skipped": 2, UNDONE: 3}.get(result.status, 1)
    text = json.dumps(results.plain(result), sort_keys=True)
    return rank, result.started, result.host, text


def _conflict(same: list[Result]) -> str:
    """Return a line about ok results of one job whose scores differ; empty if they agree."""
    done = sorted((r for r in same if r.score is not None), key=_order)
    for other in done[1:]:
        first = done[0]
        if not math.isclose(first.score or 0.0, other.score or 0.0, rel_tol=SAME_SCORE):
            return (
                f"{named(first)}: {first.metric} {first.score!r} on"
                f" {first.host or 'one machine'}, {other.score!r} on {other.host or 'another'};"
                " the first, which is older, is kept"
            )
    return ""


def _named_apart(found: list[Result]) -> list[Result]:
    """Return the results with names, data and repetitions under which no two are the same.

    Other code is another name, other data of one name another dataset, and other seeds are
    further repetitions, numbered by the seed that the algorithms on a dataset share.
    """

    def values(name: str, *others: str) -> dict[str, list[Any]]:
        """Return the different values of `others` that the results of each name have."""
        known: dict[str, set[Any]] = {}
        for row in rows:
            known.setdefault(getattr(row, name), set()).add(attrgetter(*others)(row))
        return {key: sorted(each) for key, each in known.items()}

    def ambiguous() -> bool:
        return len({place(row) for row in rows}) < len(rows)

    rows = found
    for name, other in (("data", "digest"), ("name", "version")):
        if ambiguous():
            known = values(name, other)
            rows = [
                replace(row, **{name: f"{own} @{getattr(row, other)[:8] or 'unknown'}"})
                if len(known[own := getattr(row, name)]) > 1
                else row
                for row in rows
            ]
    if ambiguous():
        seeds = values("data", "repetition", "environment_seed")
        rows = [
            replace(row, repetition=seeds[row.data].index((row.repetition, row.environment_seed)))
            for row in rows
        ]
    seen: dict[tuple[str, str, int], Result] = {}
    for row in rows:
        first = seen.setdefault(place(row), row)
        if first is not row:
            raise UsageError(
                f"{named(row)}, has two results with different settings (jobs {first.key} and"
                f" {row.key}): give each its own name"
            )
    return rows


def _put(jobs: list[Path], out: Path) -> None:
    """Put folders of jobs into the run folder: copy all into a scratch folder, then rename."""
    size, free = sum(map(disk.used, jobs)), shutil.disk_usage(out).free
    if size > free:
        raise LeaseboardError(
            f"{str(out)!r} has {disk.shown(free)} free and the jobs need {disk.shown(size)}:"
            " make room, or name another folder with --run-dir"
        )
    scratch = Path(tempfile.mkdtemp(prefix=results.SCRATCH, dir=out))
    try:
        for job in counted(jobs, "copying", "jobs"):
            shutil.copytree(job, scratch / job.name)
            reach("merge.after-copy")
        for job in jobs:
            results.put(out, scratch / job.name)
    finally:
        results.put_back(out)


def _one_suite(folders: list[Path]) -> Suite | None:
    """Return the suite that all folders are of: the largest, if machines share its work."""
    files = (folder / results.SUITE_FILE for folder in folders)
    found = [Suite.model_validate_json(file.read_bytes()) for file in files if file.is_file()]
    names = sorted({suite.name for suite in found})
    if len(names) > 1:
        raise UsageError(f"results of different suites ({', '.join(names)}): merge each by itself")
    return max(found, key=lambda s: (len(s.data) + len(s.algorithms), str(s)), default=None)
