from pathlib import Path
from types import SimpleNamespace

import pytest

from leaseboard.tasks.evaluate.peers import inside

STATUS = "Name:\tpython\nVmPeak:\t  900000 kB\nVmHWM:\t  200000 kB\nVmRSS:\t  100000 kB\n"


@pytest.fixture
def told(monkeypatch, tmp_path):
    """Makes this a machine of another kind, which tells so much of the process and of children."""

    def make(platform, own, children, status=None):
        file = tmp_path / "status"
        if status is not None:
            file.write_text(status)
        most = {inside.resource.RUSAGE_SELF: own, inside.resource.RUSAGE_CHILDREN: children}
        monkeypatch.setattr(inside, "_STATUS", file)
        monkeypatch.setattr(inside.sys, "platform", platform)
        monkeypatch.setattr(
            inside.resource, "getrusage", lambda who: SimpleNamespace(ru_maxrss=most[who])
        )

    return make


@pytest.mark.parametrize(
    ("platform", "status", "own", "children", "millions"),
    [
        ("linux", STATUS, 5_000_000, 100_000, 204.8),  # its parent had the five million
        ("linux", STATUS, 5_000_000, 300_000, 307.2),
        ("linux", None, 250_000, 100_000, 256.0),  # where there is no /proc
        ("darwin", None, 250_000_000, 100_000_000, 250.0),
        ("darwin", None, 250_000_000, 300_000_000, 300.0),
        ("freebsd14", None, 250_000, 300_000, 307.2),
    ],
)
def test_memory_is_in_the_unit_of_the_machine(told, platform, status, own, children, millions):
    told(platform, own, children, status)

    assert inside.peak_memory_mb() == pytest.approx(millions)


def test_the_memory_of_this_process_is_some_of_this_machines():
    assert 20 < inside.peak_memory_mb() < 20_000


@pytest.mark.parametrize(
    ("system", "name"),
    [("river", "linear"), ("samlb", "chacha"), ("autovw", "stock"), ("capymoa", "hat")],
)
def test_a_systems_learners_are_in_a_file_beside_the_program(system, name):
    assert name in inside.beside(f"stream_{system}").LEARNERS


def test_no_program_hides_a_library_of_the_same_name():
    command = inside.command(
        Path("python"), "leaseboard.tasks.evaluate.peers.table_program", "tpot", "here"
    )

    assert command == ["python", "-s", "-P", inside.__file__, "table_program", "tpot", "here"]
