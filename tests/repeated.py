"""Calls that a service makes again and again, and what each of them may leave behind: nothing."""

import gc
from pathlib import Path

import pytest

WARM = 3
"""Calls that fill the caches: of imports, of compiled code, of connections."""
REPEATED = pytest.mark.parametrize("times", [4])
SLACK_MB = 40
"""What an allocator may keep, and members of a model until their windows are full: 26 MB after 50
updates, and no more after 100. A call on 60 rows that leaves a worker, a table or a model behind
has more than this after 50."""


def open_files():
    gc.collect()
    return len(list(Path("/proc/self/fd").iterdir()))


def resident_mb():
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 2**20


def assert_flat(call, times, warm=WARM):
    """Assert that `call`, given the numbers of its calls, leaves no file open and no memory."""
    for number in range(warm):
        call(number)
    files, memory = open_files(), resident_mb()
    for number in range(warm, warm + times):
        call(number)

    left = open_files()
    assert left <= files, f"{left} files are open, and {files} were before {times} calls"
    grown = resident_mb() - memory
    assert grown < SLACK_MB, f"{grown:.0f} MB more after {times} calls"
