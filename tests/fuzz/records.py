"""Targets of fuzzing: logs, results, archives and backups."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from tests.fuzz.models import of_model
from tests.fuzz.mutations import TOKENS, json_member, of_bytes, of_text, of_zip
from tests.fuzz.tables import LIVE_YAML
from tests.fuzz.target import WrongError, texts


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


def archive_seeds() -> Iterator[bytes]:
    """Yield an archive of a run."""
    from leaseboard.tasks.archive import bundle

    with tempfile.TemporaryDirectory() as home:
        bundle.export(run_folder(Path(home)), Path(home) / "a.zip")
        yield (Path(home) / "a.zip").read_bytes()


def refit(files: dict[str, bytes]) -> None:
    """Write the digests and checksums that fit, as a forger does."""
    from leaseboard.tasks.folder.checksums import digest_of

    try:
        for name in [each for each in files if each.endswith("result.json")]:
            fields = json.loads(files[name])
            log = files.get(name.replace("result.json", "events.jsonl.gz"))
            if log is not None:
                fields["log"] = {"size": len(log), "sha256": hashlib.sha256(log).hexdigest()}
            del fields["checksum"]
            files[name] = json.dumps(fields | {"checksum": digest_of(fields)}).encode()
        manifest = json.loads(files["manifest.json"])
        manifest["files"] = {
            name: {"sha256": hashlib.sha256(content).hexdigest(), "size": len(content)}
            for name, content in files.items()
            if name != "manifest.json"
        }
        del manifest["checksum"]
        files["manifest.json"] = json.dumps(manifest | {"checksum": digest_of(manifest)}).encode()
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return


def of_archive(rng: Random, seeds: Sequence[bytes]) -> bytes:
    """Return an archive of which a member is another, mostly with checksums that fit."""
    forged = rng.random() < 0.8

    def change(rng: Random, files: dict[str, bytes]) -> None:
        name = rng.choice(sorted(files))
        if name.endswith(".json"):
            files[name] = json_member(rng, files[name])
        elif name.endswith(".jsonl"):
            files[name] = of_lines(rng, files[name])
        elif name.endswith(".gz"):
            files[name] = of_log(rng, [files[name]])
        elif name.endswith(("model", ".yaml")):
            how = of_model if name.endswith("model") else texts()
            files[name] = how(rng, [files[name]])
        if forged:
            refit(files)

    return of_zip(rng, rng.choice(seeds), seeds, change)


def archive_file(content: bytes, folder: Path) -> None:
    """Read an archive; what is read is extracted, and its parts are read by their readers."""
    from leaseboard.algorithms.configurations import configurations, table
    from leaseboard.tasks.archive import bundle
    from leaseboard.tasks.archive.claims import asked, faults
    from leaseboard.tasks.folder.event_logs import read_partial_log, rows_reached

    path = folder / "it.zip"
    path.write_bytes(content)
    found = bundle.read(path)
    asked(found)
    faults(found)
    (folder / "out").mkdir()
    found.extract(found.results, folder / "out")
    for log in sorted((folder / "out").glob("*/*.gz")):
        table(configurations(read_partial_log(log)))
        rows_reached(log)


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
    files = {"jobs/k/result.json": json_member(rng, rng.choice(seeds)), "manifest.json": b"{}"}
    if rng.random() < 0.9:
        refit(files)
    content = files["jobs/k/result.json"]
    return content if rng.random() < 0.9 else of_bytes(rng, content, seeds, TOKENS)


def result_seeds() -> Iterator[bytes]:
    """Yield the results of a run folder."""
    with tempfile.TemporaryDirectory() as home:
        for path in sorted(run_folder(Path(home)).glob("jobs/*/result.json")):
            yield path.read_bytes()


def backup_seeds() -> Iterator[bytes]:
    """Yield the backup of a live model, without versions in a registry."""
    from leaseboard.tasks.archive.zipped import MANIFEST, Writer
    from leaseboard.tasks.live import backup
    from leaseboard.tasks.store import live_tables, live_transfer
    from tests.tasks.live.shops import Shop

    with tempfile.TemporaryDirectory() as home:
        shop = Shop(Path(home), b=1)
        shop.update()
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w") as archive:
            writer = Writer(archive, backup._MOST)
            writer.add(backup.SETTINGS, [LIVE_YAML])
            writer.add(backup.CONTRACT, [shop.contract().to_yaml().encode()])
            state = shop.live.state
            with live_transfer.snapshot(state) as connection:
                last = live_transfer.counters(connection, state.tables)
                for name, table in state.tables.items():
                    writer.add(f"state/{name}.jsonl", live_transfer.lines_of(connection, table))
            writer.add(backup.REGISTRY, [backup.PublishedModel().model_dump_json().encode()])
            writer.finish(backup.BackupManifest(
                files=writer.files, format="leaseboard-live-1", state=live_tables.VERSION,
                name="sales", host="h", created="2026-01-01T00:00:00+00:00", last=last,
            ))  # fmt: skip
        assert MANIFEST
        yield file.getvalue()


@cache
def _state_of_backups() -> Any:
    from leaseboard.tasks.store.live_model import State

    return State(Path(tempfile.mkdtemp(prefix="fuzz-backup-")) / "state.sqlite", "sales")


def backup_file(content: bytes, folder: Path) -> None:
    """Import the backup of a live model, without a registry."""
    from leaseboard.tasks.live import backup
    from leaseboard.tasks.live.lifecycle import LifecycleState
    from leaseboard.tasks.models.model import load
    from leaseboard.tasks.store import live_transfer

    path = folder / "it.zip"
    path.write_bytes(content)
    state = _state_of_backups()
    with backup.ARCHIVE.opened(path) as archive:
        manifest, members = backup.ARCHIVE.checked(archive, backup.BackupManifest, path)
        if backup.REGISTRY in members:
            backup.ARCHIVE.validated(backup.PublishedModel, archive, backup.REGISTRY, path)
        missing = {f"state/{name}.jsonl" for name in backup.TABLES} - members
        if missing:
            raise backup.ARCHIVE.refused(path, f"{min(missing)!r} is missing")
        lines = {name: archive.open(f"state/{name}.jsonl") for name in backup.TABLES}
        with state.transaction():
            with state.connected() as connection:
                live_transfer.fill(connection, state.tables, lines, manifest.last, "f.yaml")
            try:
                LifecycleState.read(state.lifecycle())
                for each in state.candidates():
                    if each.model is not None:
                        load(state.model(each.model), "it")
            except ValueError as error:
                raise backup.ARCHIVE.refused(path, str(error).partition("\n")[0]) from error
