import sys

import pytest

from leaseboard.algorithms.errors import LeaseboardError
from leaseboard.tasks.evaluate.peers.apart import run_apart


def run(folder, program, patience=60.0):
    return run_apart([sys.executable, "-I", "-c", program], "ours", folder, patience)


def test_the_cost_is_measured_from_outside_with_all_children(tmp_path):
    busy = "import time\nwhile time.process_time() < {0}: pass"
    child = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {busy.format(0.3)!r}])"

    spent = run(tmp_path, child)

    assert spent.cpu_seconds >= 0.3
    assert spent.wall_seconds > 0


def test_the_last_word_is_the_error_and_not_what_threads_say_after_it(tmp_path):
    program = "print('ValueError: no rows'); print('Generation: 1it'); raise SystemExit(3)"

    with pytest.raises(LeaseboardError, match="ours ended with exit code 3: ValueError: no rows"):
        run(tmp_path, program)
    with pytest.raises(LeaseboardError, match="exit code 4: no word"):
        run(tmp_path, "raise SystemExit(4)")


def test_a_plain_exception_is_the_last_word_too(tmp_path):
    program = "print('Exception: none of them fits\\nGeneration: 1it'); raise SystemExit(1)"

    with pytest.raises(LeaseboardError, match="code 1: Exception: none of them fits"):
        run(tmp_path, program)


def test_hashes_of_texts_are_the_same_in_every_process(tmp_path):
    for name in ("one", "two"):
        program = f"open({name!r}, 'w').write(str(hash('a text')))"
        run_apart([sys.executable, "-s", "-P", "-c", program], "ours", tmp_path, 60.0)

    assert (tmp_path / "one").read_text() == (tmp_path / "two").read_text()


def test_what_takes_too_long_is_ended(tmp_path):
    with pytest.raises(LeaseboardError, match=r"ours: over the limit of 0\.5 s of wall time"):
        run(tmp_path, "import time; time.sleep(60)", patience=0.5)
