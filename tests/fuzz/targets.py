"""Targets of fuzzing: for each, valid content, how it is mutated, and the reader that gets it."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import io
import json
import re
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, partial
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pandas as pd

from tests.fuzz.mutations import TOKENS, json_member, of_array, of_bytes, of_text, of_zip

Mutate = Callable[[Random, Sequence[bytes]], bytes]


class WrongError(AssertionError):
    """Error of content that was read as other content."""


@dataclass(frozen=True)
class Target:
    """What is fuzzed.

    Attributes
    ----------
    seeds : function
        Returns valid contents; they are made once and kept in a folder.
    mutate : function
        Returns mutated content, of a generator and the contents.
    read : function
        Reads the content in a folder of its own; any error but `LeaseboardError` is a fault.
    share : float
        Of all cases, when no target is named: slow ones get fewer.
    """

    seeds: Callable[[], Iterable[bytes]]
    mutate: Mutate
    read: Callable[[bytes, Path], object]
    share: float = 1.0


def texts(*more: str) -> Mutate:
    """Return what mutates lines, words and bytes, with tokens of the format."""
    tokens = [*TOKENS, *(each.encode() for each in more)]

    def mutate(rng: Random, seeds: Sequence[bytes]) -> bytes:
        how = of_text if rng.random() < 0.75 else of_bytes
        return how(rng, rng.choice(seeds), seeds, tokens)

    return mutate


# Tables

CSV = (
    """a,b,shop,when,y
1,2.5,x,2026-01-01,3
2,,y,2026-01-02T03:04:05,4
3,1e3,x,2026-01-03,5
-4,0.5,z z,2026-01-04,6
""",
    'name;"a;b";y\n"x ""q""";1,5;2\nplain;2,25;3\n"two\nlines";3;4\n',
    "\ufeffa\tb\ty\n1\tTrue\tu\n2\tfalse\tv\n3\tNA\tu\n4\ttrue\tv\n",
    "sep=|\na|b|y\n1|?|0\n2|7|1\n00123|8|0\n5|9|1\n",
    """id,at,zone,y
000123,12:30,2026-01-01T00:00:00+02:00,1
9223372036854775807,1:00,2026-01-02T00:00:00Z,2
5,2:00,2026-07-01T00:00:00+01:00,0.1
""",
    "a,a.1,y\r\n1,2,3\r\n4,5,6\r\n",
)
ARFF = (
    """@relation r
% about
@attribute a numeric
@attribute 'b c' {x,'y z',w}
@attribute s string
@attribute y real [0,1]
@data
1,x,'q',0.5
?,'y z',?,1
3,w,"t",0
""",
    "@relation r\n@attribute a integer\n@attribute y {0,1}\n@data\n{0 3, 1 1}\n{1 0}\n{}\n",
    "@RELATION r\n@ATTRIBUTE a\tREAL\n@ATTRIBUTE y\tREAL\n@DATA\n1\t2\n3\t4\n",
)
LIBSVM = (
    "1 1:0.5 3:2 # note\n-1 2:1e3\n+1 1:1 2:2 3:3\n",
    "0.5 qid:1 1:1 10:1\n1.5 qid:1 2:1\n",
    "0 1:1 2:0.5\n1 5:1\n0 3:-0.25\n",
)


def table_file(suffix: str, content: bytes, folder: Path) -> None:
    """Read a table as each command does; a table that is read is the same a second time."""
    from leaseboard.tasks.fetch import files, loading
    from leaseboard.tasks.models.table_files import in_own_types, pass_through, read_rows

    path = folder / f"it{suffix}"
    path.write_bytes(content)
    frame = read_rows(path)
    if len(frame.columns) > 1:
        added = pd.DataFrame({"a new column": np.zeros(len(frame))})
        passed = pass_through(path, frame, added)
        in_own_types(passed, frame)
        if len(passed) != len(frame):
            raise WrongError(f"{len(passed)} rows are passed through, {len(frame)} were read")
    if not files.read(str(path)).frame.equals(files.read(str(path)).frame):
        raise WrongError("read twice, it is another table")
    loading.load(f"file:{path}")


