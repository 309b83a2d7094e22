"""The memory of a selection, measured in a process of its own."""

from __future__ import annotations

import re
import subprocess
import sys

from benchmarks.memory import Memory


def test_the_peak_is_counted_in_arrays_beyond_the_program():
    found = Memory(program=100, array=50, peak=225, probe=25)
    assert (found.arrays, found.arrays_with_probe) == (2.5, 3.0)


def test_a_generated_set():
    data = "synthetic:separated?rows=20000&features=25"  # so that a probe lasts many looks
    command = [sys.executable, "-m", "benchmarks.memory", data, "--configurations", "3"]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    sizes = {name: float(size) for name, size in re.findall(r"(\w+) +([\d.]+) MB", text)}
    assert sizes["array"] == 2.0  # 20,000 rows of 25 times four bytes, in MB
    assert sizes["peak"] > sizes["program"] > 50
    assert sizes["probe"] > 1
