"""Mirrors built from public sources: whole, resumed, read to the same values."""

from __future__ import annotations

import csv
import re
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pandas as pd
import pytest

from leaseboard.algorithms.errors import DataError, UsageError
from leaseboard.flows import cli
from leaseboard.tasks.fetch.dataset import file_digest
from leaseboard.tasks.fetch.inventory import build_mirror, catalogue, public_sources
from leaseboard.tasks.fetch.loading import load
from leaseboard.tasks.machine import paths

ROOT = Path(__file__).resolve().parents[3]
FIELDS = ("id", "name", "source", "sha256", "columns", "target", "task", "licence", "digest")


@pytest.fixture
def public(tmp_path, monkeypatch):
    """Yield a server of files, and the table of public sources that names them."""
    files, conf = tmp_path / "files", tmp_path / "conf"
    for folder in (files, conf / "data", conf / "suites"):
        folder.mkdir(parents=True)
    monkeypatch.setenv("LEASEBOARD_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(paths, "shipped_conf", lambda: conf)

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    rows = []

    def add(name, file, content, **more):
        if content is not None:
            (files / file).write_bytes(content)
        address = f"http://127.0.0.1:{http.server_port}/{file}"
        digest = file_digest(files / file) if content is not None else "0" * 64
        rows.append({"id": name, "source": address, "sha256": digest, **more})
        with (conf / "mirror.csv").open("w", newline="") as lines:
            writer = csv.DictWriter(lines, FIELDS, restval="")
            writer.writeheader()
            writer.writerows(rows)

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=files)) as http:
        threading.Thread(target=http.serve_forever, daemon=True).start()
        add.files, add.rows = files, rows
        yield add
        http.shutdown()


def test_one_that_fails_stops_no_other_and_the_next_call_continues(public, tmp_path):
    place = tmp_path / "new" / "mirror"
    public("gone", "gone.csv", None)
    public("changed", "changed.csv", b"a,y\n1,2\n3,4\n", sha256="f" * 64)
    public("tiny", "tiny.csv", b"b,a,y\n1,x,2.5\n2,z,4\n", licence="CC0")
    public.rows.append({"id": "held", "source": ""})
    public("iris", "none", b"", source="sklearn:iris", sha256="")

    built = {each.name: each for each in build_mirror(place)}

    assert [name for name, each in built.items() if each.whole] == ["tiny", "iris"]
    assert "cannot be fetched (HTTP Error 404" in built["gone"].detail
    assert "the file changed at its source" in built["changed"].detail
    assert "held" not in built
    data = load("mirror:tiny", mirrors=(place,))
    assert data.digest == load(f"file:{public.files / 'tiny.csv'}").digest
    assert (data.licence, data.source) == ("CC0", public.rows[2]["source"])
    assert load("mirror:iris", mirrors=(place,)).digest == load("sklearn:iris").digest
    (public.files / "tiny.csv").unlink()
    public("gone", "gone.csv", b"a,y\n1,2\n3,4\n")
    again = {each.name: each.detail for each in build_mirror(place)}
    assert (again["tiny"], again["iris"]) == ("there already", "there already")
    assert again["gone"].startswith("2 rows, 1 features, from http")


def test_a_damaged_file_of_the_mirror_is_fetched_again(public, tmp_path):
    public("tiny", "tiny.csv", b"b,a,y\n1,x,2.5\n2,z,4\n")
    list(build_mirror(tmp_path / "mirror"))
    whole = (tmp_path / "mirror" / "tiny.parquet").read_bytes()
    (tmp_path / "mirror" / "tiny.parquet").write_bytes(whole[:-1])

    (built,) = build_mirror(tmp_path / "mirror")

    assert built.detail.startswith("2 rows")
    assert (tmp_path / "mirror" / "tiny.parquet").read_bytes() == whole
    assert sorted(path.name for path in (tmp_path / "mirror").iterdir()) == [
        "catalogue.csv", "tiny.parquet",
    ]  # fmt: skip


