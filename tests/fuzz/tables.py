"""Targets of fuzzing: files of tables, suites and live models."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from random import Random

import numpy as np
import pandas as pd

from tests.fuzz.mutations import TOKENS, of_bytes
from tests.fuzz.target import WrongError

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


def yaml_seeds(*parts: str) -> Callable[[], Iterator[bytes]]:
    """Return what yields the shipped files of folders."""
    from leaseboard.tasks.machine.paths import shipped_conf

    return lambda: (
        path.read_bytes() for part in parts for path in sorted(shipped_conf().glob(part))
    )


LIVE_YAML = b"""\
name: sales
data: {source: "folder:inbox/*.csv", time: day, id: order, target: revenue, label_delay: 2d}
model: {algorithm: online-automl, settings: {b: 3}}
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


def of_parquet(rng: Random, seeds: Sequence[bytes]) -> bytes:
    """Return a parquet file with other bytes, mostly in its footer."""
    content = rng.choice(seeds)
    if rng.random() < 0.5:
        size = min(int.from_bytes(content[-8:-4], "little") + 8, len(content))
        body, foot = content[:-size], content[-size:]
        return body + of_bytes(rng, foot[:-8], [foot], TOKENS) + foot[-8:]
    return of_bytes(rng, content, seeds, TOKENS)
