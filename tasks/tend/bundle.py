"""A bundle: one zip file with the results of a run, to carry them to another machine.

::

    manifest.json                       format, suite, host, versions, the outcome of every job,
                                        digest of every other member, and the seal of all that
    suite.json                          the suite, if the run has one
    jobs/<key>/result.json              the job's result
    jobs/<key>/events.jsonl.gz          its event log
    jobs/<key>/log.txt                  what it printed
    jobs/<key>/configurations.json      every configuration that it considered, as a table
    verdict.json                        what `leaseboard.tasks.tend.verify` found, if it was asked

A bundle comes from elsewhere. So it is read by names: a member that is not one of these, a link,
a member twice, one that is too long unpacked, or that does not have the manifest's size and digest
is refused before anything is written; nothing in it is unpickled or run. A result must be one that
this version could have written, whole under its seal, and an event log one that the auditor
passes.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import platform
import re
import stat
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, BinaryIO, Literal, NamedTuple, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from leaseboard.algorithms.audit import Auditor
from leaseboard.algorithms.configurations import configurations, table
from leaseboard.algorithms.errors import UsageError, naming
from leaseboard.tasks.folder import results
from leaseboard.tasks.folder.event_logs import check_log, read_partial_log
from leaseboard.tasks.folder.seal import DamagedError, digest_of, unseal
from leaseboard.tasks.jobs.job import Key, Moment, Name, Result, Title, first_fault
from leaseboard.tasks.jobs.suites.suite import Suite
from leaseboard.tasks.machine import disk
from leaseboard.tasks.machine.environment import versions

FORMAT = "leaseboard-bundle-2"
MANIFEST = "manifest.json"
CONFIGURATIONS = "configurations.json"
VERDICT = "verdict.json"
LEFT_OUT = "left out"
"""The outcome of a job that is in the run and not in the bundle."""
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
MOST_MEMBERS = 1_000_000
MOST_TOTAL = 64 << 30
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_NO_PATH = r"\A[^/\\]*[^/\\.][^/\\]*\z"
"""A suite's name is that of an experiment, whose artifacts have a folder of it."""
Model = TypeVar("Model", bound=BaseModel)


class Member(BaseModel):
    """What the manifest knows of a file."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    sha256: Annotated[str, Field(pattern=r"\A[0-9a-f]{64}\z")]
    size: Annotated[int, Field(ge=0)]


class Manifest(BaseModel):
    """What a bundle holds and where it comes from."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    format: Literal["leaseboard-bundle-2"]
    suite: Annotated[Title, Field(max_length=200, pattern=_NO_PATH)]
    host: Name
    created: Moment
    versions: dict[Name, Name]
    files: dict[str, Member]
    outcomes: dict[Key, Name]
    """By key, the status of every job, of one that is not in the file `LEFT_OUT`."""
    seal: str = ""

    @property
    def whole_seal(self) -> str:
        """What the seal must be."""
        return digest_of(self.model_dump(mode="json", exclude={"seal"}))


@dataclass(frozen=True, slots=True)
class Bundle:
    """A bundle whose every member has been checked."""

    path: Path
    manifest: Manifest
    suite: Suite | None
    results: dict[str, Result]
    verdict: bytes | None = None

    def log(self, key: str) -> bytes:
        """The event log of a job as it is in the file; empty if it has none."""
        return self.part(key, results.EVENTS)

    def part(self, key: str, name: str) -> bytes:
        """Return a file of a job; empty if it has none of that name."""
        member = f"jobs/{key}/{name}"
        with _opened(self.path) as archive:
            return archive.read(member) if member in self.manifest.files else b""

    def audited(self, key: str) -> Auditor:
        """Who has seen all events of a job that is ok."""
        return check_log(io.BytesIO(self.log(key)), complete=True)

    def size(self, key: str) -> int:
        """Bytes of the files that `extract` writes."""
        names = (f"jobs/{key}/{name}" for name in _JOB_FILES)
        return sum(self.manifest.files[n].size for n in names if n in self.manifest.files)

    def extract(self, keys: Iterable[str], folder: Path) -> None:
        """Write the files of jobs, each into a new folder of its key in `folder`.

        Raises UsageError if the file is not any more what was read.
        """
        with _opened(self.path) as archive:
            for key in keys:
                (folder / key).mkdir()
                for name in _JOB_FILES:
                    member = f"jobs/{key}/{name}"
                    if member in self.manifest.files:
                        with (folder / key / name).open("wb") as file:
                            known = self.manifest.files[member]
                            _check(archive, member, known, self.path, file)


class Exported(NamedTuple):
    """What an export wrote, and by key the jobs that it left out, with the reason."""

    manifest: Manifest
    left_out: dict[str, str]


