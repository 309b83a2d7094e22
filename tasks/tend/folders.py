"""Old results in run folders: which there are, what they use, and how they go."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.folder import results
from leaseboard.tasks.jobs.job import Result
from leaseboard.tasks.machine import disk

PAGE = "report.html"


@dataclass(frozen=True, slots=True)
class Aged:
    """Something that was done once, may be done again, and may go."""

    name: str
    scenario: tuple[str, ...]
    """Equal for results of the same thing: an algorithm on a data set in one repetition."""
    started: datetime
    held: bool = False
    """It is in use, on a board or by a registered model."""


@dataclass(frozen=True, slots=True)
class Rule:
    """What may go: all but the `keep` newest of each scenario, if done before `before`.

    What is held stays beside the newest, unless nothing is kept.
    """

    keep: int = 1
    before: datetime | None = None

    def surplus(self, found: Iterable[Aged]) -> list[Aged]:
        """Those that go, the oldest first."""
        place: dict[tuple[str, ...], int] = {}
        gone = []
        for one in sorted(found, key=lambda a: (a.started, a.name), reverse=True):
            newer = place.setdefault(one.scenario, 0)
            place[one.scenario] = newer + 1
            stays = newer < self.keep or (one.held and self.keep > 0)
            if not stays and (self.before is None or one.started < self.before):
                gone.append(one)
        return sorted(gone, key=lambda a: (a.started, a.name))


@dataclass(frozen=True, slots=True)
class SurplusJobs:
    """The jobs of one run folder that go."""

    out: Path
    jobs: list[Result]
    of: int
    size: int


@dataclass(frozen=True, slots=True)
class Races:
    """The folders of single races that go, of how many there are, and their size in bytes."""

    folders: list[Path]
    of: int
    size: int


def run_folders(places: Iterable[Path]) -> list[Path]:
    """The run folders among `places` and below them, sorted.

    Raises UsageError for a place that is no folder.
    """
    found: set[Path] = set()
    for place in places:
        if not place.is_dir():
            raise UsageError(
                f"{str(place)!r} is no folder: name run folders, or one that has them"
            )
        found |= {jobs.parent for jobs in place.rglob("jobs") if _is_run(jobs)}
    return sorted(found)


def surplus(out: Path, rule: Rule) -> SurplusJobs:
    """The finished jobs in the run folder `out` that `rule` lets go.

    What the folder's own table shows is held, so a board stays whole unless nothing is kept.
    """
    found = {result.key: result for result in results.read_results(out)}
    held = {result.key for result in results.current(out)}
    aged = [
        Aged(
            key,
            (r.label, r.data, str(r.repetition)),
            _started(results.job_folder(out, key), r),
            key in held,
        )
        for key, r in found.items()
    ]
    gone = [found[one.name] for one in rule.surplus(aged)]
    size = sum(disk.used(results.job_folder(out, result.key)) for result in gone)
    return SurplusJobs(out, gone, len(found), size)


def race_surplus(places: Iterable[Path], rule: Rule) -> Races:
    """The races in the folders `places` and below that `rule` lets go.

    Races with other settings, seeds or budgets do not replace each other.
    """
    found = {}
    for file in {file for place in places for file in place.rglob(results.RESULT)}:
        result = results.look_into(file.parent)
        above = file.parent.parent.name
        of_a_run = above == "jobs" or above.startswith(results.SCRATCH)
        if isinstance(result, Result) and not of_a_run:
            found[str(file.parent)] = result
    aged = [
        Aged(name, _race(result), _started(Path(name), result)) for name, result in found.items()
    ]
    folders = [Path(one.name) for one in rule.surplus(aged)]
    return Races(folders, len(found), sum(map(disk.used, folders)))


def remove_races(old: Races, archive: Path | None = None) -> None:
    """Remove the folders of races, or move them into the folder `archive`, which exists."""
    for folder in old.folders:
        if archive is None:
            shutil.rmtree(folder)
        else:
            shutil.move(folder, archive / folder.name)


def remove(old: SurplusJobs) -> None:
    """Remove jobs from a folder that this process has locked; a run without any job goes whole."""
    gone = {result.key for result in old.jobs}
    left = [result for result in results.current(old.out) if result.key not in gone]
    if left:
        results.keep_rows(old.out, {result.key for result in left})
    else:
        for name in (results.TABLE, PAGE, results.SUITE_FILE):
            (old.out / name).unlink(missing_ok=True)
    for key in gone:
        shutil.rmtree(results.job_folder(old.out, key))


def _is_run(jobs: Path) -> bool:
    return jobs.is_dir() and any(jobs.glob(f"*/{results.RESULT}"))


def _race(result: Result) -> tuple[str, ...]:
    """What a race is of, but for the code that ran."""
    seeds = (result.seed, result.environment_seed)
    asked = (result.settings, result.bench_options, result.units)
    return result.label, result.data, repr(seeds), repr(asked)


def _started(folder: Path, result: Result) -> datetime:
    """When the job began; of one that could not, when that was written down."""
    if result.started:
        return datetime.fromisoformat(result.started)
    written = (folder / results.RESULT).stat().st_mtime
    return datetime.fromtimestamp(written, UTC)
