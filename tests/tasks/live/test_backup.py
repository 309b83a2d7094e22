"""A live model in an archive: it goes on from there as if nothing had happened, or is refused."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import random
import shutil
import signal
import time
import zipfile
from datetime import timedelta

import pytest
from mlflow import MlflowClient

from leaseboard.algorithms.errors import LeaseboardError, UsageError
from leaseboard.tasks.live import backup
from leaseboard.tasks.live.lifecycle import LifecycleState
from leaseboard.tasks.live.publication import publish
from leaseboard.tasks.live.update import LiveModel
from leaseboard.tasks.store.live_model import State
from tests.tasks.live.shops import LATER
from tests.tasks.live.world import BEGIN, World, models

NOW = BEGIN + timedelta(days=30)


def live_of(world):
    return LiveModel.read(world.settings, world.state, world.home / "sales.yaml")


def learn(world, uri, first, last):
    for number in range(first, last + 1):
        if number:
            world.deliver(number, world.day(number))
        world.update(number, file=world.home / "sales.yaml", tracking_uri=uri)


def registered(uri):
    """Return all that the registry has of the live model but times and places."""
    client = MlflowClient(uri)
    versions = {
        int(each.version): (each.tags, each.description)
        for each in client.search_model_versions("name='sales'")
    }
    return versions, dict(client.get_registered_model("sales").aliases)


def rows_in(state):
    """Return the rows of each table but of what differs between two copies."""
    with state.connected() as connection:
        found = {
            name: sorted(map(tuple, connection.execute(table.select())), key=repr)
            for name, table in state.tables.items() if name not in ("files", "lifecycle")
        }  # fmt: skip
    found["history"] = [row for row in found["history"] if "imported" not in row]
    return found


@pytest.fixture
def stores(tmp_path, empty_store):
    """Return MLflow stores."""
    found = []
    for name in ("here", "there", "third", "fourth"):
        (tmp_path / name).mkdir()
        shutil.copy(empty_store, tmp_path / name / "mlflow.db")
        found.append(f"sqlite:///{tmp_path / name / 'mlflow.db'}")
    return found


@pytest.fixture
def trained(make_world, stores, without_pages):
    """Return a live model with five versions, of which the third is gone, and its archive."""
    world, here = make_world("world"), stores[0]
    learn(world, here, 0, 6)
    MlflowClient(here).delete_model_version("sales", "2")
    file = world.home / "sales.zip"
    manifest = backup.export(here, live_of(world), file, NOW)
    return world, file, manifest


def imported(file, uri, home, **given):
    """Return the world of an archive that was imported into a folder of its own."""
    found = World.__new__(World)
    found.home, found.rows, found.inbox = home, 20, home / "inbox"
    found.inbox.mkdir(parents=True, exist_ok=True)
    backup.restore(uri, file, NOW, home / "sales.yaml", home, **given)
    return found


@pytest.mark.slow
def test_it_goes_on_from_the_archive_as_if_nothing_had_happened(trained, stores, tmp_path):
    world, file, _ = trained
    here, there, *_ = stores
    other = imported(file, there, tmp_path / "other")
    assert rows_in(other.state) == rows_in(world.state)
    assert registered(there) == registered(here)
    assert registered(there)[0].keys() >= {1, 3}
    assert file.stat().st_mode & 0o777 == 0o600
    for each, uri in ((world, here), (other, there)):
        each.state.post([{"id": "7-1", "at": NOW.isoformat(), "label": "3.0"}])
        learn(each, uri, 7, 8)
    assert models(other) == models(world)
    assert other.roles() == world.roles()
    assert registered(there)[1] == registered(here)[1]


@pytest.mark.slow
@pytest.mark.postgresql
def test_any_database_goes_into_any_other(trained, stores, tmp_path, create_database):
    world, file, _ = trained
    before, texts = rows_in(world.state), (world.home / "sales.yaml").read_text()
    for name, uri in zip(("one", "two"), stores[1:3], strict=True):
        home = tmp_path / name
        home.mkdir()
        (home / "sales.yaml").write_text(f"{texts}state: {create_database(name)}\n")
        found = imported(file, uri, home)
        assert rows_in(found.state) == before
        assert found.state.posted() == [] or name == "two"
        found.state.post([{"id": "a", "at": NOW.isoformat(), "label": "3.0"}])
        assert found.state.posted()[-1][0] == len(found.state.posted())
        file = tmp_path / f"{name}.zip"
        backup.export(uri, live_of(found), file, NOW)
        before = rows_in(found.state)
    (tmp_path / "back").mkdir()
    (tmp_path / "back" / "sales.yaml").write_text(texts)
    back = imported(file, stores[3], tmp_path / "back")
    assert registered(stores[3]) == registered(stores[0])
    assert rows_in(back.state) == before


def test_a_number_that_was_given_is_never_given_again(shop, stores, tmp_path):
    here, there, *_ = stores
    live = shop.update().live
    live.settings.contract.write_text(shop.contract().to_yaml())
    shop.file.write_text(
        "name: sales\ndata: {source: 'folder:*.csv', time: day, id: order, target: revenue}\n"
        "contract: contract.yaml\n"
    )
    live.state.post([{"id": "a", "at": "2026-01-01", "label": "1.0"}] * 3)
    with live.state.connected() as connection:
        connection.exec_driver_sql("delete from keep_sales_posted")
    backup.export(here, live, tmp_path / "a.zip", NOW)
    found, _ = backup.restore(
        there, tmp_path / "a.zip", NOW, tmp_path / "b" / "sales.yaml", tmp_path / "b"
    )
    found.state.post([{"id": "a", "at": "2026-01-01", "label": "1.0"}])
    assert found.state.posted() == [(4, "a", "1.0")]


FILE_YAML = """\
name: sales
data: {source: "folder:*.csv", time: day, id: order, target: revenue}
contract: contract.yaml
"""


@pytest.fixture
def packed(shop, stores, tmp_path):
    """Return the live model of a shop, and its archive."""
    live = shop.update().live
    live.settings.contract.write_text(shop.contract().to_yaml())
    shop.file.write_text(FILE_YAML)
    publish(stores[0], live, LATER)
    backup.export(stores[0], live, tmp_path / "a.zip", NOW)
    return live, tmp_path / "a.zip"


class Forger:
    """The members of an archive, to be written again with digests and checksum that fit."""

    def __init__(self, file):
        self.file = file
        with zipfile.ZipFile(file) as archive:
            self.members = {name: archive.read(name) for name in archive.namelist()}
        self.manifest = json.loads(self.members.pop("manifest.json"))

    def write(self, *, listed=True):
        files = {
            name: {"sha256": hashlib.sha256(content).hexdigest(), "size": len(content)}
            for name, content in self.members.items()
        }
        if listed:
            self.manifest |= {"files": files, "checksum": ""}
            with contextlib.suppress(ValueError):
                made = backup.BackupManifest.model_validate_json(json.dumps(self.manifest))
                self.manifest["checksum"] = made.own_checksum
        with zipfile.ZipFile(self.file, "w") as archive:
            for name, content in self.members.items():
                archive.writestr(name, content)
            archive.writestr("manifest.json", json.dumps(self.manifest))


def line(number, /, **changes):
    """Return what changes values of a row of a table."""

    def change(content):
        lines = content.splitlines()
        names, values = json.loads(lines[0]), json.loads(lines[number])
        found = dict(zip(names, values, strict=True)) | changes
        lines[number] = json.dumps(list(found.values())).encode()
        return b"\n".join(lines) + b"\n"

    return change


def no_line(content):
    return content.splitlines()[0][:-1] + b"\n"


FORGED = [
    ("state/rows.jsonl", line(1, number="1"), "line 2 of rows has '1' as number"),
    ("state/rows.jsonl", line(1, number=2**63), "as number"),
    ("state/rows.jsonl", line(1, number=True), "has True as number"),
    ("state/rows.jsonl", line(1, id=None), "has None as id"),
    ("state/rows.jsonl", line(1, id="a\0b"), "as id"),
    ("state/rows.jsonl", line(1, more=1), "has not the 9 columns"),
    ("state/rows.jsonl", no_line, "line 1 of rows is not JSON"),
    ("state/rows.jsonl", lambda _: b'["id"]\n', "has not the 9 columns"),
    ("state/rows.jsonl", line(2, number=1), "UNIQUE constraint failed"),
    ("state/models.jsonl", line(1, content="AAAA"), "is not what was written"),
    ("state/models.jsonl", line(1, content="A"), "has 'A' as content"),
    ("state/lifecycle.jsonl", lambda text: text + b'["cases", "{"]\n', "is refused"),
    ("state/lifecycle.jsonl", lambda text: text + b'["cases", "3"]\n', "is refused"),
    ("versions/1/model", lambda _: b"no model", "the model of version 1"),
    ("registry.json", lambda _: b"{}", "'versions/1/model' is missing, or of no version"),
    ("registry.json", lambda _: b'{"aliases": {"champion": "1"}}', "registry.json: aliases"),
    ("live.yaml", lambda text: text.replace(b"name: sales", b"name: other"), "is of 'other', and"),
    ("live.yaml", lambda text: text + b"more: 1\n", "more"),
    ("live.yaml", lambda text: text.replace(b"contract.yaml", b"../c.yaml"), "is outside of its"),
    ("contract.yaml", lambda _: b"columns: 3", "contract.yaml"),
]


@pytest.mark.parametrize(("member", "change", "said"), FORGED)
def test_a_forged_archive_is_refused_in_a_line_and_changes_nothing(
    packed, stores, tmp_path, member, change, said
):
    forger = Forger(packed[1])
    forger.members[member] = change(forger.members[member])
    forger.write()
    _assert_refused(packed[1], stores[1], tmp_path, said)


def _assert_refused(file, uri, tmp_path, said):
    home = tmp_path / "b"
    with pytest.raises(LeaseboardError) as caught:
        backup.restore(uri, file, NOW, home / "sales.yaml", home)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 600
    if (home / "state.sqlite").exists():
        assert set(State(home / "state.sqlite", "sales").counts().values()) == {0}
    assert not MlflowClient(uri).search_model_versions("name='sales'")


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda f: f.manifest.update(state=4), "manifest.json: state"),
        (lambda f: f.manifest.update(format="leaseboard-live-2"), "manifest.json: format"),
        (lambda f: f.manifest.update(last={"rows": -1}), "manifest.json: last"),
        (lambda f: f.members.update({"state/../../etc.jsonl": b""}), "has no place in an archive"),
        (lambda f: f.members.update({"versions/7/model": b""}), "'versions/7/model' is missing"),
        (lambda f: f.members.pop("state/posted.jsonl"), "'state/posted.jsonl' is missing"),
    ],
)
def test_other_members_are_refused(packed, stores, tmp_path, spoil, said):
    forger = Forger(packed[1])
    spoil(forger)
    forger.write()
    _assert_refused(packed[1], stores[1], tmp_path, said)


def test_a_cut_or_edited_archive_is_refused(packed, stores, tmp_path):
    file, whole = packed[1], packed[1].read_bytes()
    for length in (0, 10, len(whole) // 2, len(whole) - 1):
        file.write_bytes(whole[:length])
        _assert_refused(file, stores[1], tmp_path, "is refused")
    file.write_bytes(whole)
    forger = Forger(file)
    forger.members["state/rows.jsonl"] += b"\n"
    forger.write(listed=False)
    _assert_refused(file, stores[1], tmp_path, "has not the size that the manifest says")
    forger.manifest["name"] = "others"
    forger.write(listed=False)
    _assert_refused(file, stores[1], tmp_path, "its manifest.json was changed after")
    with pytest.raises(UsageError, match="does not exist"):
        backup.restore(stores[1], tmp_path / "no.zip", NOW)


def test_what_is_there_is_replaced_only_if_asked(packed, stores, tmp_path):
    live, file = packed
    home = tmp_path / "b"
    backup.restore(stores[1], file, NOW, home / "sales.yaml", home)
    with pytest.raises(UsageError, match=r"holds \d+ rows of the live model 'sales': pass --rep"):
        backup.restore(stores[1], file, NOW, home / "sales.yaml", home)
    (home / "state.sqlite").unlink()
    with pytest.raises(UsageError, match="MLflow has versions of the live model 'sales': pass"):
        backup.restore(stores[1], file, NOW, home / "sales.yaml", home)
    found, _ = backup.restore(stores[1], file, NOW, home / "sales.yaml", home, replace=True)
    assert rows_in(found.state) == rows_in(live.state)
    assert registered(stores[1]) == registered(stores[0])
    assert [each.kind for each in found.state.history()][-1] == "imported"
    with pytest.raises(UsageError, match=r"is of the live model in .*: give yours another name"):
        backup.restore(stores[1], file, NOW, tmp_path / "c" / "sales.yaml", tmp_path / "c")


@pytest.mark.parametrize("step", ["_fill", "_publish"])
def test_an_import_that_was_killed_is_done_again(packed, stores, tmp_path, monkeypatch, step):
    live, file = packed
    home, whole = tmp_path / "b", getattr(backup, step)

    def stops(*given):
        if step == "_fill":
            monkeypatch.setattr(LifecycleState, "read", killed)
        else:
            monkeypatch.setattr(backup, "log", killed)
        whole(*given)

    def killed(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(backup, step, stops)
    with pytest.raises(KeyboardInterrupt):
        backup.restore(stores[1], file, NOW, home / "sales.yaml", home)
    monkeypatch.undo()
    is_empty = set(State(home / "state.sqlite", "sales").counts().values()) == {0}
    assert is_empty == (step == "_fill")
    found, _ = backup.restore(
        stores[1], file, NOW, home / "sales.yaml", home, replace=step == "_publish"
    )
    assert rows_in(found.state) == rows_in(live.state)
    assert registered(stores[1]) == registered(stores[0])


def test_two_imports_at_once_are_one(packed, stores, tmp_path, monkeypatch):
    live, file = packed
    home, whole, caught = tmp_path / "b", backup._fill, []

    def meanwhile(*given):
        monkeypatch.setattr(backup, "_fill", whole)
        with pytest.raises(UsageError, match="another update of the live model 'sales' is run"):
            backup.restore(stores[1], file, NOW, home / "sales.yaml", home, replace=True)
        caught.append(True)
        whole(*given)

    monkeypatch.setattr(backup, "_fill", meanwhile)
    found, _ = backup.restore(stores[1], file, NOW, home / "sales.yaml", home)
    assert caught == [True]
    assert rows_in(found.state) == rows_in(live.state)


@pytest.mark.parametrize("times", [1, 100])
def test_an_update_during_the_export_is_in_it_wholly_or_not_at_all(
    packed, stores, shop, tmp_path, monkeypatch, times
):
    live, _ = packed
    whole, calls = backup._published, []

    def meanwhile(*given):
        calls.append(1)
        if len(calls) < backup.ATTEMPTS and len(calls) <= times:  # the last holds the lock
            shop.update()
            publish(stores[0], live, LATER)
        return whole(*given)

    monkeypatch.setattr(backup, "_published", meanwhile)
    backup.export(stores[0], live, tmp_path / "b.zip", NOW)
    assert len(calls) == min(times + 1, backup.ATTEMPTS)
    found, _ = backup.restore(
        stores[1], tmp_path / "b.zip", NOW, tmp_path / "b" / "sales.yaml", tmp_path / "b"
    )
    assert rows_in(found.state) == rows_in(live.state)
    assert registered(stores[1]) == registered(stores[0])


def test_an_export_that_was_killed_leaves_the_old_archive(packed, stores, monkeypatch):
    live, file = packed
    before = file.read_bytes()

    def killed(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(backup, "_published", killed)
    with pytest.raises(KeyboardInterrupt):
        backup.export(stores[0], live, file, NOW)
    assert file.read_bytes() == before
    assert [each.name for each in file.parent.glob("*.part")] == []


@pytest.mark.slow
def test_a_kill_at_any_moment_leaves_the_old_archive_and_an_import_that_can_be_repeated(
    packed, stores, tmp_path
):
    live, file = packed
    home, moments = tmp_path / "b", random.Random(0)

    def killed(work, seconds):
        """Do the work in another process, which is killed after some seconds; return how long."""
        began = time.monotonic()
        if not (child := os.fork()):
            try:
                work()
            finally:
                os._exit(0)
        if seconds is not None:
            time.sleep(seconds)
            os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return time.monotonic() - began

    def export():
        backup.export(stores[0], live, file, NOW)

    def restore():
        backup.restore(stores[1], file, NOW, home / "sales.yaml", home, replace=True)

    before = rows_in(live.state), registered(stores[0])
    for work in (export, restore):
        whole = killed(work, None)
        for _ in range(8):
            killed(work, moments.uniform(0, whole))
            if work is export:
                with zipfile.ZipFile(file) as zipped:
                    assert zipped.testzip() is None
    export()
    assert list(file.parent.glob("*.part")) == []  # which hold rows
    found, _ = backup.restore(stores[1], file, NOW, home / "sales.yaml", home, replace=True)
    assert (rows_in(found.state), registered(stores[1])) == before
