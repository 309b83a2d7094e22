import sys
from pathlib import Path

import pytest

from leaseboard.algorithms.errors import LeaseboardError
from leaseboard.tasks.evaluate import framework_program
from leaseboard.tasks.evaluate.frameworks import FrameworkProcess, GoneError
from tests.played import STAND_IN

OURS = Path(sys.executable)


@pytest.fixture
def start(tmp_path, monkeypatch):
    """Start a script in the place of `framework_program`, in our environment; end it after."""
    started = []

    def one(script, patience=60.0):
        file = tmp_path / "stand_in.py"
        file.write_text(STAND_IN + script)
        monkeypatch.setattr(framework_program, "__file__", str(file))
        fix = ": lower the budget"
        made = FrameworkProcess(OURS, "program", "more", who="it", patience=patience, fix=fix)
        started.append(made)
        return made

    yield one
    for each in started:
        each.close()


def test_it_answers_in_turn_and_what_it_prints_is_not_an_answer(start):
    echo = start("print('loud'); os.write(1, b'louder')\nwhile True: wire.send(wire.recv())")
    for message in (1, None, "x" * 300_000):
        echo.send(message)

    assert [echo.receive() for _ in range(3)] == [1, None, "x" * 300_000]


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("print('ValueError: no rows'); print('Generation: 1it'); raise SystemExit(3)",
         "exit code 3: ValueError: no rows"),
        ("raise SystemExit(4)", "exit code 4: no word"),
        ("os.kill(os.getpid(), 9)", "killed by SIGKILL"),
    ],
)  # fmt: skip
def test_a_program_that_ended_leaves_its_last_message(start, script, message):
    with pytest.raises(GoneError, match=message):
        start(script).receive()


def test_one_that_takes_too_long_is_ended_with_the_fix(start):
    with pytest.raises(LeaseboardError, match=r"it: over the limit of 0.1 s.*: lower the budget"):
        start("time.sleep(60)", patience=0.1).receive()


def test_nothing_that_steers_python_reaches_it_and_hashes_are_the_same(
    start, monkeypatch, tmp_path
):
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    said = (
        "wire.send([hash('a'), [n for n in os.environ if n.startswith('PYTHON')], sys.argv[2:]])"
    )
    first, second = (start(said).receive() for _ in range(2))

    assert first == second
    assert first[1:] == [["PYTHONHASHSEED"], ["program", "more"]]
