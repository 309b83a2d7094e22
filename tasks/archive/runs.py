"""Runs that are over: merged with those of other machines, and pruned of replaced results.

Run folders are merged in any order, as often as one likes.

Equal work has an equal key, so of two results with the same key one is kept: one that is ok before
one that is not, then the earliest. A job of the folder whose files were edited or damaged is not
done, unless another folder has its result.
"""

import json
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.folder import results
from leaseboard.tasks.jobs.job import UNDONE, Result
from leaseboard.tasks.jobs.suites.plan import place
from leaseboard.tasks.jobs.suites.suite import Suite
from leaseboard.tasks.machine.disk import reach
from leaseboard.tasks.machine.terminal import counted
from leaseboard.tasks.score.summary import Compared, compared


@dataclass(frozen=True, slots=True)
class Merged:
    """Outcome of a merge."""

    results: list[Result]
    """All results in the folder."""
    suite: Suite | None
    found: Compared
    """Their comparison, with the jobs that are not done."""
    added: int
    """Number of jobs whose result came from another folder and was not in this one."""


def merge(folders: list[Path], out: Path) -> Merged:
    """Merge run folders and what `out` holds already into `out`, which this process has locked.

    Raises UsageError if they are of different suites, or two results have the same place, as those
    of other code, data or settings do. Nothing is written.
    """
    results.put_back(out)
    here = {row.key: row for row in results.rows(out)}
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
    for one, other in pairwise(kept):
        if place(one) == place(other):
            what = "{} on {}, repetition {}".format(*place(one))
            raise UsageError(
                f"{what}, has two results of other code, data or settings (jobs {one.key} and"
                f" {other.key}): merge them into different folders"
            )
    comparison = compared(kept, suite)  # what no leaderboard can show gets onto none
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
    results.assemble(out, kept)
    if suite is not None:
        results.write_atomically(out / results.SUITE_FILE, suite.model_dump_json(indent=1))
    written = [result for result in kept if result.status != UNDONE]
    return Merged(written, suite, comparison, len(new))


def _order(result: Result) -> tuple[object, ...]:
    """Return the rank of a result: smaller is better; the text decides last."""
    rank = {"ok": 0, "skipped": 2, UNDONE: 3}.get(result.status, 1)
    text = json.dumps(results.plain(result), sort_keys=True)
    return rank, result.started, result.host, text


def _put(jobs: list[Path], out: Path) -> None:
    """Put folders of jobs into the run folder: copy all into a scratch folder, then rename."""
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


def run_folders(places: Iterable[Path]) -> list[Path]:
    """Return the run folders among `places` and below them, sorted.

    Raises UsageError for a place that is not a folder.
    """
    found: set[Path] = set()
    for each in places:
        if not each.is_dir():
            raise UsageError(
                f"{str(each)!r} is not a folder: name run folders, or one that has them"
            )
        found |= {file.parents[2] for file in each.rglob(f"jobs/*/{results.RESULT}")}
    return sorted(found)


def surplus_jobs(out: Path, keep: int = 1) -> list[Result]:
    """Return the finished jobs in the run folder `out` to remove, the oldest first.

    They are all but the `keep` newest of each algorithm, dataset and repetition. A leaderboard
    stays whole: the rows of the folder's own table stay, too, unless nothing is kept.
    """
    shown = {row.key for row in results.rows(out)}
    newer, gone = Counter[tuple[str, str, int]](), []
    for result in sorted(results.read_results(out), key=lambda r: r.started, reverse=True):
        newer[place(result)] += 1
        if newer[place(result)] > keep and not (keep > 0 and result.key in shown):
            gone.append(result)
    return gone[::-1]


def remove_jobs(out: Path, jobs: Iterable[Result]) -> None:
    """Remove jobs from a folder that this process has locked; a run without jobs goes whole."""
    gone = {result.key for result in jobs}
    if left := {row.key for row in results.rows(out)} - gone:
        results.keep_rows(out, left)
    else:
        for name in (results.TABLE, results.PAGE, results.DIAGNOSTICS, results.SUITE_FILE):
            (out / name).unlink(missing_ok=True)
    reach("prune.after-rows")
    for key in counted(gone, "removing results", "jobs"):
        shutil.rmtree(results.job_folder(out, key))
