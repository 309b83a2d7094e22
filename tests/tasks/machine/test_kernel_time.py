"""What compiles is counted apart from what it is compiled for."""

import time

import numpy as np

from leaseboard.algorithms import compilation
from leaseboard.algorithms.compilation import compiled
from leaseboard.tasks.machine.clocks import working_seconds
from leaseboard.tasks.machine.kernel_time import compile_seconds, measuring


def test_a_kernel_s_first_call_costs_no_working_time(monkeypatch, tmp_path):
    monkeypatch.setattr(compilation, "folder", lambda: tmp_path)

    @compiled
    def inner(values):
        return np.sort(values)[0]

    @compiled
    def outer(values):
        return inner(values) + inner(values[1:])

    before, (cpu, wall) = compile_seconds(), working_seconds()
    assert outer(np.arange(4.0)) == 1.0
    taken = [now - then for now, then in zip(compile_seconds(), before, strict=True)]
    worked = [now - then for now, then in zip(working_seconds(), (cpu, wall), strict=True)]
    assert min(taken) > 0.1  # it compiles for a second
    assert worked[0] < 0.5 * taken[0]
    again = compile_seconds()
    assert outer(np.arange(4.0)) == 1.0
    assert compile_seconds() == again


def test_what_is_within_is_counted_once_and_while_it_lasts():
    cpu, wall = compile_seconds()
    with measuring(), measuring():
        time.sleep(0.1)
        assert compile_seconds()[1] - wall >= 0.1
        assert compile_seconds()[0] == cpu
    assert 0.1 <= compile_seconds()[1] - wall < 60
    assert compile_seconds() == compile_seconds()
