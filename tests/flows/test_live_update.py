"""``leaseboard live``: from a folder of files to a live model, by the command line."""

import shutil
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest
from mlflow import MlflowClient

from leaseboard.algorithms.errors import UsageError
from leaseboard.flows.commands import live
from leaseboard.flows.live_update import page_link
from leaseboard.tasks.live.model import state_of
from tests.tasks.live.world import BEGIN, World


@pytest.fixture
def world(tmp_path, empty_store):
    (tmp_path / "mlruns").mkdir()
    shutil.copy(empty_store, tmp_path / "mlruns" / "mlflow.db")
    return World(tmp_path)


def at(number: int) -> str:
    return (BEGIN + timedelta(days=number + 1, hours=4)).isoformat()


@pytest.mark.parametrize(
    ("named", "store", "link"),
    [
        ("", "sqlite:///m.db", "file:///home/sales/report.html"),
        ("", "http://u:p@mlflow:5000", "http://mlflow:5000/#/models/sales"),
        ("https://ui.example/", "sqlite:///m.db", "https://ui.example/#/models/sales"),
    ],
)
def test_notifications_link_to_what_others_can_open(monkeypatch, named, store, link):
    monkeypatch.setenv("MLFLOW_UI_URL", named)
    assert page_link(SimpleNamespace(name="sales"), Path("/home/sales"), store) == link


def test_from_files_to_a_first_update(call, tmp_path, world):
    (tmp_path / "sales.yaml").unlink()
    (tmp_path / "contract.yaml").unlink()
    code, out, _ = call("live", "init", "shop.yaml", "--files", "inbox/*.csv", "--target",
                        "revenue", "--id-column", "order")  # fmt: skip
    assert code == 0
    assert "time when, id order, target revenue" in out
    assert (tmp_path / "shop.contract.yaml").is_file()
    code, out, _ = call("live", "update", "shop.yaml", "--local", "--at", at(0))
    assert code == 0
    assert "000.csv: 60 new, 60 labels" in out
    assert (tmp_path / "runs" / "live" / "shop" / "state.sqlite").is_file()
    assert (tmp_path / "runs" / "live" / "shop" / "report.html").is_file()
    client = MlflowClient(f"sqlite:///{tmp_path / 'mlruns' / 'mlflow.db'}")
    assert set(client.get_registered_model("shop").aliases) == {"champion"}
    assert call("live", "update", "shop.yaml", "--local", "--at", at(0))[0] == 3, "nothing came"
    code, out, _ = call("live", "status", "shop.yaml")
    assert code == 0
    assert "online-automl" in out


def test_every_command_takes_a_file_of_any_name(call, world, monkeypatch):
    for name in ("linked.yml", "linked"):
        Path(name).symlink_to("sales.yaml")
    assert call("live", "update", "sales.yaml", "--local", "--at", at(0))[0] == 0
    monkeypatch.setattr(live, "listening", lambda *_: (_ for _ in ()).throw(UsageError("here")))
    more = {"forget": ["--id", "0-1", "--reason", "test"], "update": ["--local"]}
    commands = {each.name for each in live.app.registered_commands} - {"init"}
    assert commands >= {"serve", "status", "promote", "forget"}
    for each in commands - {"forget"}:
        file, *others = (
            call("live", each, model, *more.get(each, ()))
            for model in ("sales.yaml", "linked.yml", "linked")
        )
        assert [other[::2] for other in others] == [file[::2]] * 2, each
    assert call("live", "forget", "linked", *more["forget"])[0] == 0
    code, _, err = call("live", "status", "sole")
    assert (code, "'sole'" in err, len(err.strip().splitlines())) == (64, True, 1)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("update", "nowhere.yaml"), "as `leaseboard live init` writes it"),
        (("init", "nowhere.yaml"), "give --files"),
        (("init", "sales.yaml", "--files", "x/*.csv"), "--files is for a new file"),
        (("update", "sales.yaml", "--at", "yesterday"), "for '--at': "),
        (("init", "sales.yaml"), "exists, and is yours"),
        (("init", "9.yaml", "--files", "inbox/*.csv", "--target", "revenue"), "begin with a"),
        (("init", "new.yaml", "--files", "inbox/*.csv", "--target", "revenu"), "revenue"),
        (("init", "new.yaml", "--files", "outbox/*.csv", "--target", "revenue"), "outbox"),
    ],
)
def test_wrong_usage_is_one_line(call, world, arguments, said):
    code, _, err = call("live", *arguments)
    assert not Path("new.yaml").exists(), "what is wrong leaves no file behind"
    assert code == 64
    assert said in err
    assert len(err.strip().splitlines()) == 1


def test_a_challenger_is_promoted_by_hand_on_evidence_or_anyway(call, tmp_path, world):
    file = tmp_path / "sales.yaml"
    file.write_text(file.read_text().replace("every: 5d", "rows: 60"))
    for number in range(1, 5):
        world.deliver(number, world.day(number))
    assert call("live", "update", "sales.yaml", "--local", "--at", at(4))[0] == 0
    code, out, _ = call("live", "promote", "sales.yaml")
    assert code == 1
    assert "stays challenger: evidence" in out
    assert "20 decides" in out
    state = state_of(world.settings, tmp_path / "runs" / "live" / "sales")
    with state.update_lock():
        code, _, err = call("live", "promote", "sales.yaml", "--force")
    assert code
    assert len(err.strip().splitlines()) == 1
    code, out, _ = call("live", "promote", "sales.yaml", "--force")
    assert code == 0
    assert "is champion now: evidence" in out
    client = MlflowClient(f"sqlite:///{tmp_path / 'mlruns' / 'mlflow.db'}")
    version = client.get_model_version_by_alias("sales", "champion")
    assert version.tags["leaseboard.candidate"] == "4"
    code, _, err = call("live", "promote", "sales.yaml")
    assert code == 64
    assert "has no challenger" in err
    with state.update_lock():
        code, _, err = call("live", "rollback", "sales.yaml")
    assert code
    assert len(err.strip().splitlines()) == 1
    assert client.get_model_version_by_alias("sales", "champion").version == version.version
    page = tmp_path / "runs" / "live" / "sales" / "report.html"
    assert call("live", "rollback", "sales.yaml")[0] == 0
    assert "in place of 4: by hand" in page.read_text()
    version = client.get_model_version_by_alias("sales", "champion")
    assert version.tags["leaseboard.candidate"] != "4"
