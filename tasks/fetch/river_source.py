"""Data sets that River's package holds, read in River's own environment, in River's order."""

from __future__ import annotations

import json
import subprocess

import pandas as pd

from leaseboard.algorithms.errors import DataUnavailableError, LeaseboardError, SkipError, unknown
from leaseboard.tasks.evaluate.frameworks import venv
from leaseboard.tasks.fetch import river_program
from leaseboard.tasks.fetch.dataset import RawTable

PACKAGED = {
    "Bananas": "classification",
    "ChickWeights": "regression",
    "ImageSegments": "classification",
    "Phishing": "classification",
    "TrumpApproval": "regression",
}
"""Those of River's benchmark pages that need no download."""

PEER = "river"
TARGET = "target"
LICENCE = "BSD-3-Clause (River); see the data set's page"


def read(name: str) -> RawTable:
    """The set `name` of ``river.datasets``, as its class yields it.

    Raises DataUnavailableError, with the mend, where River's environment is not installed.
    """
    check(name)
    try:
        python = venv.python(PEER)
    except SkipError as error:
        raise DataUnavailableError(f"river:{name} is in River's package: {error}") from error
    command = [str(python), "-I", river_program.__file__, name]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        word = (done.stderr.strip().splitlines() or ["no word"])[-1]
        raise LeaseboardError(
            f"River could not read its data set {name}: {word}: install it anew with"
            f" 'leaseboard peers remove {PEER}' and 'leaseboard peers install {PEER}'"
        )
    found = json.loads(done.stdout)
    frame = pd.DataFrame(found["features"]).assign(**{TARGET: found["target"]})
    return RawTable(frame, name, TARGET, PACKAGED[name], f"river.datasets {name}", LICENCE)


def is_here() -> bool:
    """Whether River's environment is installed."""
    return venv.is_installed(PEER)


def check(name: str) -> None:
    """UsageError with the nearest name unless River's package has the set `name`."""
    if name not in PACKAGED:
        raise unknown("data set of River", name, PACKAGED)
