"""What is handed to FLAML, and the one thing that is changed in it."""

from __future__ import annotations

import numpy as np
import pytest

from algorithms.benches.stream import Namespace, Stream
from algorithms.chacha.autovw import _Ordered, vw_lines


def test_lines_are_those_of_the_authors():
    stream = Stream(
        np.array([[0.5, 0.0, 3.25], [1.0, -2.0, 1e-7]], dtype=np.float32),
        np.array([1.5, -2.0], dtype=np.float32),
        (Namespace("a", 0, 1), Namespace("b", 1, 3)),
        ("x", "y", "z"),
    )

    assert list(vw_lines(stream)) == [
        "1.5 |a 0:0.500000|b 1:0.000000 2:3.250000",
        "-2.0 |a 0:1.000000|b 1:-2.000000 2:0.000000",
    ]


def test_running_models_keep_the_order_in_which_they_started():
    models = [object() for _ in range(20)]
    running = _Ordered(models[:10])
    running.remove(models[3])
    for model in models[9:]:
        running.add(model)

    assert list(running) == models[:3] + models[4:]
    assert models[3] not in running
    with pytest.raises(KeyError):
        running.remove(models[3])