def table_to_learn(content: bytes, folder: Path) -> None:
    """Learn and predict a table, and infer the contract of a live model from it."""
    from leaseboard.tasks.live.contract import Contract
    from leaseboard.tasks.live.contract_check import check
    from leaseboard.tasks.live.first_files import guess_columns, infer
    from leaseboard.tasks.machine.yaml_files import load_yaml
    from leaseboard.tasks.models.model import load
    from leaseboard.tasks.models.stream_model import StreamModel
    from leaseboard.tasks.models.table_files import read_rows

    path = folder / "it.csv"
    path.write_bytes(content)
    frame = read_rows(path).head(50)
    if not len(frame):
        return
    model = StreamModel.for_table(frame, settings={"b": 1})
    model.learn_table(frame)
    first = model.predict(frame)
    again = load(model.dump(), "it")
    if not np.array_equal(first, again.predict(frame), equal_nan=model.is_regression):
        raise WrongError("from its file, a model predicts other values")
    target = str(frame.columns[-1])
    time, identity = guess_columns(frame, target)
    contract = infer(frame, target=target, time=time, id=identity)
    (folder / "contract.yaml").write_text(contract.to_yaml(), encoding="utf-8")
    if load_yaml(folder / "contract.yaml", Contract) != contract:
        raise WrongError("a contract is read as another one than was written")
    check(contract, frame, now=datetime(2026, 2, 1, tzinfo=UTC))


def parquet_seeds() -> Iterator[bytes]:
    """Yield small parquet files of many types."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    frame = pd.DataFrame({
        "a": rng.normal(size=20), "b": rng.integers(0, 5, 20), "shop": rng.choice(["x", "y"], 20),
        "when": pd.date_range("2026-01-01", periods=20), "flag": rng.random(20) < 0.5,
        "y": rng.normal(size=20),
    })  # fmt: skip
    for made, options in (
        (frame, {"compression": "none", "use_dictionary": False}),
        (frame.astype({"shop": "category"}), {"compression": "snappy", "row_group_size": 7}),
        (frame[["b", "y"]].set_index("b"), {"compression": "zstd", "data_page_version": "2.0"}),
    ):
        file = io.BytesIO()
        pq.write_table(pa.Table.from_pandas(made), file, **options)
        yield file.getvalue()


# YAML


def yaml_seeds(*parts: str) -> Callable[[], Iterator[bytes]]:
    """Return what yields the shipped files of folders."""
    from leaseboard.tasks.machine.paths import shipped_conf

    return lambda: (
        path.read_bytes() for part in parts for path in sorted(shipped_conf().glob(part))
    )


LIVE_YAML = b"""\
name: sales
data: {source: "folder:inbox/*.csv", time: day, id: order, target: revenue, label_delay: 2d}
model: {algorithm: chacha, settings: {b: 3}}
retrain: {every: 5d, window: 200}
contract: contract.yaml
compare: {alpha: 0.05}
alerts: {to: ["mailto:me@example.org", "json://127.0.0.1:1/x"]}
retention: 90d
state: state.sqlite
"""
CONTRACT_YAML = b"""\
columns:
  order: {kind: text}
  day: {kind: date}
  price: {kind: number, low: -10, high: 10, size: [0.01, 100]}
  rain: {kind: flag, missing: 0.5}
  shop: {kind: category, categories: [x, "y"], missing: 0.5}
  revenue: {kind: number, required: false}
