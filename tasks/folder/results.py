"""The run folder: one folder a job, written so that a kill at any moment leaves it usable.

::

    <out>/jobs/<key>/result.json        written last and atomically: the job is over
    <out>/jobs/<key>/events.jsonl.gz    the event log
    <out>/jobs/<key>/log.txt            what the job wrote to standard output and error
    <out>/results.parquet               one row a job, assembled from the results
    <out>/suite.json                    the suite that they are of
    <out>/mlflow.json                   where users see its runs in MLflow, if it has any

``result.json`` holds the fields of a `Result`, under ``log`` the size and digest of its event log,
and under ``checksum`` the digest of all that. It finds accidents and edits, of a disk, a person,
or a tool that rewrites files. It is not a signature: a forger can compute the digest again.
"""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import hashlib
import json
import os
import shutil
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic_core import from_json

from leaseboard.algorithms.errors import LeaseboardError, UsageError, naming
from leaseboard.algorithms.events import Event, Measured, Started, of, read_log
from leaseboard.tasks.jobs.job import UNDONE, Result, plain
from leaseboard.tasks.machine.disk import reach

if TYPE_CHECKING:
    import pandas as pd

_DAMAGE = (EOFError, OSError, zlib.error, ValueError, KeyError, TypeError, RecursionError)
"""Errors of reading any file as an event log."""


def read_partial_log(path: Path) -> list[Event]:
    """Return the events of a log up to where it is cut off or damaged.

    Raises LeaseboardError if the file does not begin with an event.
    """
    events: list[Event] = []
    try:
        events.extend(read_log(path))
    except _DAMAGE as error:  # a job owns its folder, so anything may be there
        if not events and not isinstance(error, EOFError):
            raise LeaseboardError(f"{path} is not an event log: {error}") from error
    return events


def events_left(path: Path) -> list[Event]:
    """Return the events of a job that did not end; a file that holds none is removed."""
    events: list[Event] = []
    if path.is_file():
        with contextlib.suppress(LeaseboardError):
            events = read_partial_log(path)
        if not events:
            path.unlink()
    return events


def rows_reached(events: list[Event]) -> dict[str, float]:
    """Return the rows that a log of examples reaches, and their loss; {} for other logs."""
    points = of(events, Measured)
    if not points or {first.unit for first in of(events, Started)} != {"examples"}:
        return {}
    return {"rows": points[-1].at, "loss_so_far": points[-1].value}


RESULT = "result.json"
EVENTS = "events.jsonl.gz"
LOG = "log.txt"
TABLE = "results.parquet"
SUITE_FILE = "suite.json"
MLFLOW_FILE = "mlflow.json"
PAGE, DIAGNOSTICS = "report.html", "diagnostics.json"
LOCK = ".lock"
SCRATCH = ".new-"
"""Prefix of folders with jobs that are about to get into the run folder."""
_OLD = "old."
_IDENTITY = ("key", "algorithm", "digest", "seed", "environment_seed", "version")
_RUN_AGAIN = "run its suite again, which writes it again and repeats no finished job"


FORMAT = "leaseboard-run-2"
"""The format of run folders; its number is raised where what their names mean changes."""


class Log(NamedTuple):
    """Size and digest of an event log."""

    size: int
    sha256: str


class DamagedError(ValueError):
    """Error of a result that was changed or damaged; the text says how."""


def dump_result(result: Result, log: Log | None) -> str:
    """Return the content of ``result.json``: `result`, and its log, if any.

    Examples
    --------
    >>> fields = {"key": "k", "algorithm": "a", "name": "a", "data": "d", "digest": ""}
    >>> made = Result(**fields, seed=1, environment_seed=2, repetition=0, status="ok", score=0.5)
    >>> load_result(dump_result(made, None)) == (made, None)
    True
    >>> load_result(dump_result(made, None).replace("0.5", "0.4"))
    Traceback (most recent call last):
        ...
    leaseboard.tasks.folder.results.DamagedError: was changed after it was written
    """
    content = plain(result) | {"log": log and log._asdict(), "format": FORMAT}
    return json.dumps(content | {"checksum": digest_of(content)}, indent=1)