def export(out: Path, file: Path, chosen: Iterable[Result] | None = None) -> Exported:
    """Write the results of the run folder `out` into the bundle `file`, whole or not at all.

    A job whose event log no run of ours can have written is left out: `read` would refuse it, and
    all the others with it.

    `chosen`: the jobs; by default those that the run's board shows.

    Raises UsageError if there is no result, or each is left out.
    """
    rows = list(results.current(out) if chosen is None else chosen)
    if not rows:
        raise UsageError(f"{str(out)!r} holds no results: name the output folder of a run")
    left_out = {row.key: why for row in rows if (why := _odd_log(row, out))}
    if len(left_out) == len(rows):
        raise UsageError(f"{str(out)!r}: each job is left out: {next(iter(left_out.values()))}")
    suite = out / results.SUITE_FILE
    named = Suite.model_validate_json(suite.read_bytes()).name if suite.is_file() else ""
    part = file.with_name(f"{file.name}.{os.getpid()}.part")
    files: dict[str, Member] = {}
    try:
        with naming(file), zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as archive:

            def add(member: str, content: bytes) -> None:
                _check_length(member, len(content), out)
                archive.writestr(member, content)
                digest = hashlib.sha256(content).hexdigest()
                files[member] = Member(sha256=digest, size=len(content))

            if suite.is_file():
                add(results.SUITE_FILE, suite.read_bytes())
            for row in (row for row in rows if row.key not in left_out):
                folder = results.job_folder(out, row.key)
                for name in _JOB_FILES:
                    if (folder / name).is_file():
                        add(f"jobs/{row.key}/{name}", (folder / name).read_bytes())
                if (folder / results.EVENTS).is_file():
                    considered = configurations(read_partial_log(folder / results.EVENTS))
                    text = json.dumps(table(considered))
                    add(f"jobs/{row.key}/{CONFIGURATIONS}", text.encode())
            manifest = Manifest(
                format=FORMAT,
                suite=named or out.resolve().name,
                host=platform.node(),
                created=datetime.now(UTC).isoformat(timespec="seconds"),
                versions=versions(),
                files=files,
                outcomes={r.key: LEFT_OUT if r.key in left_out else r.status for r in rows},
            )
            manifest = manifest.model_copy(update={"seal": manifest.whole_seal})
            archive.writestr(MANIFEST, manifest.model_dump_json(indent=1))
        part.replace(file)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    return Exported(manifest, left_out)


def _odd_log(result: Result, out: Path) -> str:
    """What is wrong with a job's event log; empty if it has a sound one, or needs none."""
    path = results.job_folder(out, result.key) / results.EVENTS
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        try:
            check_log(file, complete=result.status == "ok")
        except ValueError as error:
            return f"{path} is not the log of a run: {error}"
    return ""


def _check_length(member: str, size: int, out: Path) -> None:
    most = MOST_BYTES[member.rpartition("/")[2]]
    if size > most:
        raise UsageError(
            f"{member} of {str(out)!r} is longer than {disk.shown(most)}: shorten or remove it"
        )


def read(path: Path) -> Bundle:
    """The bundle at `path`, checked to the last byte.

    Raises UsageError if it is not one of ours, or not whole.
    """
    with _opened(path) as archive:
        members = _members(archive, path)
        manifest = _validated(Manifest, archive.read(MANIFEST), f"{path}: {MANIFEST}")
        if manifest.seal != manifest.whole_seal:
            raise _refused(path, f"its {MANIFEST} was changed after it was written")
        if manifest.files.keys() != (listed := members - {MANIFEST, VERDICT}):
            odd = sorted(manifest.files.keys() ^ listed)[0]
            raise _refused(path, f"{odd!r} is not both in the manifest and in the file")
        for name, known in manifest.files.items():
            _check(archive, name, known, path)
        suite = None
        if results.SUITE_FILE in members:
            suite = _validated(
                Suite, archive.read(results.SUITE_FILE), f"{path}: {results.SUITE_FILE}"
            )
        keys = sorted({name.split("/")[1] for name in members if name.startswith("jobs/")})
        found = {key: _result(archive, key, manifest, path) for key in keys}
        _check_outcomes(found, manifest, path)
        verdict = archive.read(VERDICT) if VERDICT in members else None
        return Bundle(path, manifest, suite, found, verdict)


