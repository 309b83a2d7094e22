import gzip

import pytest

from leaseboard.algorithms.errors import LeaseboardError
from leaseboard.algorithms.events import Measured, Started
from leaseboard.algorithms.log_format import LogWriter, read_log
from leaseboard.tasks.folder import event_logs, results

START = Started(at=0, algorithm="a", environment="stream", unit="examples", budget=200,
                capacity=None,
                seed=1, settings={})  # fmt: skip


def cut(tmp_path, events=100, keep=0.7):
    path = tmp_path / results.EVENTS
    with LogWriter(path) as log:
        log(START)
        for at in range(1, events):
            log(Measured(at=at, value=at / 7))
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * keep)])
    return path


def test_whole_lines_survive_a_cut(tmp_path):
    path = cut(tmp_path)
    kept = event_logs.repair_log(path)

    assert 32 <= kept < 100
    assert [event.at for event in read_log(path)] == list(range(kept))


def test_a_whole_log_is_left_alone_and_an_empty_or_absent_one_has_no_events(tmp_path):
    path = cut(tmp_path, keep=1)
    before = path.read_bytes()

    assert event_logs.repair_log(path) == 100
    assert path.read_bytes() == before
    assert event_logs.repair_log(tmp_path / "absent") == 0
    assert event_logs.repair_log(cut(tmp_path, keep=0)) == 0


def test_something_else_is_not_taken_for_a_log(tmp_path):
    path = tmp_path / results.EVENTS
    path.write_bytes(b"not gzip at all")

    with pytest.raises(LeaseboardError, match="is not an event log"):
        event_logs.read_partial_log(path)
    assert event_logs.repair_log(path) == 0
    assert not path.exists()


@pytest.mark.parametrize("tail", [b"no gzip", gzip.compress(b"hello\n", mtime=0)])
def test_events_before_the_damage_are_kept(tmp_path, tail):
    path = cut(tmp_path, keep=1)
    path.write_bytes(path.read_bytes() + tail)

    assert event_logs.repair_log(path) == 100
    assert len(list(read_log(path))) == 100
    assert [file.name for file in tmp_path.iterdir()] == [results.EVENTS]


def test_a_full_disk_leaves_the_log_as_cut(tmp_path, monkeypatch):
    path = cut(tmp_path)
    before = path.read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(event_logs, "write_log", full)

    assert 32 <= event_logs.repair_log(path) == len(event_logs.read_partial_log(path)) < 100
    assert path.read_bytes() == before
