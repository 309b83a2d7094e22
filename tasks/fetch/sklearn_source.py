"""Data sets of scikit-learn: the bundled ones, and those it downloads if they are here already."""

from __future__ import annotations

import pandas as pd

from leaseboard.algorithms.errors import DataUnavailableError, unknown
from leaseboard.tasks.fetch.dataset import RawTable

BUNDLED = {
    "breast_cancer": "classification",
    "diabetes": "regression",
    "digits": "classification",
    "iris": "classification",
    "wine": "classification",
}
DOWNLOADED = {"california_housing": "regression", "covtype": "classification"}
LICENCE = "BSD-3-Clause (scikit-learn); see the data set's description"


def read(name: str) -> RawTable:
    """The set that ``load_<name>`` or ``fetch_<name>`` of `sklearn.datasets` returns.

    Raises DataUnavailableError: scikit-learn would have to download it: a benchmark does not do
    that behind one's back.
    """
    check(name)
    from sklearn import datasets

    if name in BUNDLED:
        bunch = getattr(datasets, f"load_{name}")(as_frame=True)
    else:
        try:
            bunch = getattr(datasets, f"fetch_{name}")(as_frame=True, download_if_missing=False)
        except OSError as error:
            raise DataUnavailableError(
                f"sklearn:{name} is not available: scikit-learn has not downloaded it, call "
                f"sklearn.datasets.fetch_{name}() once"
            ) from error
    frame = bunch.data.assign(**{bunch.target.name: bunch.target})
    if len(bunch.get("target_names", ())) > 1:  # classes by name; a regression's is the column's
        names = [str(label) for label in bunch.target_names]
        classes = pd.Categorical.from_codes(bunch.target, names)
        frame[bunch.target.name] = classes
    task = (BUNDLED | DOWNLOADED)[name]
    return RawTable(frame, name, bunch.target.name, task, f"sklearn.datasets {name}", LICENCE)


def check(name: str) -> None:
    """UsageError with the nearest name unless scikit-learn has the set `name`."""
    if name not in BUNDLED and name not in DOWNLOADED:
        raise unknown("data set of scikit-learn", name, BUNDLED | DOWNLOADED)