rows: {time: day, least: 1}
"""


def suite_file(content: bytes, folder: Path) -> None:
    """Read a suite, a group of suites, a schedule, a dataset and a search space."""
    from leaseboard.algorithms.errors import LeaseboardError
    from leaseboard.tasks.evaluate.trials.spaces import Space
    from leaseboard.tasks.fetch.loading import Named
    from leaseboard.tasks.jobs.suites.plan import check_suite
    from leaseboard.tasks.jobs.suites.suite import Suite, load_suite, members
    from leaseboard.tasks.jobs.suites.timetable import load_schedule
    from leaseboard.tasks.machine.yaml_files import load_yaml

    (folder / "suites").mkdir(exist_ok=True)
    for place in (path := folder / "suites" / "it.yaml", folder / "schedule.yaml"):
        place.write_bytes(content)
    refused: list[LeaseboardError] = []
    readers: list[Callable[[], object]] = [
        partial(members, "it", folder), partial(load_schedule, folder),
        partial(load_yaml, path, Named), partial(load_yaml, path, Space),
    ]  # fmt: skip
    try:
        suite = load_suite("it", folder)
    except LeaseboardError as error:
        refused.append(error)
    else:
        if len(suite.jobs()) < 10_000 and not any(".py" in str(a) for a in suite.algorithms):
            readers.append(partial(check_suite, suite, path))
        Suite.model_validate_json(suite.model_dump_json())
    for read in readers:
        try:
            read()
        except LeaseboardError as error:
            refused.append(error)
    if len(refused) == len(readers) + 1:
        raise refused[0]


def live_file(content: bytes, folder: Path) -> None:
    """Read the settings of a live model, or a contract."""
    from leaseboard.tasks.live.contract import Contract, read_contract
    from leaseboard.tasks.live.settings import DataSettings, read_settings
    from leaseboard.tasks.machine.yaml_files import load_yaml
    from leaseboard.tasks.serve.champion import RowRules

    path = folder / "live.yaml"
    path.write_bytes(content)
    if b"columns:" in content:
        data = DataSettings(source="folder:x/*.csv", time="day", id="order", target="revenue")
        contract = read_contract(path, data)
        path.write_text(contract.to_yaml(), encoding="utf-8")
        if load_yaml(path, Contract) != contract:
            raise WrongError("a contract is read as another one than was written")
        RowRules(contract, data).row_fault({"order": "a", "day": "2026-01-02", "price": 1})
    else:
        read_settings(path).model_dump_json()


# Models

FRAME = pd.DataFrame({
    "a": np.linspace(-1, 1, 40).round(3), "shop": ["x", "y"] * 20,
    "day": pd.date_range("2026-01-01", periods=40), "y": np.arange(40.0) % 7,
})  # fmt: skip


def model_seeds() -> Iterator[bytes]:
    """Yield a model of each kind, small."""
    from leaseboard.tasks.live.snapshot import Snapshot
    from leaseboard.tasks.models.columns import Column
    from leaseboard.tasks.models.recipe import Recipe
    from leaseboard.tasks.models.stream_model import StreamModel

    classes = FRAME.assign(y=np.where(FRAME["y"] > 3, "up", "down"))
    many = FRAME.assign(y=FRAME["y"].map("class {:g}".format))
    for frame, how in (
        (FRAME, {"settings": {"b": 2}}), (FRAME, {"algorithm": "chacha-paper"}),
        (classes, {"settings": {"b": 2}}), (many, {"settings": {"b": 1}}),
    ):  # fmt: skip
        stream = StreamModel.for_table(frame, **how)
        stream.learn_table(frame)
        yield stream.dump()
    rows = FRAME[["a", "shop"]].to_dict("records")
    for name, task, labels in (
        ("last-label", "regression", FRAME["y"]), ("running-mean", "classification", classes["y"])
    ):  # fmt: skip
        naive = Recipe("y", task, "chacha", {}).new(name)  # type: ignore[arg-type]
        naive.learn(rows, list(labels), [])
        yield naive.dump()
    stream = StreamModel.for_table(FRAME.drop(columns="day"), settings={"b": 1})
    stream.learn_table(FRAME.drop(columns="day"))
    columns = [Column(name="a", kind="number"), Column(name="shop", kind="text")]
    yield Snapshot(columns, stream).dump()
    for algorithm, settings in (
        ("apple", {}),
        ("average", {"max_trials": 2, "arms": ["decision_tree", "lda"], "space": "fast"}),
    ):
        made = Recipe("y", "classification", algorithm, settings)
        yield made.train(FRAME[["a", "shop"]], list(classes["y"])).dump()


def of_model(rng: Random, seeds: Sequence[bytes]) -> bytes:
    """Return a model's file with other values or arrays, also in a file within."""

    def change(rng: Random, files: dict[str, bytes]) -> None:
        name = rng.choice(["values.npy", *files])
        content = files.get(name, b"")
        if name == "values.npy":
            array = np.load(io.BytesIO(content)) if content else np.zeros(0, np.uint8)
            text = json_member(rng, array.tobytes())
            file = io.BytesIO()
            np.save(file, np.frombuffer(text, np.uint8))
            files[name] = file.getvalue()
            return
        try:
            array = np.load(io.BytesIO(content), allow_pickle=False)
            inner = array.tobytes() if array.dtype == np.uint8 else b""
        except (ValueError, EOFError, OSError):
            inner = b""
        if inner.startswith(b"PK") and rng.random() < 0.9:  # a model or estimator within
            how = of_model if b"values.npy" in inner else of_skops
            file = io.BytesIO()
            np.save(file, np.frombuffer(how(rng, [inner]), np.uint8))
            files[name] = file.getvalue()
        else:
            files[name] = of_array(rng, content)

    return of_zip(rng, rng.choice(seeds), seeds, change)


