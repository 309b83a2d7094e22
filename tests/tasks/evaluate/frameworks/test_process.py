import json
import sys
import time
from pathlib import Path

import pytest

from leaseboard.algorithms.errors import LeaseboardError
from leaseboard.tasks.evaluate.frameworks import inside, process
from leaseboard.tasks.evaluate.frameworks.process import FrameworkProcess, GoneError, run_once
from leaseboard.tasks.processes.subprocesses import reusable_pids
from tests.played import STAND_IN

OURS = Path(sys.executable)
BUSY = "import time\nwhile time.process_time() < 0.3: pass"


@pytest.fixture
def start(tmp_path, monkeypatch):
    """Start a script in the place of `inside`, in our environment; end it after the test."""
    started = []

    def one(script, patience=60.0):
        file = tmp_path / "stand_in.py"
        file.write_text(STAND_IN + script)
        monkeypatch.setattr(inside, "__file__", str(file))
        fix = ": lower the budget"
        made = FrameworkProcess(OURS, "program", "more", who="it", patience=patience, fix=fix)
        started.append(made)
        return started[-1]

    yield one
    for each in started:
        each.close()


def test_it_answers_in_turn_and_what_it_prints_is_not_an_answer(start):
    echo = start("print('loud'); os.write(1, b'louder')\nwhile True: wire.send(wire.receive())")
    for message in (b"\n", b"", b"x" * 300_000):
        echo.send(message)

    assert [bytes(echo.receive()) for _ in range(3)] == [b"\n", b"", b"x" * 300_000]


def test_json_may_hold_arrays_of_numpy(start):
    echo = start("import numpy\nwire.write({'a': numpy.arange(2) / 3, 'b': numpy.int8(1)})")

    assert echo.receive() == b'{"a": [0.0, 0.3333333333333333], "b": 1}'


def test_a_program_that_ended_leaves_its_last_message(start):
    for script, message in (
        ("raise ValueError('no')", "it ended with exit code 1: ValueError: no"),
        ("print('ValueError: no rows'); print('Generation: 1it'); raise SystemExit(3)",
         "exit code 3: ValueError: no rows"),
        ("print('Exception: none fits\\nGeneration: 1it'); raise SystemExit(1)",
         "code 1: Exception: none fits"),
        ("raise SystemExit(4)", "exit code 4: no word"),
        ("os.kill(os.getpid(), 9)", "killed by SIGKILL"),
    ):  # fmt: skip
        with pytest.raises(GoneError, match=message):
            start(script).receive()


def test_nothing_that_steers_python_reaches_it_and_hashes_are_the_same(
    start, monkeypatch, tmp_path
):
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    said = (
        "wire.write([hash('a'), [n for n in os.environ if n.startswith('PYTHON')], sys.argv[2:]])"
    )
    first, second = (bytes(start(said).receive()) for _ in range(2))

    assert first == second
    assert first.endswith(b'["PYTHONHASHSEED"], ["program", "more"]]')


def test_closing_ends_its_children_and_removes_its_folder(start):
    made = start("import subprocess\n"
                 "child = subprocess.Popen(['sleep', '60'], start_new_session=True)\n"
                 "wire.write([child.pid, os.getcwd()]); time.sleep(60)")  # fmt: skip
    child, folder = json.loads(made.receive())
    assert made.pid not in reusable_pids()
    made.close()

    assert made.pid is None
    assert not Path(folder).exists()
    while Path(f"/proc/{child}").exists():  # killed, and waited for by the process that adopted it
        if "Z" in Path(f"/proc/{child}/stat").read_text().split():
            break
        time.sleep(0.01)


def test_the_cost_is_that_of_its_whole_life_and_of_its_children(tmp_path, monkeypatch):
    script = tmp_path / "stand_in.py"
    child = f"import subprocess; subprocess.run([sys.executable, '-c', {BUSY!r}])"
    script.write_text(f"{STAND_IN}wire.write(wire.read())\n{child}")
    monkeypatch.setattr(inside, "__file__", str(script))

    answer = run_once(OURS, "system", {"seed": 1}, {}, 60.0)

    assert answer["seed"] == 1
    assert answer["cpu_seconds"] >= 0.3
    assert answer["wall_seconds"] > 0


def test_every_program_is_started_by_its_path_and_hides_no_library():
    """With no arguments it ends at once, and says what is missing."""
    for name in ("stream_program", "table_program", "select_program"):
        with (
            FrameworkProcess(OURS, name, who="it") as made,
            pytest.raises(GoneError, match=r"TypeError: main\(\) missing"),
        ):
            made.receive()


def test_one_that_answers_and_does_not_end_is_ended(start, monkeypatch):
    monkeypatch.setattr(process, "_LOOK_SECONDS", 0.0)
    stays = start("wire.write(0); time.sleep(60)")
    stays.receive()
    monkeypatch.setattr(stays, "_patience", 0.1)

    with pytest.raises(LeaseboardError, match="it answered and does not end"):
        stays.finish()
