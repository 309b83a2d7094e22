"""Archive: one zip file with the results of a run, to carry them to another machine.

::

    manifest.json                       format, suite, host, versions, the outcome of every job,
                                        digest of every other member, and the checksum of all that
    suite.json                          the suite, if the run has one
    jobs/<key>/result.json              the job's result
    jobs/<key>/events.jsonl.gz          its event log
    jobs/<key>/log.txt                  what it printed
    jobs/<key>/configurations.json      every configuration that it considered, as a table
    verdict.json                        what `verify` found, if it was asked

An archive comes from elsewhere, so it is read by names: a member that is not one of these, a link,
a member twice, one that is too long unpacked, or that does not have the manifest's size and digest
is refused before anything is written; nothing in it is unpickled or run. A result must be one that
this version could have written, whole under its checksum, and an event log one that the auditor
passes.
"""

import io
import json
import platform
import re
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from pydantic import Field

from leaseboard.algorithms.audit import Auditor
from leaseboard.algorithms.configurations import configurations, table
from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.archive.zipped import MANIFEST, ArchiveFormat, Listing, Writer
from leaseboard.tasks.folder import results
from leaseboard.tasks.folder.checksums import DamagedError, load_result
from leaseboard.tasks.folder.event_logs import check_log, read_partial_log
from leaseboard.tasks.jobs.job import Job, Key, Moment, Name, Result, Title
from leaseboard.tasks.jobs.suites.suite import Suite
from leaseboard.tasks.machine.environment import versions
from leaseboard.tasks.machine.failpoints import reach
from leaseboard.tasks.machine.progress import counted

FORMAT = "leaseboard-bundle-4"
CONFIGURATIONS = "configurations.json"
VERDICT = "verdict.json"
LEFT_OUT = "left out"
"""The outcome of a job that is in the run and not in the archive."""
_JOB_FILES = (results.RESULT, results.EVENTS, results.LOG)
_MEMBER = re.compile(
    rf"{re.escape(MANIFEST)}|{re.escape(VERDICT)}|{re.escape(results.SUITE_FILE)}"
    rf"|jobs/[A-Za-z0-9_-]{{1,64}}/({'|'.join(map(re.escape, (*_JOB_FILES, CONFIGURATIONS)))})"
)
MOST_BYTES = {
    MANIFEST: 64 << 20,
    VERDICT: 16 << 20,
    results.SUITE_FILE: 16 << 20,
    results.RESULT: 16 << 20,
    results.EVENTS: 1 << 30,
    results.LOG: 256 << 20,
    CONFIGURATIONS: 1 << 30,
}
"""Of each file, unpacked; `export` makes none that `merge` would refuse."""
ARCHIVE = ArchiveFormat(_MEMBER, MOST_BYTES, "leaseboard results export", frozenset({VERDICT}))
_NO_PATH = r"\A[^/\\]*[^/\\.][^/\\]*\z"
"""A suite's name is that of an experiment, whose artifacts have a folder of it."""


class Manifest(Listing):
    """Contents of an archive, and where it comes from."""

    format: Literal["leaseboard-bundle-4"]
    suite: Annotated[Title, Field(max_length=200, pattern=_NO_PATH)]
    host: Name
    created: Moment
    versions: dict[Name, Name]
    outcomes: dict[Key, Name]
    """By key, the status of every job, `LEFT_OUT` of one that is not in the file."""


@dataclass(frozen=True, slots=True)
class Bundle:
    """Archive of which every member has been checked."""

    path: Path
    manifest: Manifest
    suite: Suite | None
    results: dict[str, Result]
    verdict: bytes | None = None

    def part(self, key: str, name: str) -> bytes:
        """Return a file of a job; empty if it has none of that name."""
        member = f"jobs/{key}/{name}"
        with ARCHIVE.opened(self.path) as archive:
            return archive.read(member) if member in self.manifest.files else b""

    def log(self, key: str) -> bytes:
        """Return the packed event log of a job; empty if it has none."""
        return self.part(key, results.EVENTS)

    def audited(self, key: str) -> Auditor:
        """Return the auditor of all events of a job that is ok."""
        return check_log(io.BytesIO(self.log(key)), complete=True)

    def size(self, key: str) -> int:
        """Return the bytes of the files that `extract` writes."""
        names = (f"jobs/{key}/{name}" for name in _JOB_FILES)
        return sum(self.manifest.files[n].size for n in names if n in self.manifest.files)

    def extract(self, keys: Iterable[str], folder: Path) -> None:
        """Write the files of jobs, each into a new folder of its key in `folder`.

        Raises UsageError if the file has changed since it was read.
        """
        with ARCHIVE.opened(self.path) as archive:
            for key in keys:
                (folder / key).mkdir()
                for name in _JOB_FILES:
                    member = f"jobs/{key}/{name}"
                    if member in self.manifest.files:
                        with (folder / key / name).open("wb") as file:
                            known = self.manifest.files[member]
                            ARCHIVE.check(archive, member, known, self.path, file)
                reach("merge.after-extract")


def place(of: Job | Result) -> tuple[str, str, int]:
    """Return where a job is on a leaderboard: name, data and repetition."""
    return of.name or of.algorithm, of.data, of.repetition


