"""OpenML through its package: a ready cache, a server of our own, and no network at all."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import threading
import traceback
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pandas as pd
import pytest

from leaseboard.algorithms.errors import DataError, DataUnavailableError, UsageError
from leaseboard.tasks.fetch import cache, openml_source
from leaseboard.tasks.fetch.inventory import build_mirror
from leaseboard.tasks.fetch.loading import load

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


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path):
    """Give each test its own cache, package cache and package configuration."""
    monkeypatch.setenv("LEASEBOARD_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("OPENML_CACHE_DIR", str(tmp_path / "package"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setattr(openml_source, "_unreachable", {})


@pytest.fixture(scope="module")
def imported():
    """Keep what openml imports; not openml itself, which reads its configuration on import."""
    import openml  # noqa: F401

    for name in [name for name in sys.modules if name.partition(".")[0] == "openml"]:
        del sys.modules[name]


@pytest.fixture
def forked(imported, monkeypatch):
    """Run downloads in forks of this process; the test of a whole one starts a new Python."""

    def run(command, **_):
        with tempfile.TemporaryFile("w+") as said:
            pid = os.fork()
            if pid == 0:
                os._exit(download(Path(command[-1]), command[-2], said))
            _, status = os.waitpid(pid, 0)
            said.seek(0)
            code = os.waitstatus_to_exitcode(status)
            return subprocess.CompletedProcess(command, code, "", said.read())

    def download(folder, name, said):
        sys.stderr = said
        try:
            return openml_source.main(name, folder)
        except BaseException:  # noqa: BLE001  (as Python does at its end)
            traceback.print_exc()
            return 1
        finally:
            said.flush()

    monkeypatch.setattr(openml_source.subprocess, "run", run)


def configure(tmp_path, server: str) -> None:
    folder = tmp_path / "config" / "openml"
    folder.mkdir(parents=True)
    (folder / "config").write_text(f"server = {server}/api/v1/xml\n")


@pytest.fixture
def server(tmp_path):
    """Yield a server that knows dataset 77, and the paths it was asked for."""
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
        configure(tmp_path, f"http://127.0.0.1:{http.server_port}")
        yield asked
        http.shutdown()


def ready_folder(tmp_path):
    folder = tmp_path / "package" / "org" / "openml" / "www" / "datasets" / "77"
    folder.mkdir(parents=True)
    return folder


def check_tiny(data):
    assert (data.name, data.task, data.licence) == ("tiny", "regression", "CC0")
    assert list(data.features) == ["colour", "price"]
    assert list(data.features["colour"].cat.categories) == ["red", "green"]
    assert data.target.tolist() == [1.5, 3.5, 2.5]


def test_a_download_is_kept(server):
    check_tiny(load("openml:77"))
    asked = list(server)
    check_tiny(load("openml:77"))

    assert "/77.arff" in asked
    assert server == asked
    assert [path.name for path in cache.section("openml").iterdir()] == ["77"]


def test_a_set_that_openml_does_not_have_is_the_users_mistake(server, forked):
    with pytest.raises(UsageError, match=r"openml:78: OpenML refused: .*Unknown dataset"):
        load("openml:78")
    assert list(cache.section("openml").iterdir()) == []


def test_a_ready_package_cache_needs_no_network_and_is_left_alone(tmp_path, forked):
    configure(tmp_path, "http://127.0.0.1:9")
    folder = ready_folder(tmp_path)
    url = "<oml:parquet_url>http://127.0.0.1:9/x.pq</oml:parquet_url>"
    (folder / "description.xml").write_text(DESCRIPTION.format(url="http://x", more=url))
    frame = pd.DataFrame({"id": [1, 2, 3], "size": [1.5, 3.5, 2.5], "price": [10.25, 20.5, 30.75]})
    colour = pd.Categorical(["green", "red", "red"], ["red", "green"])
    frame.insert(1, "colour", colour)
    frame.to_parquet(folder / "dataset_77.pq")

    check_tiny(load("openml:77"))

    assert sorted(path.name for path in folder.iterdir()) == ["dataset_77.pq", "description.xml"]


def test_a_broken_package_cache_is_an_error_and_is_not_deleted(tmp_path, forked):
    configure(tmp_path, "http://127.0.0.1:9")
    folder = ready_folder(tmp_path)
    (folder / "description.xml").write_text(DESCRIPTION.format(url="http://x", more=""))
    (folder / "dataset.arff").write_text("@relation broken\nnonsense\n")

    with pytest.raises(DataError, match="openml:77: the openml package failed:"):
        load("openml:77")

    assert (folder / "dataset.arff").is_file()
    assert list(cache.section("openml").iterdir()) == []


def test_without_a_network_one_line_says_what_to_do_and_is_not_slow_twice(
    tmp_path, forked, monkeypatch
):
    configure(tmp_path, "http://127.0.0.1:9")

    with pytest.raises(DataUnavailableError, match=r"OpenML cannot be reached; .* mirror"):
        load("openml:77")
    monkeypatch.setattr(openml_source, "_run", None)  # a second try would fail on this
    with pytest.raises(DataUnavailableError, match="openml:78 is not available"):
        load("openml:78")


def test_a_server_that_never_answers_is_given_up(monkeypatch):
    monkeypatch.setattr(openml_source, "REACH_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        assert not openml_source._reach(f"http://127.0.0.1:{silent.getsockname()[1]}/")


def test_an_id_is_a_whole_number():
    with pytest.raises(UsageError, match="openml:adult: an OpenML id is a whole number"):
        load("openml:adult")


def test_a_mirror_is_built_from_openml_and_read_to_the_same_values(server, forked, tmp_path):
    """A dataset that OpenML does not have fails alone; a second call fetches nothing again."""
    place = tmp_path / "mirror"

    built = list(build_mirror(place, ["openml:78", "openml:77", "synthetic:fried"]))
    direct, asked = load("openml:77"), list(server)
    mirrored = load("openml:77", mirrors=(place,))

    assert [(each.name, each.whole) for each in built] == [("78", False), ("77", True)]
    assert "OpenML refused" in built[0].detail
    check_tiny(mirrored)
    assert mirrored.digest == direct.digest
    cached = cache.find("openml", "77").path.read_bytes()
    assert (place / "77.parquet").read_bytes() == cached
    again = list(build_mirror(place, ["openml:77"]))
    assert [each.detail for each in again] == ["there already"]
    assert server == asked