def of_skops(rng: Random, seeds: Sequence[bytes]) -> bytes:
    """Return a file of skops with another schema or another array."""

    def change(rng: Random, files: dict[str, bytes]) -> None:
        name = rng.choice(list(files)) if files else "schema.json"
        content = files.get(name, b"")
        if name.endswith(".json"):
            files[name] = json_member(rng, content)
        else:
            files[name] = of_array(rng, content)

    return of_zip(rng, rng.choice(seeds), seeds, change)


def model_file(content: bytes, folder: Path) -> None:
    """Load a model; one that loads predicts, learns, and is the same from its own file."""
    from leaseboard.tasks.models.model import load_file

    path = folder / "it.model"
    path.write_bytes(content)
    model = load_file(path)
    model.dump()
    rows = FRAME[["a", "shop"]].head(5)
    if any(each.name == "day" for each in model.columns):
        rows = FRAME.drop(columns="y").head(5)
    model.predict(rows)
    model.predict_proba(rows)
    model.predict_rows(rows[["a", "shop"]].to_dict("records"))
    if hasattr(model, "learn_table"):
        model.learn_table(FRAME.head(12))
        model.dump()


# Logs, results and archives


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
        ("chacha-paper", "synthetic:fried?rows=20&seed=0", {}),
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


# The server

JSON = "content-type: application/json"
ROW = '{"order": "a-1", "day": "2026-01-02", "price": 1.25, "rain": true, "shop": "x"}'
REQUESTS = tuple(each.encode() for each in (
    (f"POST /invocations\n{JSON}\n\n"
    f'{{"dataframe_records": [{ROW}], "params": {{"level": 0.9, "probabilities": true}}}}'),
    (f"POST /invocations\n{JSON}\n\n"
    '{"dataframe_split": {"columns": ["order", "day", "price", "rain", "shop"], "index": [0],'
    ' "data": [["a-2", "2026-01-02", 1, false, "y"]]}}'),
    (f"POST /invocations\n{JSON}\n\n"
    '{"instances": [["a-3", "2026-01-02", 1, false, "y"]]}'),
    (f"POST /invocations\n{JSON}\n\n"
    '{"inputs": {"order": ["a-4"], "day": ["2026-01-02"], "price": [1], "rain": [true],'
    ' "shop": [null]}}'),
    ("POST /invocations\ncontent-type: text/csv\n\n"
    "order,day,price,rain,shop\na-5,2026-01-02,1,true,x\n"),
    (f"POST /labels\n{JSON}\n\n"
    '[{"id": "a-1", "label": 1.5}]'),
    (f"POST /v2/models/sales/infer\n{JSON}\n\n"
    '{"id": "1", "parameters": {"level": 0.9}, "inputs": ['
    '{"name": "order", "shape": [1], "datatype": "BYTES", "data": ["a-6"]},'
    '{"name": "day", "shape": [1, 1], "datatype": "BYTES", "data": ["2026-01-02"]},'
    '{"name": "price", "shape": [1], "datatype": "FP64", "data": [1.5]},'
    '{"name": "rain", "shape": [1], "datatype": "BOOL", "data": [true]}],'
    ' "outputs": [{"name": "prediction"}]}'),
    "GET /v2/models/sales/versions/1\n\n", "GET /metrics\n\n", "GET /openapi.json\n\n",
    "GET /docs\nauthorization: Basic eDp5\n\n", "GET /health\n\n",
))  # fmt: skip


