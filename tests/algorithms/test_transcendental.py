"""Our exponential, logarithm, sine and cosine: accuracy, and the same bits on every processor."""

import math
import os
import subprocess
import sys

import numpy as np
import pytest

from leaseboard import kernels
from leaseboard.algorithms.transcendental import (
    MOST_RADIANS,
    cos,
    exp,
    log,
    log1p,
    sin,
)

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
        *((sin, np.sin, values) for values in TURNS),
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
from leaseboard.algorithms.apple.estimator import PolynomialExpansionRegressor
from leaseboard.algorithms.online_automl.streaming import (
    OnlineAutoMLClassifier, OnlineAutoMLRegressor,
)
from leaseboard.tasks.fetch.synthetic import friedman_value
rng = np.random.default_rng(0)
X = rng.random((1200, 10)).astype(np.float32)
numbers = friedman_value(X) + rng.standard_normal(len(X))
digest = hashlib.sha256(numbers.tobytes())
for classes in (0, 2, 7):
    model = OnlineAutoMLClassifier() if classes else OnlineAutoMLRegressor()
    y = np.argsort(np.argsort(numbers)) * classes // len(X) if classes else numbers
    for start in range(0, len(X), 300):
        model.learn_many(X[start : start + 300], y[start : start + 300])
        found = model.predict_proba_many(X) if classes else model.predict_many(X)
        digest.update(np.asarray(found).tobytes())
digest.update(PolynomialExpansionRegressor(random_state=0).fit(X, numbers).predict(X).tobytes())
print(digest.hexdigest())
"""


def learned(environment):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", LEARNED],
        env=os.environ | environment, stdout=subprocess.PIPE, text=True, check=True,
    )  # fmt: skip
    return done.stdout


def test_predictions_are_the_same_without_the_instructions_of_newer_processors():
    without_avx512 = {"NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL"}
    without_fma = {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX512F,-AVX2,-FMA"}
    older = without_fma | {"OPENBLAS_CORETYPE": "Nehalem"}
    built = [{"VARIANT": each.name} for each in kernels.FOLDER.iterdir() if each.is_dir()]
    assert len({learned(each) for each in ({}, without_avx512, older, *built)}) == 1
