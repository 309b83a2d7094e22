from types import SimpleNamespace

import pytest

from leaseboard.tasks.evaluate.frameworks import inside

STATUS = "Name:\tpython\nVmPeak:\t  900000 kB\nVmHWM:\t  200000 kB\nVmRSS:\t  100000 kB\n"


def test_memory_is_in_the_unit_of_the_machine(monkeypatch, tmp_path):
    """On machines of other kinds, which say so much of the process and of its children."""
    assert 20 < inside.peak_memory_mb() < 20_000
    file = tmp_path / "status"
    for platform, status, own, children, millions in (
        ("linux", STATUS, 5_000_000, 100_000, 204.8),  # its parent had the five million
        ("linux", STATUS, 5_000_000, 300_000, 307.2),
        ("linux", None, 250_000, 100_000, 256.0),  # on a system without /proc
        ("darwin", None, 250_000_000, 100_000_000, 250.0),
        ("darwin", None, 250_000_000, 300_000_000, 300.0),
        ("freebsd14", None, 250_000, 300_000, 307.2),
    ):
        file.unlink(missing_ok=True)
        if status is not None:
            file.write_text(status)
        most = {inside.resource.RUSAGE_SELF: own, inside.resource.RUSAGE_CHILDREN: children}
        with monkeypatch.context() as patch:
            patch.setattr(inside, "_STATUS", file)
            patch.setattr(inside.sys, "platform", platform)
            patch.setattr(
                inside.resource,
                "getrusage",
                lambda who, most=most: SimpleNamespace(ru_maxrss=most[who]),
            )
            assert inside.peak_memory_mb() == pytest.approx(millions)


def test_a_systems_learners_are_in_a_file_next_to_the_program():
    for system, name in (
        ("river", "linear"),
        ("autovw", "stock"),
        ("capymoa", "hat"),
    ):
        assert name in inside.sibling(f"stream_{system}").LEARNERS
