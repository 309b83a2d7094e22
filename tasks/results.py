"""The run folder: one folder a job, written so that a kill at any moment leaves it usable.

::

    <out>/jobs/<key>/result.json        written last and atomically: the job is over
    <out>/jobs/<key>/events.jsonl.gz    the event log
    <out>/jobs/<key>/log.txt            what the job wrote to standard output and error
    <out>/results.parquet               one row a job, assembled from the results
"""

from __future__ import annotations

import dataclasses
import fcntl
import gzip
import json
import os
import shutil
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from algorithms.errors import LeaseboardError, UsageError
from algorithms.events import Event, from_json, write_log
from tasks.jobs import Result

if TYPE_CHECKING:
    import pandas as pd

RESULT = "result.json"
EVENTS = "events.jsonl.gz"
LOG = "log.txt"
TABLE = "results.parquet"
_LINE_BYTES = 1 << 26
"""No event is as long: a line that is, such as a gigabyte of zeros, is not read to its end."""


def job_folder(out: Path, key: str) -> Path:
    """The folder of the job called `key`."""
    return out / "jobs" / key


def begin(out: Path, key: str) -> Path:
    """An empty folder for a job that is about to run."""
    folder = job_folder(out, key)
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    return folder


def finish(out: Path, result: Result) -> None:
    """Record that a job is over; only now does its result exist."""
    folder = job_folder(out, result.key)
    folder.mkdir(parents=True, exist_ok=True)
    write_result(folder, result)


def write_result(folder: Path, result: Result) -> None:
    """Write ``result.json`` into a job's folder, whole or not at all."""
    write_atomically(folder / RESULT, json.dumps(plain(result), indent=1).encode())


def read_result(out: Path, key: str) -> Result | None:
    """The recorded result of a job, None if it has none, a damaged one or another job's."""
    result = read_folder(job_folder(out, key))
    return result if result is not None and result.key == key else None


def read_folder(folder: Path) -> Result | None:
    """The result in the folder of a job or a race, None if it has none or a damaged one."""
    try:
        return Result(**json.loads((folder / RESULT).read_bytes()))
    except (FileNotFoundError, NotADirectoryError, ValueError, TypeError):
        return None


def is_done(out: Path, key: str) -> bool:
    """Whether the job's result can be reused: its status is ``ok`` and its log is there."""
    result = read_result(out, key)
    return (
        result is not None and result.status == "ok" and (job_folder(out, key) / EVENTS).is_file()
    )


def read_results(out: Path) -> list[Result]:
    """The results of all jobs that are over, in order of data, label and repetition."""
    found = (read_result(out, path.parent.name) for path in out.glob(f"jobs/*/{RESULT}"))
    results = [result for result in found if result is not None]
    return sorted(results, key=lambda r: (r.data, r.label, r.repetition, r.key))


def current(out: Path) -> list[Result]:
    """The results that the folder's table names: all there are, where there is no table yet.

    Results of earlier code stay in the folder, and are on no board.
    """
    found = read_results(out)
    if not (out / TABLE).is_file():
        return found
    keys = set(read_table(out / TABLE)["key"])
    return [result for result in found if result.key in keys]


def discard_unfinished(out: Path) -> list[str]:
    """Remove the folders of jobs that were cut off; returns their keys."""
    cut = sorted(f.name for f in out.glob("jobs/*") if not (f / RESULT).is_file())
    for key in cut:
        shutil.rmtree(job_folder(out, key))
    for leftover in [*out.glob("jobs/*/*.part"), *out.glob("*.part")]:
        leftover.unlink(missing_ok=True)
    return cut


def assemble(out: Path, results: Iterable[Result]) -> Path:
    """Write ``results.parquet``: one row a result, mappings as JSON text."""
    import pandas as pd

    names = [field.name for field in dataclasses.fields(Result)]
    rows = [
        {n: json.dumps(v) if isinstance(v, dict) else v for n, v in plain(result).items()}
        for result in results
    ]
    kinds = {"score": "float64", "champion_seed": "Int64"}
    return _write_table(out, pd.DataFrame(rows, columns=names).astype(kinds))


def read_table(path: Path) -> pd.DataFrame:
    """The table that `assemble` wrote.

    Raises
    ------
    LeaseboardError
        If it is damaged.
    """
    import pandas as pd
    from pyarrow import ArrowException

    try:
        return pd.read_parquet(path)
    except (ArrowException, OSError) as error:
        first = str(error).partition("\n")[0].rstrip(".")
        raise LeaseboardError(
            f"{path} cannot be read ({first}): run its suite again, which writes it anew and"
            " repeats no finished job"
        ) from error


def keep_rows(out: Path, keys: set[str]) -> None:
    """Leave only the rows of the jobs `keys` in the table, if there is one."""
    if (out / TABLE).is_file():
        frame = read_table(out / TABLE)
        _write_table(out, frame[frame["key"].isin(keys)])


def _write_table(out: Path, frame: pd.DataFrame) -> Path:
    path = out / TABLE
    part = out / f"{TABLE}.{os.getpid()}.part"
    frame.to_parquet(part, index=False)
    part.replace(path)
    return path


@contextmanager
def locked(out: Path) -> Iterator[None]:
    """Keep a second run out of a folder; the lock goes with the process that holds it."""
    with (out / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise UsageError(
                f"another run is working in {str(out)!r}: wait for it,"
                " or name another folder with --out"
            ) from error
        yield


def read_partial_log(path: Path) -> list[Event]:
    """The events of a log that may be cut off or damaged: everything up to there.

    Raises
    ------
    LeaseboardError
        If the file begins with something else.
    """
    events, damage = _read_events(path)
    if not events and damage is not None and not isinstance(damage, EOFError):
        raise LeaseboardError(f"{path} is not an event log: {damage}") from damage
    return events


def mend_log(path: Path) -> int:
    """Close a log that was cut off or damaged, keeping its events; returns how many there are.

    A file without any, such as one that the job overwrote, is removed. Where the disk has no room
    for the mended log the damaged one stays: readers of logs take what it holds.
    """
    if not path.is_file():
        return 0
    events, damage = _read_events(path)
    if not events:
        path.unlink()
    elif damage is not None:
        part = path.with_name(f"{path.name}.{os.getpid()}.part")
        try:
            write_log(part, events)
            part.replace(path)
        except OSError:
            part.unlink(missing_ok=True)
    return len(events)


def _read_events(path: Path) -> tuple[list[Event], Exception | None]:
    """The events at the beginning of a file, and what is wrong after them.

    Anything at all may be there: a job owns its folder.
    """
    events: list[Event] = []
    try:
        with gzip.open(path) as log:
            while line := log.readline(_LINE_BYTES):
                events.append(from_json(line.decode()))
    except (
        EOFError,
        OSError,
        zlib.error,
        ValueError,
        KeyError,
        TypeError,
        RecursionError,
    ) as error:
        return events, error
    return events, None


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file that is either whole or not there, also after a power cut."""
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def plain(result: Result) -> dict[str, Any]:
    """A result in JSON's own types: the row of it."""
    plain: dict[str, Any] = json.loads(
        json.dumps(dataclasses.asdict(result), default=_unwrap, allow_nan=True)
    )
    return plain


def _unwrap(value: Any) -> Any:
    """A numpy scalar as Python's own; anything else as text."""
    return value.item() if hasattr(value, "item") else str(value)
