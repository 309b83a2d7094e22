"""Old results in run folders, which newer ones have replaced."""

import shutil
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.archive.merge import place
from leaseboard.tasks.folder import results
from leaseboard.tasks.jobs.job import Result
from leaseboard.tasks.machine import disk
from leaseboard.tasks.machine.failpoints import reach
from leaseboard.tasks.machine.progress import counted

PAGES = "report.html", "diagnostics.json"


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


def surplus_jobs(out: Path, keep: int = 1, before: datetime | None = None) -> list[Result]:
    """Return the finished jobs in the run folder `out` to remove, the oldest first.

    They are all but the `keep` newest of each algorithm, dataset and repetition, if they began
    `before` that. A leaderboard stays whole: the rows of the folder's own table stay, too, unless
    nothing is kept.
    """
    shown = {result.key for result in results.current(out)}
    dated = [(_began(out, result), result) for result in results.read_results(out)]
    newer, gone = Counter[tuple[str, str, int]](), []
    for began, result in sorted(dated, key=lambda each: each[0], reverse=True):
        newer[place(result)] += 1
        stays = newer[place(result)] <= keep or (keep > 0 and result.key in shown)
        if not stays and (before is None or began < before):
            gone.append(result)
    return gone[::-1]


def _began(out: Path, result: Result) -> datetime:
    """Return when the job began; of one that did not, when its result was written."""
    if result.started:
        return datetime.fromisoformat(result.started)
    file = results.job_folder(out, result.key) / results.RESULT
    return datetime.fromtimestamp(file.stat().st_mtime, UTC)


def size_of(out: Path, jobs: Iterable[Result]) -> int:
    """Return the bytes that jobs use."""
    return sum(disk.used(results.job_folder(out, result.key)) for result in jobs)


def remove_jobs(out: Path, jobs: Iterable[Result]) -> None:
    """Remove jobs from a folder that this process has locked; a run without jobs goes whole."""
    gone = {result.key for result in jobs}
    if (out / results.TABLE).is_file():  # with the jobs whose files are damaged
        left = set(results.read_table(out / results.TABLE)["key"]) - gone
    else:
        left = {result.key for result in results.read_results(out)} - gone
    if left:
        results.keep_rows(out, left)
    else:
        for name in (results.TABLE, *PAGES, results.SUITE_FILE):
            (out / name).unlink(missing_ok=True)
    reach("prune.after-rows")
    for key in counted(gone, "removing results", "jobs"):
        shutil.rmtree(results.job_folder(out, key))