def test_columns_are_named_ordered_and_taken_from_dates(public, tmp_path):
    times = pd.to_datetime(["2001-01-02 03:04", "2002-05-06 07:08"])
    frame = pd.DataFrame({"date": times, "delay": [3, 5], "to": ["A", "B"]})
    frame.to_parquet(tmp_path / "x.parquet")
    spec = "month=date.month;hour=date.hour;place=to;delay"
    content = (tmp_path / "x.parquet").read_bytes()
    public("flights", "x.parquet", content, columns=spec, target="delay", task="regression")

    (built,) = build_mirror(tmp_path / "mirror")
    data = load("mirror:flights", mirrors=(tmp_path / "mirror",))

    assert built.whole
    assert list(data.features) == ["month", "hour", "place"]
    assert data.features["hour"].tolist() == [3, 7]
    assert (data.task, data.target.tolist()) == ("regression", [3.0, 5.0])


def test_a_copy_that_is_not_the_measured_one_is_reported(public, tmp_path):
    content = b"b,a,y\n1,x,2.5\n2,z,4\n"
    public("same", "tiny.csv", content)
    digest = load(f"file:{public.files / 'tiny.csv'}").digest
    public.rows[0]["digest"] = digest
    public("other", "other.csv", content.replace(b"4", b"5"), digest=digest)

    said = {each.name: each.detail for each in build_mirror(tmp_path / "mirror")}

    assert said["same"].endswith("the content that was measured")
    assert said["other"].endswith("not the copy that was measured")


def test_the_command_prints_a_line_a_dataset_and_takes_suites(public, tmp_path, capsys):
    public("tiny", "tiny.csv", b"b,a,y\n1,x,2.5\n2,z,4\n")
    public("other", "other.csv", b"a,y\n1,2.5\n2,4\n")
    suite = tmp_path / "suite.yaml"
    suite.write_text("title: T\ndata: [mirror:tiny, mirror:none]\nalgorithms: [vanilla]\n")

    def call(*words):
        with pytest.raises(SystemExit) as ended:
            cli.main(["data", "mirror", str(tmp_path / "mirror"), *words])
        return ended.value.code, capsys.readouterr().out.splitlines()

    code, lines = call(str(suite))
    assert code == cli.FAILED
    assert [line.split()[:2] for line in lines[:-1]] == [["FAILED", "none"], ["ok", "tiny"]]
    code, lines = call()
    assert code == cli.PASSED
    assert [line.split()[:2] for line in lines[:-1]] == [["ok", "tiny"], ["ok", "other"]]


def test_a_place_that_cannot_be_a_mirror_is_refused_once(public, tmp_path):
    public("tiny", "tiny.csv", b"a,y\n1,2\n3,4\n")
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="file is a file: name a folder"):
        list(build_mirror(tmp_path / "file"))
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "catalogue.csv").write_text("id,name\n")
    with pytest.raises(DataError, match="column 'features' is missing"):
        list(build_mirror(tmp_path / "broken"))


def test_what_only_a_mirror_has_is_marked_in_the_list(public):
    public("tiny", "tiny.csv", b"a,y\n1,2\n3,4\n")
    public("held", "none", b"", source="", sha256="")

    listed = {each.reference: each.source for each in catalogue()}

    assert listed["mirror:held"] == "only a mirror has it, no public source is known"
    assert listed["mirror:tiny"].startswith("http")


def test_every_dataset_that_suites_and_pages_name_is_in_the_table():
    known = public_sources()
    files = [*(ROOT / "conf").rglob("*.yaml"), *(ROOT / "docs").rglob("*.md"), ROOT / "README.md"]
    named = {
        name
        for file in files
        if not {"_build", "generated"} & set(file.parts)
        for name in re.findall(
            r"\b(?:openml|mirror):([A-Za-z0-9_.-]*[A-Za-z0-9_])", file.read_text()
        )
    }

    assert named - set(known) <= {row["source"].rpartition(":")[2] for row in known.values()}
    for row in known.values():
        assert row["source"].startswith("https://") == bool(row["sha256"]), row["id"]
        assert row["source"].startswith(("https://", "openml:", "sklearn:")) or not row["source"]


@pytest.mark.mirror
def test_the_measured_digests_are_those_of_the_mirror(mirror):
    for name, row in public_sources().items():
        if row["digest"] and name not in ("flights_3m", "covtype", "census_income", "1203"):
            try:
                assert load(f"mirror:{name}", mirrors=(mirror,)).digest == row["digest"], name
            except (DataError, UsageError) as error:
                pytest.fail(f"{name}: {error}")
