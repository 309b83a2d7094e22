"""Datasets of packages: scikit-learn's, plugins', and River's in River's own environment."""

import json
import subprocess

import pandas as pd

from leaseboard.algorithms import plugins
from leaseboard.algorithms.errors import (
    DataError,
    DataUnavailableError,
    LeaseboardError,
    SkipError,
    unknown,
)
from leaseboard.tasks.evaluate.frameworks import venv
from leaseboard.tasks.fetch import river_program
from leaseboard.tasks.fetch.dataset import RawTable

BUNDLED = {
    "breast_cancer": "classification",
    "diabetes": "regression",
    "digits": "classification",
    "iris": "classification",
    "wine": "classification",
}
"""Those of scikit-learn that need no download."""

RIVER = {
    "Bananas": "classification",
    "ChickWeights": "regression",
    "ImageSegments": "classification",
    "Phishing": "classification",
    "TrumpApproval": "regression",
}
"""Those of River's benchmark pages that need no download."""

TARGET = "target"
LICENCES = {
    "sklearn": "BSD-3-Clause (scikit-learn); see the dataset's description",
    "river": "BSD-3-Clause (River); see the dataset's page",
}


DATASETS = {"sklearn": BUNDLED, "river": RIVER}
"""Tasks of the datasets by source."""


def check(source: str, name: str) -> None:
    """Raise UsageError with the nearest name unless the package has the dataset `name`."""
    known = plugins.names("datasets") if source == "plugin" else DATASETS[source]
    if name not in known:
        package = {"plugin": "plugins", "sklearn": "scikit-learn", "river": "River"}[source]
        raise unknown(f"dataset of {package}", name, known, "leaseboard data list")


def river_is_here() -> bool:
    """Return whether River's environment is installed."""
    return venv.is_installed("river")


def read_sklearn(name: str) -> RawTable:
    """Return the dataset of ``load_<name>`` of `sklearn.datasets`."""
    from sklearn import datasets

    bunch = getattr(datasets, f"load_{name}")(as_frame=True)
    target = bunch.target.name
    frame = bunch.data.assign(**{target: bunch.target})
    if len(bunch.get("target_names", ())) > 1:  # classes by name; a regression's is the column's
        names = [str(label) for label in bunch.target_names]
        frame[target] = pd.Categorical.from_codes(bunch.target, names)
    task = DATASETS["sklearn"][name]
    return RawTable(frame, name, target, task, f"sklearn.datasets {name}", LICENCES["sklearn"])


def read_river(name: str) -> RawTable:
    """Return the dataset `name` of ``river.datasets``, in River's order.

    Raises DataUnavailableError, with the fix, where River's environment is not installed.
    """
    try:
        python = venv.python("river")
    except SkipError as error:
        raise DataUnavailableError(f"river:{name} is in River's package: {error}") from error
    command = [str(python), "-I", river_program.__file__, name]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        word = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise LeaseboardError(
            f"River could not read its dataset {name}: {word}: to install it again,"
            f" delete {venv.folder('river')} and run 'leaseboard frameworks install river'"
        )
    found = json.loads(done.stdout)
    frame = pd.DataFrame(found["features"]).assign(**{TARGET: found["target"]})
    return RawTable(frame, name, TARGET, RIVER[name], f"river.datasets {name}", LICENCES["river"])


def read_plugin(name: str) -> RawTable:
    """Return the dataset `name`, which its plugin makes."""
    plugin = plugins.find("datasets", name)
    assert plugin is not None  # `check` has found it
    made = plugin.call()
    if not isinstance(made, pd.DataFrame):
        raise DataError(
            f"dataset {name!r} of {plugin.source}: it returns a {type(made).__name__}: return a"
            " pandas DataFrame"
        )
    return RawTable(made, name, source=plugin.source)