def of_request(rng: Random, seeds: Sequence[bytes]) -> bytes:
    """Return a request with another value of its JSON, or another head."""
    content = rng.choice(seeds)
    head, _, body = content.partition(b"\n\n")
    if body[:1] in b"[{" and rng.random() < 0.7:
        for _ in range(rng.choice((1, 1, 2))):
            body = json_member(rng, body)
        return head + b"\n\n" + body
    return texts(
        "content-encoding: gzip", "content-length: 5", "POST /labels", "/v2/models/%2e%2e/infer"
    )(rng, seeds)


@cache
def served() -> Any:
    """Return the application of a live model that has learned a day."""
    from leaseboard.tasks.live.rows import features_of
    from leaseboard.tasks.live.snapshot import Snapshot
    from leaseboard.tasks.models.stream_model import StreamModel
    from leaseboard.tasks.serve.admission import Admission
    from leaseboard.tasks.serve.app import application
    from leaseboard.tasks.serve.champion import Champion, Follower
    from leaseboard.tasks.serve.service import PredictionService
    from tests.tasks.live.shops import Shop

    home = Path(tempfile.mkdtemp(prefix="fuzz-serve-"))
    shop = Shop(home, b=1)
    contract = shop.contract()
    shop.live.settings.contract.write_text(contract.to_yaml())
    model = StreamModel.new("revenue", "regression", "chacha", {"b": 1})
    frame = shop.rows(0).drop(columns="order")
    model.learn_table(frame)
    snapshot = Snapshot(features_of(contract, shop.live.settings.data), model)
    said: list[str] = []
    follower = Follower(f"sqlite:///{home}/none.db", shop.live.settings, said.append)
    follower.champion = Champion(snapshot, "sales", "1", "1", "d" * 16, 0.0)
    follower._thread.run = lambda: None  # type: ignore[method-assign]
    service = PredictionService(
        shop.live.settings.data,
        follower,
        shop.live.state,
        lambda: datetime(2026, 2, 1, tzinfo=UTC),
    )
    ticks = iter(range(10**12))
    app = application(service, Admission("", 1e9, lambda: float(next(ticks))))
    return app, said, asyncio.new_event_loop()


ANSWERS = {200, 202, 400, 401, 403, 404, 405, 406, 408, 409, 413, 415, 422, 429}


