"""A kernel that was just compiled and the same one from the cache give the same bits."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]

PROGRAM = """
import sys
import numpy as np
from scipy import sparse
from leaseboard.algorithms.apple import hashed, plan
from leaseboard.algorithms.apple.apple import Apple
from leaseboard.algorithms.base import play
from leaseboard.algorithms.environments.holdout import Holdout, HoldoutEnvironment, Part

kernel = sys.argv[1]
x = np.random.default_rng(0).normal(size=(900, 9)).astype(np.float32)
rows = x if kernel == "plan" else sparse.csr_array(x)
part = Part(rows, x[:, 0] * x[:, 1] + x[:, 2])
environment = HoldoutEnvironment(Holdout(part, part, tuple("abcdefghi")))
run = play("apple", Apple(), environment, 0)
events = []
while True:
    try:
        events.append(next(run))
    except StopIteration as stop:
        learner = stop.value
        break
weights = np.array([weight for _, weight in learner.weights()])
module = {"plan": plan, "hashed": hashed}[kernel]
hits = sum(sum(f.stats.cache_hits.values()) for f in (module._learn, module._predict))
print(hits)
print(events)
print(learner.totals.tobytes().hex(), weights.tobytes().hex())
"""


@pytest.mark.parametrize("kernel", ["plan", pytest.param("hashed", marks=pytest.mark.slow)])
def test_compiled_and_cached_kernels_give_the_same_bits(kernel, tmp_path):
    environment = os.environ | {"LEASEBOARD_CACHE": str(tmp_path), "PYTHONPATH": str(ROOT)}

    (fresh_hits, *fresh), (cached_hits, *cached) = (
        subprocess.run(
            [sys.executable, "-c", PROGRAM, kernel],
            env=environment, capture_output=True, text=True, check=True,
        ).stdout.splitlines()
        for _ in range(2)
    )  # fmt: skip

    assert (fresh_hits, cached_hits) == ("0", "2")
    assert fresh == cached
