import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from algorithms.errors import LeaseboardError
from tasks.evaluate.trials.store import TrialFile

ROOT = Path(__file__).resolve().parents[4]
KEY = {"data": "abc", "seed": 1}

EXTEND = """
import os, sys, time
from pathlib import Path
from tasks.evaluate.trials.store import TrialFile
file = TrialFile(Path(sys.argv[1]), {"data": "abc", "seed": 1})
while len(file) < int(sys.argv[2]):
    file.extend(lambda n: (time.sleep(0.002), {"n": n, "by": os.getpid()})[1])
"""

HANG = """
import sys, time
from pathlib import Path
from tasks.evaluate.trials.store import TrialFile
file = TrialFile(Path(sys.argv[1]), {"data": "abc", "seed": 1})
def hang(n):
    print("locked", flush=True)
    time.sleep(600)
file.refresh()
file.extend(hang)
"""


def started(code, *arguments):
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


def numbers(folder):
    file = TrialFile(folder, KEY)
    file.refresh()
    return [file[i]["n"] for i in range(len(file))]


def test_records_come_back_in_order_in_another_object(tmp_path):
    file = TrialFile(tmp_path, KEY)
    for _ in range(3):
        assert file.extend(lambda n: {"n": n, "reward": 0.1 * n})

    again = TrialFile(tmp_path, KEY)
    again.refresh()
    assert [again[i] for i in range(3)] == [{"n": i, "reward": 0.1 * i} for i in range(3)]


def test_the_first_line_says_what_the_trials_depend_on(tmp_path):
    file = TrialFile(tmp_path, KEY)
    file.extend(lambda n: {"n": n})

    said = file.path.read_text().splitlines()[0].rpartition("\t")[0]
    assert json.loads(said) == {"key": KEY}


def test_another_key_is_another_file(tmp_path):
    assert TrialFile(tmp_path, KEY).path != TrialFile(tmp_path, {**KEY, "seed": 2}).path


def test_processes_at_once_lose_and_repeat_nothing(tmp_path):
    workers = [started(EXTEND, tmp_path, 60) for _ in range(3)]
    for worker in workers:
        worker.communicate()
    assert [worker.returncode for worker in workers] == [0, 0, 0]

    assert numbers(tmp_path) == list(range(60))


def test_threads_at_once_lose_and_repeat_nothing(tmp_path):
    def extend(_):
        file = TrialFile(tmp_path, KEY)
        while len(file) < 40:
            file.extend(lambda n: {"n": n})

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(extend, range(4)))

    assert numbers(tmp_path) == list(range(40))


def test_a_waiting_process_takes_what_the_other_one_computed(tmp_path):
    mine, other = TrialFile(tmp_path, KEY), TrialFile(tmp_path, KEY)
    other.extend(lambda n: {"n": n})

    assert not mine.extend(lambda _: pytest.fail("computed twice"))
    assert mine[0] == {"n": 0}


def test_a_killed_holder_frees_the_lock_and_loses_nothing(tmp_path):
    TrialFile(tmp_path, KEY).extend(lambda n: {"n": n})
    holder = started(HANG, tmp_path)
    assert holder.stdout.readline() == "locked\n"
    holder.send_signal(signal.SIGKILL)
    holder.communicate()
    begin = time.perf_counter()

    file = TrialFile(tmp_path, KEY)
    file.refresh()
    assert file.extend(lambda n: {"n": n})
    assert time.perf_counter() - begin < 5
    assert numbers(tmp_path) == [0, 1]


@pytest.mark.parametrize("rest", [b'{"n":1,"rew', b"", b'{"n":1}'])
def test_a_line_without_an_end_is_cut_off(tmp_path, rest):
    file = TrialFile(tmp_path, KEY)
    file.extend(lambda n: {"n": n})
    with file.path.open("ab") as raw:
        raw.write(rest)

    again = TrialFile(tmp_path, KEY)
    again.refresh()
    assert len(again) == 1
    again.extend(lambda n: {"n": n})
    assert numbers(tmp_path) == [0, 1]


