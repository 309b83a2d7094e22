"""Our exponential, logarithm, sine and cosine: accuracy, and the same bits on every processor."""

import math
import os
import subprocess
import sys

import numpy as np
import pytest

from leaseboard import kernels
from leaseboard.algorithms.transcendental import MOST_RADIANS, cos, exp, log, log1p, sin_all

SIZES = np.concatenate([10.0 ** np.arange(-300, 4), np.linspace(0.1, 800, 2000)])
WIDE = np.concatenate([SIZES, -SIZES, [709.782712893384, 709.7827128933841, -745.13, -745.14]])
NEAR = np.linspace(-0.999, 2.5, 9999)
TURNS = (
    np.linspace(-10, 10, 9999),
    np.linspace(-MOST_RADIANS, MOST_RADIANS, 9999),
    np.arange(-40_000, 40_000) * (math.pi / 2),
)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    ("ours", "exact", "values"),
    [
        *((exp, np.exp, values) for values in (WIDE, NEAR)),
        *((log, np.log, np.abs(values)) for values in (WIDE, NEAR, 2.0 ** np.arange(-1074, 1024))),
        *((log1p, np.log1p, values) for values in (SIZES, NEAR)),
        *((cos, np.cos, values) for values in TURNS),
        *((sin_all, np.sin, values) for values in TURNS),
    ],
)
def test_a_result_is_within_one_unit_in_the_last_place(ours, exact, values):
    wanted = exact(values.astype(np.longdouble))
    found = np.array([ours(value) for value in values.tolist()])
    nearest = wanted.astype(np.float64)
    finite = np.isfinite(nearest)
    unit = np.spacing(np.abs(nearest[finite]))
    assert (np.abs(found[finite] - wanted[finite]) <= unit).all()
    assert (found[~finite] == nearest[~finite]).all()


LEARNED = """
import hashlib, os
import numpy as np
from leaseboard import kernels
if "VARIANT" in os.environ:
    kernels.variant = lambda: os.environ["VARIANT"]
from leaseboard.algorithms.apple.apple import Apple
from leaseboard.algorithms.online_automl.streaming import (
    OnlineAutoMLClassifier, OnlineAutoMLRegressor,
)
from leaseboard.algorithms.checks import tiny_environment
rng = np.random.default_rng(0)
X = rng.random((400, 5)).astype(np.float32)
y = (X[:, 0] * X[:, 1] + X[:, 2] ** 2 + 0.1 * rng.random(400)).round(3)
digest = hashlib.sha256()
for model, labels in ((OnlineAutoMLRegressor(), y), (OnlineAutoMLClassifier(), y // 0.4)):
    model.learn_many(X, labels)
    digest.update(model.predict_many(X).tobytes())
for event in Apple().run(tiny_environment("holdout"), 0):
    digest.update(repr(event).encode())
print(digest.hexdigest())
"""


def learned(environment):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", LEARNED],
        env=os.environ | environment, stdout=subprocess.PIPE, text=True, check=True,
    )  # fmt: skip
    return done.stdout


def test_predictions_are_the_same_without_the_instructions_of_newer_processors():
    older = {
        "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL", "OPENBLAS_CORETYPE": "Nehalem",
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX512F,-AVX2,-FMA",
    }  # fmt: skip
    built = [{"VARIANT": each.name} for each in kernels.FOLDER.iterdir() if each.is_dir()]
    assert len({learned(each) for each in (older, *built)}) == 1