def named(of: Job | Result) -> str:
    """Return a job in words."""
    return "{} on {}, repetition {}".format(*place(of))


class Exported(NamedTuple):
    """Manifest of an export, and the jobs that it left out: by key the reason."""

    manifest: Manifest
    left_out: dict[str, str]


def export(out: Path, file: Path, chosen: Iterable[Result] | None = None) -> Exported:
    """Write the results of the run folder `out` into the archive `file`, whole or not at all.

    A job whose event log no run of ours can have written is left out: `read` would refuse it, and
    all the others with it.

    `chosen`: the jobs; by default those that the run's leaderboard shows.

    Raises UsageError without results, or if each is left out.
    """
    rows = list(results.current(out) if chosen is None else chosen)
    if not rows:
        raise UsageError(f"{str(out)!r} holds no results: name the output folder of a run")
    checked = counted(rows, "checking event logs", "jobs")
    left_out = {row.key: why for row in checked if (why := _odd_log(row, out))}
    if len(left_out) == len(rows):
        raise UsageError(f"{str(out)!r}: each job is left out: {next(iter(left_out.values()))}")
    with (
        results.replacing(file) as part,
        zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as zipped,
    ):
        writer = Writer(zipped, MOST_BYTES)
        title = ""
        if (out / results.SUITE_FILE).is_file():
            suite = (out / results.SUITE_FILE).read_bytes()
            writer.add(results.SUITE_FILE, [suite])
            title = Suite.model_validate_json(suite).name
        kept = [row.key for row in rows if row.key not in left_out]
        for key in counted(kept, "writing the archive", "jobs"):
            folder = results.job_folder(out, key)
            for name in _JOB_FILES:
                if (folder / name).is_file():
                    writer.add(f"jobs/{key}/{name}", [(folder / name).read_bytes()])
            if (folder / results.EVENTS).is_file():
                considered = configurations(read_partial_log(folder / results.EVENTS))
                content = json.dumps(table(considered)).encode()
                writer.add(f"jobs/{key}/{CONFIGURATIONS}", [content])
        manifest = Manifest(
            format=FORMAT,
            suite=title or out.resolve().name,
            host=platform.node(),
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            versions=versions(),
            files=writer.files,
            outcomes={r.key: LEFT_OUT if r.key in left_out else r.status for r in rows},
        )
        manifest = writer.finish(manifest)
    return Exported(manifest, left_out)


def _odd_log(result: Result, out: Path) -> str:
    """Return what is wrong with a job's event log; empty if nothing is, or it needs none."""
    path = results.job_folder(out, result.key) / results.EVENTS
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        try:
            check_log(file, complete=result.status == "ok")
        except ValueError as error:
            return f"{path} is not the log of a run: {error}"
    return ""


def read(path: Path) -> Bundle:
    """Return the archive at `path`, checked to the last byte.

    Raises UsageError if it is not one of ours, or not whole.
    """
    with ARCHIVE.opened(path) as archive:
        manifest, members = ARCHIVE.checked(archive, Manifest, path)
        suite = None
        if results.SUITE_FILE in members:
            suite = ARCHIVE.validated(Suite, archive, results.SUITE_FILE, path)
        keys = sorted({name.split("/")[1] for name in members if name.startswith("jobs/")})
        checked = counted(keys, f"reading {path.name}", "jobs")
        found = {key: _result(archive, key, manifest, path) for key in checked}
        said = {key: status for key, status in manifest.outcomes.items() if status != LEFT_OUT}
        for key in sorted(said.keys() | found.keys()):
            there = found[key].status if key in found else "not in the file"
            if there != (known_as := said.get(key, "no job of it")):
                raise ARCHIVE.refused(path, f"job {key} is {there}, its manifest says {known_as}")
        verdict = archive.read(VERDICT) if VERDICT in members else None
        return Bundle(path, manifest, suite, found, verdict)


def _result(archive: zipfile.ZipFile, key: str, manifest: Manifest, path: Path) -> Result:
    """Return the result of a job, whose checksum must be whole and name the job's own log."""
    member = f"jobs/{key}/{results.RESULT}"
    if member not in manifest.files:
        raise ARCHIVE.refused(path, f"job {key} has no {results.RESULT}")
    try:
        result, log = load_result(archive.read(member))
    except DamagedError as error:
        raise ARCHIVE.refused(path, f"{member} {error}") from error
    if result.key != key:
        raise ARCHIVE.refused(path, f"{member} is the result of another job")
    events = manifest.files.get(f"jobs/{key}/{results.EVENTS}")
    if (events and (events.size, events.sha256)) != log:
        raise ARCHIVE.refused(path, f"jobs/{key}/{results.EVENTS} is not the log of its result")
    if events is not None:
        try:
            with archive.open(f"jobs/{key}/{results.EVENTS}") as file:
                check_log(file, complete=result.status == "ok")
        except ValueError as error:
            raise ARCHIVE.refused(path, f"jobs/{key}/{results.EVENTS}, {error}") from error
    elif result.status == "ok":
        raise ARCHIVE.refused(path, f"job {key} is ok and has no {results.EVENTS}")
    return result
