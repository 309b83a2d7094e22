"""The command that measures imports measures what it says."""

from benchmarks import imports


def test_more_work_is_more_cpu_and_the_file_is_there():
    spin = "open('small.csv').readline(); sum(range(10**7))"
    found = imports.measure(["pass", spin], turns=1)

    assert 0 < found["pass"] < found[spin]
