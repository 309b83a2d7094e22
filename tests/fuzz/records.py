"""Targets of fuzzing: logs and results."""

from __future__ import annotations

import gzip
import json
import tempfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from random import Random

from tests.fuzz.mutations import TOKENS, json_member, of_bytes, of_text
from tests.fuzz.target import WrongError


def run_folder(folder: Path) -> Path:
    """Return a run folder with two jobs."""
    from leaseboard.algorithms.events import ConfigurationAdmitted, Finished, Measured, Started
    from leaseboard.algorithms.log_format import write_log
    from leaseboard.tasks.folder import results
    from leaseboard.tasks.jobs.job import Result
    from leaseboard.tasks.jobs.suites.suite import Suite

    out = folder / "run"
    for key, status in (("k1", "ok"), ("k2", "crash")):
        base = {
            "key": key, "algorithm": "vanilla", "name": "vanilla", "data": "d", "digest": "x" * 9,
            "seed": 1, "environment_seed": 2, "repetition": int(key[1]) - 1, "status": status,
            "score": 0.5 if status == "ok" else None, "metric": "mse", "version": "v1",
            "started": "2026-01-01T00:00:00+00:00", "host": "here", "champion": {"rate": 0.5},
            "settings": {"b": [1, 2]}, "metrics": {"test": 0.25},
            "reason": "" if status == "ok" else "why",
        }  # fmt: skip
        job = results.begin(out, key)
        write_log(job / results.EVENTS, [
            Started(at=0, algorithm="vanilla", environment="stream", unit="examples", budget=1,
                    capacity=None, seed=1, settings={}),
            ConfigurationAdmitted(at=0, configuration=0, parameters={"rate": 0.5}),
            Measured(at=1, value=0.5),
            Finished(at=1, reason="budget spent", score=0.5, metric="mse", direction="min"),
        ])  # fmt: skip
        (job / results.LOG).write_text("said\n")
        results.finish(out, Result(**base))
    suite = Suite(title="T", name="s", data=["d"], algorithms=["vanilla"])
    (out / results.SUITE_FILE).write_text(suite.model_dump_json())
    return out


def log_seeds() -> Iterator[bytes]:
    """Yield event logs of real runs, one of each environment."""
    from leaseboard.tasks.jobs.job import Job
    from leaseboard.tasks.jobs.run import run_job

    for algorithm, data, more in (
        ("chacha-literal", "synthetic:fried?rows=20&seed=0", {}),
        ("apple", "synthetic:fried?rows=60&seed=0", {}),
        ("abc", "synthetic:separated?rows=600&seed=0", {"environment": {"configurations": 3}}),
        ("average", "sklearn:iris", {"budget": 3, "environment": {
            "space": "fast", "arms": ["decision_tree", "lda"], "optimiser": "random"}}),
    ):  # fmt: skip
        with tempfile.TemporaryDirectory() as home:
            run_job(Job(algorithm=algorithm, name=algorithm, data=data, seed=0,
                        environment_seed=0, **more), Path(home))  # fmt: skip
            lines = gzip.decompress((Path(home) / "events.jsonl.gz").read_bytes()).split(b"\n")
            yield gzip.compress(b"\n".join(lines), mtime=0)


def of_lines(rng: Random, text: bytes) -> bytes:
    """Return lines of JSON of which one has another value, or another place."""
    lines = text.split(b"\n")
    at = rng.randrange(len(lines))
    if rng.random() < 0.8:
        lines[at] = json_member(rng, lines[at])
    else:
        return of_text(rng, text, [text], TOKENS)
    return b"\n".join(lines)


def of_log(rng: Random, seeds: Sequence[bytes]) -> bytes:
    """Return a log with changes of its lines, or of its packed bytes."""
    content = rng.choice(seeds)
    if rng.random() < 0.1:
        return of_bytes(rng, content, seeds, TOKENS)
    try:
        text = gzip.decompress(content)
    except (OSError, EOFError, zlib.error):  # it was mutated before
        return of_bytes(rng, content, seeds, TOKENS)
    for _ in range(rng.choice((1, 1, 1, 2))):
        text = of_lines(rng, text)
    if rng.random() < 0.01:
        text += b"\0" * 20_000_000
    return gzip.compress(text, compresslevel=1, mtime=0)


def log_file(content: bytes, folder: Path) -> None:
    """Check a log, read and repair it; what the check passes, all readers take."""
    from leaseboard.algorithms.configurations import configurations, table
    from leaseboard.algorithms.errors import DataError
    from leaseboard.tasks.folder.event_logs import (
        check_log,
        read_partial_log,
        repair_log,
        rows_reached,
    )

    path = folder / "events.jsonl.gz"
    path.write_bytes(content)
    refused = ""
    try:
        with path.open("rb") as file:
            check_log(file, complete=True)
    except ValueError as error:
        refused = str(error)
    if not refused:
        json.dumps(table(configurations(read_partial_log(path))), allow_nan=True)
        rows_reached(path)
    repair_log(path)
    if path.exists():
        with path.open("rb") as file:
            check_log(file, complete=False)
    if refused:
        raise DataError(refused)


def result_file(content: bytes, folder: Path) -> None:
    """Read a result; one that is read is written again unchanged."""
    from leaseboard.algorithms.errors import DataError
    from leaseboard.tasks.folder.checksums import DamagedError, dump_result, load_result

    try:
        found = load_result(content)
    except DamagedError as error:
        raise DataError(str(error)) from error
    if repr(load_result(dump_result(*found))) != repr(found):
        raise WrongError("a result is read as another one than was written")


def of_result(rng: Random, seeds: Sequence[bytes]) -> bytes:
    """Return a result with another value, mostly with the checksum that fits."""
    from leaseboard.tasks.folder.checksums import digest_of

    content = json_member(rng, rng.choice(seeds))
    if rng.random() < 0.9:
        with suppress(ValueError, KeyError, TypeError, RecursionError):
            fields = json.loads(content)
            del fields["checksum"]
            content = json.dumps(fields | {"checksum": digest_of(fields)}).encode()
    return content if rng.random() < 0.9 else of_bytes(rng, content, seeds, TOKENS)


def result_seeds() -> Iterator[bytes]:
    """Yield the results of a run folder."""
    with tempfile.TemporaryDirectory() as home:
        for path in sorted(run_folder(Path(home)).glob("jobs/*/result.json")):
            yield path.read_bytes()