def load_result(content: bytes | str) -> tuple[Result, Log | None]:
    """Return the result and its log; DamagedError unless the checksum fits."""
    try:
        fields = from_json(content)
        whole = fields.pop("checksum") == digest_of(fields)
        known, log = fields.pop("format") == FORMAT, fields.pop("log")
        found = Result(**fields), None if log is None else Log(**log)
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise DamagedError("is damaged, or of another version") from error
    if not (whole and known):
        raise DamagedError(
            "was changed after it was written" if known else "is of another version"
        )
    return found


def log_at(path: Path) -> Log | None:
    """Return size and digest of the event log at `path`, None if the file is missing."""
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            return Log(file.tell(), digest)
    except (FileNotFoundError, IsADirectoryError):
        return None


def digest_of(content: dict[str, Any]) -> str:
    """Return the digest of `content`, in any order of its keys."""
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def job_folder(out: Path, key: str) -> Path:
    """Return the folder of the job called `key`."""
    return out / "jobs" / key


def begin(out: Path, key: str) -> Path:
    """Return an empty folder for a job that is about to run."""
    folder = job_folder(out, key)
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    return folder


def finish(out: Path, result: Result) -> None:
    """Record that a job is over; only now does its result exist."""
    write_result(job_folder(out, result.key), result)


def write_result(folder: Path, result: Result) -> None:
    """Write ``result.json`` into a job's folder, whole or not at all, with a checksum."""
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(folder / RESULT, dump_result(result, log_at(folder / EVENTS)))


def _damage(path: Path, what: str) -> str:
    """Return the line on a file that was changed or damaged, with the fix."""
    return f"{path} {what}: its job is not done; run its suite again"