@contextmanager
def _opened(path: Path) -> Iterator[zipfile.ZipFile]:
    """The archive; whatever is wrong with it while it is read refuses it."""
    try:
        if disk.zip_members(path, MOST_MEMBERS) > MOST_MEMBERS:
            raise _refused(path, f"it holds more than {MOST_MEMBERS} files")
        with zipfile.ZipFile(path) as archive:
            yield archive
    except FileNotFoundError as error:
        raise UsageError(f"{str(path)!r}: no such file: name bundles of `leaseboard export`") \
            from error  # fmt: skip
    except (
        zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, UnicodeDecodeError
    ) as error:  # fmt: skip
        raise _refused(path, str(error)) from error
    except OSError as error:
        if error.filename is not None:  # what is refused is no bundle's content
            raise
        raise _refused(path, f"it leads nowhere ({error})") from error


def _members(archive: zipfile.ZipFile, path: Path) -> set[str]:
    """The names in the archive, if each is one that a bundle may have."""
    names: set[str] = set()
    folded: set[str] = set()
    total = 0
    for info in archive.infolist():
        name = info.orig_filename  # before zipfile cuts it at a NUL byte or turns backslashes
        if not _MEMBER.fullmatch(name):
            raise _refused(path, f"{name[:80]!r} has no place in a bundle")
        if stat.S_ISLNK(info.external_attr >> 16) or info.flag_bits & 1:
            raise _refused(path, f"{name!r} is a link or encrypted")
        if name.casefold() in folded:
            raise _refused(path, f"{name!r} is in it twice")
        if info.compress_type not in _METHODS:
            raise _refused(path, f"{name!r} is packed in another way than by deflate")
        most = MOST_BYTES[name.rpartition("/")[2]]
        if info.file_size > most:
            raise _refused(path, f"{name!r} is longer than {disk.shown(most)}")
        names.add(name)
        folded.add(name.casefold())
        total += info.file_size
        if total > MOST_TOTAL:
            raise _refused(path, f"it holds more than {disk.shown(MOST_TOTAL)}")
    if MANIFEST not in names:
        raise _refused(path, f"it has no {MANIFEST}")
    return names


def _check(
    archive: zipfile.ZipFile, name: str, known: Member, path: Path, file: BinaryIO | None = None
) -> None:
    """Compare a member with the manifest, without holding it in memory; copy it into `file`."""
    if name not in archive.NameToInfo or archive.getinfo(name).file_size != known.size:
        raise _refused(path, f"{name!r} has not the size that the manifest says")
    digest = hashlib.sha256()
    with archive.open(name) as source:
        while block := source.read(1 << 20):
            digest.update(block)
            if file is not None:
                with naming(Path(file.name)):
                    file.write(block)
    if digest.hexdigest() != known.sha256:
        raise _refused(path, f"{name!r} has not the digest that the manifest says")


def _result(archive: zipfile.ZipFile, key: str, manifest: Manifest, path: Path) -> Result:
    """The result of a job, whose seal must be whole and name the log that is beside it."""
    member = f"jobs/{key}/{results.RESULT}"
    if member not in manifest.files:
        raise _refused(path, f"job {key} has no {results.RESULT}")
    try:
        result, log = unseal(archive.read(member))
    except DamagedError as error:
        raise _refused(path, f"{member} {error}") from error
    if result.key != key:
        raise _refused(path, f"{member} is the result of another job")
    events = manifest.files.get(f"jobs/{key}/{results.EVENTS}")
    if (events and (events.size, events.sha256)) != log:
        raise _refused(path, f"jobs/{key}/{results.EVENTS} is not the log of its result")
    if events is not None:
        try:
            with archive.open(f"jobs/{key}/{results.EVENTS}") as file:
                check_log(file, complete=result.status == "ok")
        except ValueError as error:
            raise _refused(path, f"jobs/{key}/{results.EVENTS}, {error}") from error
    elif result.status == "ok":
        raise _refused(path, f"job {key} is ok and has no {results.EVENTS}")
    return result


def _check_outcomes(found: dict[str, Result], manifest: Manifest, path: Path) -> None:
    """Refuse a bundle from which a job was taken, or in which one ended otherwise."""
    said = {key: status for key, status in manifest.outcomes.items() if status != LEFT_OUT}
    for key in sorted(said.keys() | found.keys()):
        there = found[key].status if key in found else "not in the file"
        if said.get(key, "no job of it") != there:
            raise _refused(
                path, f"job {key} is {there}, its manifest says {said.get(key, 'no job of it')}"
            )


def _validated(kind: type[Model], text: bytes, where: str) -> Model:
    try:
        return kind.model_validate_json(text)
    except ValidationError as error:
        raise UsageError(f"{where}: {first_fault(error)}") from error


def _refused(path: Path, why: str) -> UsageError:
    return UsageError(f"{str(path)!r} is refused: {why}; make it with `leaseboard export`")
