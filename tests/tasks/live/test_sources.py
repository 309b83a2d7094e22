import os
import socket
from pathlib import Path

import pytest

from leaseboard.tasks.live import rows
from leaseboard.tasks.live.settings import DataSettings


@pytest.fixture
def inbox(tmp_path):
    folder = tmp_path / "in[box]"
    folder.mkdir()
    return folder


@pytest.fixture
def update(inbox):
    """Return a function that takes in all that is pending, and returns its batches."""
    pattern = str(inbox / "**" / "*.csv").replace("[", "[[]", 1)
    data, taken = DataSettings(source=f"folder:{pattern}", target="y"), set()

    def update():
        batches = []
        for batch in rows.pending(data, taken.__contains__):
            batches.append(batch)
            if batch.frame is not None:
                taken.add(batch.digest)
        return batches

    return update


def names(batches):
    return [batch.name for batch in batches]


def test_each_file_comes_once_in_the_order_of_names(inbox, update):
    for name in ("b.csv", "a.csv", "late/c.csv"):
        (inbox / name).parent.mkdir(exist_ok=True)
        (inbox / name).write_text(f"x,y\n1,{len(name)}\n{name},2\n")

    assert names(update()) == ["a.csv", "b.csv", "late/c.csv"]
    assert update() == []


def test_a_repeated_file_is_not_a_batch_and_one_that_grew_is_a_new_one(inbox, update):
    (inbox / "a.csv").write_text("x,y\n1,2\n")
    update()
    (inbox / "again.csv").write_text("x,y\n1,2\n")
    with (inbox / "a.csv").open("a") as file:
        file.write("3,4\n")

    batches = update()

    assert names(batches) == ["a.csv"]
    assert batches[0].frame["x"].tolist() == [1, 3]


def test_what_cannot_be_read_is_reported_and_the_others_go_on(inbox, update):
    (inbox / "a.csv").write_text("x,y\n1,2\n3\n")
    (inbox / "b.csv").write_text("x,y\n1,2\n3,4")
    (inbox / "c.csv").write_text("")
    (inbox / "d.csv").write_text("x,y\n1,2\n")

    *broken, whole = update()

    assert names([whole]) == ["d.csv"]
    assert [batch.name for batch in broken] == ["a.csv", "b.csv", "c.csv"]
    for batch, reason in zip(
        broken, ("malformed csv", "last line has no end", "0 rows"), strict=True
    ):
        assert batch.frame is None
        assert reason in batch.fault
        assert "\n" not in batch.fault


def test_what_is_not_a_file_is_reported_and_the_others_are_taken_in(inbox, update):
    (inbox / "loop.csv").symlink_to("loop.csv")
    (inbox / "deep.csv" / "in").mkdir(parents=True)
    (inbox / "way").symlink_to(".")
    os.mkfifo(inbox / "pipe.csv")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(inbox / "socket.csv"))
    (inbox / os.fsdecode(b"na\xefve.csv")).write_text("x,y\n1,2\n")
    (inbox / "z.csv").write_text("x,y\n1,2\n")

    *broken, whole = update()

    assert names([whole]) == ["z.csv"]
    assert {each.name: each.fault.removeprefix(f"{inbox}/") for each in broken} == {
        "deep.csv": "deep.csv: is not a file: remove it, or narrow data.source",
        "loop.csv": "loop.csv: is not a file: remove it, or narrow data.source",
        "na\\xefve.csv": "na\\xefve.csv: its name is not UTF-8: rename it",
        "pipe.csv": "pipe.csv: is not a file: remove it, or narrow data.source",
        "socket.csv": "socket.csv: is not a file: remove it, or narrow data.source",
    }


@pytest.mark.parametrize("at", ["file_digest", "read"])
def test_a_file_that_vanishes_while_it_is_listed_or_read_is_passed_over(
    inbox, update, monkeypatch, at
):
    for name in ("a.csv", "b.csv"):
        (inbox / name).write_text(f"x,y\n1,{len(name)}\n{name},1\n")
    owner = rows.dataset if at == "file_digest" else rows.files
    known = getattr(owner, at)

    def vanish(path, **given):
        if str(path).endswith("a.csv"):
            Path(path).unlink()
        return known(path, **given)

    monkeypatch.setattr(owner, at, vanish)
    assert names(update()) == ["b.csv"]