def test_a_head_without_an_end_starts_afresh(tmp_path):
    file = TrialFile(tmp_path, KEY)
    file.path.parent.mkdir(parents=True)
    file.path.write_bytes(b'{"key"')
    file.extend(lambda n: {"n": n})

    assert numbers(tmp_path) == [0]


def test_a_failure_of_the_computation_appends_nothing(tmp_path):
    file = TrialFile(tmp_path, KEY)
    with pytest.raises(ZeroDivisionError):
        file.extend(lambda _: {"n": 1 / 0})
    file.extend(lambda n: {"n": n})

    assert numbers(tmp_path) == [0]


def changed(change):
    def damage(path):
        head, *lines = path.read_bytes().splitlines(keepends=True)
        path.write_bytes(b"".join(change(head, lines)))

    return damage


def a_folder(path):
    path.unlink()
    path.mkdir()
    (path / "inside").touch()


DAMAGES = {
    "another key": changed(lambda _, lines: [b'{"key":{}}\t00000000\n', *lines]),
    "no head": changed(lambda _, lines: lines),
    "garbage lines": changed(lambda head, lines: [head, lines[0], b"\xff\x00what?\n", *lines[1:]]),
    "cut in the middle": changed(lambda head, lines: [head, lines[0][:9], *lines[1:]]),
    "random bytes": changed(lambda head, lines: [head, *lines[:2], os.urandom(99), *lines[2:]]),
    "another digit": changed(
        lambda head, lines: [head, *lines[:3], lines[3].replace(b'"n":3', b'"n":4'), lines[4]]
    ),
    "a folder": a_folder,
}


def filled(folder, count=5):
    file = TrialFile(folder, KEY)
    for _ in range(count):
        file.extend(lambda n: {"n": n, "reward": 0.1 * n})
    return file


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
@pytest.mark.parametrize("first", ["refresh", "extend"])
def test_a_damaged_file_is_named_set_aside_and_made_anew(tmp_path, damage, first, caplog):
    path = filled(tmp_path).path
    damage(path)
    file = TrialFile(tmp_path, KEY)
    if first == "refresh":
        file.refresh()
        assert len(file) == 0
    while len(file) < 5:
        file.extend(lambda n: {"n": n})

    assert numbers(tmp_path) == [0, 1, 2, 3, 4]
    kept = path.with_name(f"{path.name}.damaged-1")
    assert kept.exists()
    assert f"{path} is damaged: kept as {kept}" in caplog.text


@pytest.mark.parametrize("size", [0, 10, 200])
def test_a_file_cut_short_is_continued(tmp_path, size):
    path = filled(tmp_path).path
    os.truncate(path, size)
    filled(tmp_path, 6)

    assert numbers(tmp_path)[:5] == [0, 1, 2, 3, 4]
    assert not list(tmp_path.rglob("*.damaged-*"))


def test_who_has_read_a_file_takes_the_one_that_was_made_anew(tmp_path):
    reader = filled(tmp_path)
    DAMAGES["no head"](reader.path)
    filled(tmp_path, 3)
    reader.refresh()

    assert len(reader) == 3
    assert reader.extend(lambda n: {"n": n})
    assert numbers(tmp_path) == [0, 1, 2, 3]


def test_processes_that_find_it_damaged_at_once_lose_and_repeat_nothing(tmp_path):
    DAMAGES["no head"](filled(tmp_path).path)
    workers = [started(EXTEND, tmp_path, 30) for _ in range(3)]
    for worker in workers:
        worker.communicate()

    assert numbers(tmp_path) == list(range(30))
    assert len(list(tmp_path.rglob("*.damaged-*"))) == 1


def test_a_file_without_permission_is_one_line_with_the_mend(tmp_path, forbidden):
    path = filled(tmp_path).path
    with forbidden(path), pytest.raises(LeaseboardError) as caught:
        TrialFile(tmp_path, KEY).refresh()

    assert str(path) in str(caught.value)
    assert "Permission denied: mend that, or name another cache" in str(caught.value)
    assert numbers(tmp_path) == [0, 1, 2, 3, 4]