def request(content: bytes, folder: Path) -> None:
    """Send a request to the application; a refusal is one line of JSON, never a fault of ours."""
    from leaseboard.algorithms.errors import DataError

    app, said, loop = served()
    head, _, body = content.partition(b"\n\n")
    first, *lines = head.split(b"\n")
    method, _, path = first.partition(b" ")
    headers = [(b"host", b"127.0.0.1")]
    for line in lines:
        name, _, value = line.partition(b":")
        headers.append((name.strip().lower(), value.strip()))
    raw, _, query = path.partition(b"?")
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "scheme": "http",
        "method": method.decode("latin-1").upper(), "path": raw.decode("utf-8", "replace"),
        "raw_path": raw, "query_string": query, "headers": headers, "client": ("127.0.0.1", 5),
        "server": ("127.0.0.1", 80), "root_path": "",
    }  # fmt: skip
    parts = [
        {"type": "http.request", "body": body[:100], "more_body": True},
        {"type": "http.request", "body": body[100:], "more_body": False},
    ]
    sent: list[Any] = []

    async def receive() -> Any:
        return parts.pop(0) if parts else {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    loop.run_until_complete(app(scope, receive, send))
    status = sent[0]["status"]
    answer = b"".join(each.get("body", b"") for each in sent[1:])
    if status not in ANSWERS:
        raise WrongError(f"status {status}: {answer[:300]!r}; {said[-1:]}")
    if dict(sent[0]["headers"]).get(b"content-type", b"").startswith(b"application/json"):
        found = json.loads(answer, parse_constant=_no_constant)
        if status >= 400:
            raise DataError(found["error"])


def _no_constant(name: str) -> None:
    raise WrongError(f"{name} in an answer is not JSON")


# Cards


def card_seeds() -> Iterator[bytes]:
    """Yield names and words of a live model, one a line."""
    yield b"a price\nx\ny\nfolder:inbox/*.csv\nchacha\nnew"
    yield "Preis|€\n<b>\n`code`\nsqlite:///x\nnaive\ndrift".encode()


def card_file(content: bytes, folder: Path) -> None:
    """Write the card of a live model whose names and words come from outside."""
    from leaseboard.algorithms.errors import DataError
    from leaseboard.tasks.live import card
    from tests.tasks.live.shops import CONTRACT

    try:
        words = content.decode("utf-8").split("\x1e" if b"\x1e" in content else "\n")
    except UnicodeDecodeError as error:
        raise DataError("words are not UTF-8") from error
    column, *more = [*words, "x", "y"]
    rule = CONTRACT.columns["shop"].model_copy(update={"categories": more[:5]})
    scores = card._table(column, {word: {word: 1.5, "rows": 2.0} for word in more})
    rules = ", ".join(f"{k} {v}" for k, v in rule.model_dump(mode="json").items())
    contract = card._lines(["column", "kind", "rule"], [[column, rule.kind, rules]])
    for table, cells in ((scores, 1 + len({*more, "rows"})), (contract, 3)):
        for line in table.replace("\r", "\n").split("\n"):
            plain = re.sub(r"\\[\\|<]", "", line)
            if not line.startswith("| ") or plain.count("|") != cells + 1 or "<" in plain:
                raise WrongError(f"a table of the card has the line {line[:100]!r}")


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


def encoded(*contents: str) -> Callable[[], list[bytes]]:
    """Return what returns texts as UTF-8."""
    return lambda: [each.encode() for each in contents]


def of_parquet(rng: Random, seeds: Sequence[bytes]) -> bytes:
    """Return a parquet file with other bytes, mostly in its footer."""
    content = rng.choice(seeds)
    if rng.random() < 0.5:
        size = min(int.from_bytes(content[-8:-4], "little") + 8, len(content))
        body, foot = content[:-size], content[-size:]
        return body + of_bytes(rng, foot[:-8], [foot], TOKENS) + foot[-8:]
    return of_bytes(rng, content, seeds, TOKENS)


TARGETS = {
    "csv": Target(encoded(*CSV), texts("sep=", "2026-01-01", "1.5"),
                  partial(table_file, ".csv"), 3),
    "arff": Target(encoded(*ARFF), texts("@data", "@attribute", "{1 2}", "numeric", "string"),
                   partial(table_file, ".arff"), 6),
    "libsvm": Target(encoded(*LIBSVM), texts("1:1", "qid:", "99999999:1", "-1:2"),
                     partial(table_file, ".libsvm"), 2),
    "parquet": Target(parquet_seeds, of_parquet, partial(table_file, ".parquet"), 6),
    "learn": Target(encoded(*CSV), texts("sep=", "2026-01-01", "1.5"), table_to_learn, 0.1),
    "suite": Target(yaml_seeds("suites/*.yaml", "schedule.yaml", "data/*.yaml", "spaces/*.yaml"),
                    texts("algorithms:", "data:", "<<: *a", "!!set", "? x"), suite_file, 0.4),
    "live": Target(lambda: [LIVE_YAML, CONTRACT_YAML], texts("2d", "kind: ", "{", "[x"),
                   live_file, 24),
    "model": Target(model_seeds, of_model, model_file, 1),
    "archive": Target(archive_seeds, of_archive, archive_file, 2.5),
    "backup": Target(backup_seeds, of_archive, backup_file, 0.5),
    "log": Target(log_seeds, of_log, log_file, 6),
    "result": Target(result_seeds, of_result, result_file, 28),
    "request": Target(lambda: REQUESTS, of_request, request, 8),
    "card": Target(card_seeds, texts("\x1e", "|", "\\|"), card_file, 12.5),
}  # fmt: skip
"""By name; the shares are a hundred in all."""
