"""Files of users that were at fault once are read, or refused in one line."""

import json
from functools import partial
from pathlib import Path

import pandas as pd
import pytest

from leaseboard.algorithms.audit import configurations, table
from leaseboard.algorithms.errors import LeaseboardError
from leaseboard.tasks.fetch import loading
from leaseboard.tasks.folder.results import load_result, read_partial_log
from leaseboard.tasks.live.settings import DataSettings, read_contract, read_settings
from leaseboard.tasks.models.columns import pass_through, read_rows
from leaseboard.tasks.models.model import load_file

CORPUS = sorted(path for path in Path(__file__).parent.glob("*/*") if path.suffix != ".pyc")


def read_table(suffix, content, folder):
    path = folder / f"it{suffix}"
    path.write_bytes(content)
    frame = read_rows(path)
    added = pd.DataFrame({"a new column": [0.0] * len(frame)})
    assert len(pass_through(path, frame, added)) == len(frame)
    loading.load(f"file:{path}")


def read_live(content, folder):
    path = folder / "live.yaml"
    path.write_bytes(content)
    if b"columns:" in content:
        data = DataSettings(source="folder:x/*.csv", time="day", id="order", target="revenue")
        read_contract(path, data)
    else:
        read_settings(path)


def read_model(content, folder):
    path = folder / "it.model"
    path.write_bytes(content)
    load_file(path).predict(pd.DataFrame({"a": [0.5], "shop": ["x"]}))


def read_log(content, folder):
    path = folder / "events.jsonl.gz"
    path.write_bytes(content)
    json.dumps(table(configurations(read_partial_log(path))))


READERS = {
    "arff": partial(read_table, ".arff"), "csv": partial(read_table, ".csv"),
    "libsvm": partial(read_table, ".libsvm"), "parquet": partial(read_table, ".parquet"),
    "live": read_live, "log": read_log, "model": read_model,
    "result": lambda content, _: load_result(content),
}  # fmt: skip


def fault_of(path, folder):
    """Return what is at fault; empty if the file is read, or refused in one line."""
    kind = path.parent.name
    try:
        READERS[kind](path.read_bytes(), folder)
    except LeaseboardError as error:
        said = str(error)
    except ValueError as error:
        said = str(error) if kind in ("log", "result") else f"{error!r}\n"
    else:
        return ""
    return said if "\n" in said or len(said) > 1000 else ""


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_what_was_at_fault_is_not_any_more(path, tmp_path):
    assert not fault_of(path, tmp_path)