def look(folder: Path, key: str | None = None) -> Result | str | None:
    """Return the recorded result in the folder of a job or a race, a line on damage, or None.

    - `key`: that of the result, if known.
    """
    path = folder / RESULT
    try:
        result, log = load_result(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except DamagedError as error:
        return _damage(path, str(error))
    if key is not None and result.key != key:
        return _damage(path, "is the result of another job")
    events, there = folder / EVENTS, log_at(folder / EVENTS)
    if there is None and (log is not None or result.status == "ok"):
        return _damage(events, "is missing")
    return result if there == log else _damage(events, "was changed after it was written")


def read_results(out: Path) -> list[Result]:
    """Return the results of all jobs that are over, in order of data, label and repetition."""
    results = [found for found in _looks(out) if isinstance(found, Result)]
    return sorted(results, key=lambda r: (r.data, r.name, r.repetition, r.key))


def damaged(out: Path) -> list[str]:
    """Return a line for each damaged file in the folder: of results, and of logs to the last byte.

    With a table only jobs count that it names: those of earlier code may have another form.
    """
    if (out / TABLE).is_file():
        return [row.reason for row in rows(out) if row.status == UNDONE]
    return [each for each in _looks(out) if isinstance(each, str)]


def _looks(out: Path) -> Iterator[Result | str | None]:
    for path in sorted(out.glob(f"jobs/*/{RESULT}")):
        yield look(path.parent, path.parent.name)


def current(out: Path) -> list[Result]:
    """Return the results that a leaderboard of the folder shows, without those not done."""
    return [row for row in rows(out) if row.status != UNDONE]


def put(out: Path, folder: Path) -> None:
    """Put `folder`, of a job's key and in a folder of the run's `SCRATCH`, into its place.

    Until it is there, what it replaces is next to it, where `put_back` finds it after a kill.
    """
    place = job_folder(out, folder.name)
    place.parent.mkdir(exist_ok=True)
    if place.exists():
        place.replace(folder.with_name(_OLD + folder.name))
    reach("merge.between-renames")
    folder.replace(place)


def put_back(out: Path) -> None:
    """Finish an interrupted `put`: a job is the old one or the new, and nothing else is left."""
    for scratch in out.glob(f"{SCRATCH}*/"):
        for old in scratch.glob(f"{_OLD}*"):
            place = job_folder(out, old.name.removeprefix(_OLD))
            if not place.exists():
                old.replace(place)
        shutil.rmtree(scratch)


def discard_unfinished(out: Path) -> None:
    """Remove the folders of jobs that were cut off."""
    put_back(out)
    for folder in out.glob("jobs/*"):
        if (folder / RESULT).is_file():
            _discard_parts(folder)
        elif folder.is_dir():
            shutil.rmtree(folder)
    if out.is_dir():
        _discard_parts(out)


def _discard_parts(folder: Path) -> None:
    for part in folder.glob("*.part"):
        if not part.is_dir():
            part.unlink(missing_ok=True)


def assemble(out: Path, results: Iterable[Result]) -> Path:
    """Write ``results.parquet``: one row a result, mappings as JSON text."""
    import pandas as pd

    names = [field.name for field in dataclasses.fields(Result)]
    rows = [
        {n: json.dumps(v) if isinstance(v, dict) else v for n, v in plain(result).items()}
        for result in results
    ]
    kinds = {"score": "float64", "budget": "float64", "champion_seed": "Int64"}
    reach("run.before-table")
    table = _write_table(out, pd.DataFrame(rows, columns=names).astype(kinds))
    reach("run.after-table")
    return table


def read_table(path: Path) -> pd.DataFrame:
    """Return the table that `assemble` wrote.

    Raises LeaseboardError if it is damaged.
    """
    import pandas as pd
    from pyarrow import ArrowException

    try:
        table = pd.read_parquet(path)
    except (ArrowException, OSError, ValueError, LookupError, TypeError) as error:
        first = str(error).partition("\n")[0].rstrip(".")
        raise LeaseboardError(f"{path} cannot be read ({first}): {_RUN_AGAIN}") from error
    if table.attrs.get("format") != FORMAT:
        raise LeaseboardError(f"{path} is not of this version of Leaseboard: {_RUN_AGAIN}")
    return table


def rows(out: Path) -> list[Result]:
    """Return what a leaderboard of the folder shows: all results without a table.

    The table chooses the results, and may name them apart; their content is that of the
    results alone. A job whose result is damaged or missing is shown as not done. Results of
    earlier code stay in the folder, and are on no leaderboard.
    """
    if not (out / TABLE).is_file():
        return read_results(out)
    shown = []
    for row in read_table(out / TABLE).itertuples():
        places = {"name": row.name, "data": row.data, "repetition": row.repetition}
        folder = job_folder(out, str(row.key))
        found = look(folder, folder.name) or _damage(folder / RESULT, "is missing")
        if isinstance(found, Result):
            shown.append(dataclasses.replace(found, **places))
        else:
            same = {name: getattr(row, name) for name in _IDENTITY}
            shown.append(Result(**same, **places, status=UNDONE, reason=found))
    return shown


def place_in_mlflow(out: Path) -> dict[str, Any]:
    """Return what is known of the record in MLflow; empty if there is none.

    A damaged file says as much: the next run writes it again.
    """
    try:
        found = json.loads((out / MLFLOW_FILE).read_bytes())
    except (FileNotFoundError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def keep_rows(out: Path, keys: set[str]) -> None:
    """Leave only the rows of the jobs `keys` in the table, if there is one."""
    if (out / TABLE).is_file():
        frame = read_table(out / TABLE)
        _write_table(out, frame[frame["key"].isin(keys)])


def _write_table(out: Path, frame: pd.DataFrame) -> Path:
    import pyarrow as pa
    from pyarrow import parquet

    frame.attrs["format"] = FORMAT
    table = pa.Table.from_pandas(frame, preserve_index=False)
    with replacing(out / TABLE) as part:
        parquet.write_table(table, part)
    return out / TABLE


@contextmanager
def locked(out: Path, *, shared: bool = False) -> Iterator[None]:
    """Keep a second run out of a folder; the lock goes with the process that holds it.

    - `shared`: let others in that share it.
    """
    with (out / LOCK).open("a+") as lock:  # NFS shares a file that can be read, and no other
        try:
            fcntl.flock(lock, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise UsageError(
                f"another run is working in {str(out)!r}: wait for it,"
                " or name another folder with --run-dir"
            ) from error
        yield


def write_atomically(path: Path, text: str) -> None:
    """Write a file that is either whole or not there, also after a power cut."""
    with replacing(path) as part, part.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield the path of a file to write, which then replaces `path`; on an error nothing does."""
    part = path.with_name(f"{path.name}.part")
    try:
        with naming(path):
            yield part
        reach("file.before-rename")
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    reach("file.after-rename")
