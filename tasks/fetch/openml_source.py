"""OpenML: read by the `openml` package from its own cache.

A dataset that is not there is downloaded in a process of its own, because the package has no
request timeout, so only killing it bounds the wait; and into a private folder, which then takes
its place in the cache, because the package takes a file that a kill has cut for a whole one.
"""

import tempfile
import time
from contextlib import nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from leaseboard.algorithms.errors import (
    BrokenDownloadError,
    DataError,
    DataUnavailableError,
    UsageError,
)
from leaseboard.tasks.fetch.dataset import RawTable
from leaseboard.tasks.machine.paths import variable_set
from leaseboard.tasks.processes.child import call
from leaseboard.tasks.processes.limits import Limits

DOWNLOAD_SECONDS = 600
"""Time limit for a server that answers; the limit of one that does not is a few seconds."""
REACH_SECONDS = 5.0

_unreachable: dict[str, float] = {}  # until when not to try again: a suite waits once, not per job


def read(name: str) -> RawTable:
    """Return the OpenML dataset of id `name`, from the package's cache or the network.

    Raises
    ------
    UsageError
        `name` is not a whole number, or OpenML has no such dataset.
    DataUnavailableError
        OpenML cannot be reached, or the download does not end.
    """
    if not name.isdecimal():
        raise UsageError(f"openml:{name}: an OpenML id is a whole number, such as openml:215")
    import openml

    place = Path(openml.config.get_cache_directory()) / "datasets" / name
    if not (place / "description.xml").is_file():
        _fetch(name, place)
    # Otherwise the package tries to download a parquet file first.
    arff_alone = not any(place.glob("dataset*.pq"))
    try:
        with variable_set("OPENML_SKIP_PARQUET", "true") if arff_alone else nullcontext():
            found = _get(int(name))
            frame, *_ = found.get_data(dataset_format="dataframe")
    except Exception as error:  # any error of the package or its parsers
        said = " ".join(str(error).split())
        raise DataError(f"openml:{name}: the openml package cannot read {place} ({said}): delete"
                        " it to fetch it again") from error  # fmt: skip
    sparse = [name for name, kind in frame.dtypes.items() if isinstance(kind, pd.SparseDtype)]
    frame = frame.assign(**{name: frame[name].sparse.to_dense() for name in sparse})
    # Several targets are a comma-separated list: the first is taken.
    target = (found.default_target_attribute or "").split(",")[0] or None
    source = f"https://www.openml.org/d/{name} (version {found.version})"
    return RawTable(frame, found.name, target, source=source, licence=found.licence or "")


def _fetch(name: str, place: Path) -> None:
    """Download the dataset `name`, and put it into its place in the package's cache."""
    import openml  # noqa: F401 - here, and not once more in each fork

    unreachable = DataUnavailableError(
        f"openml:{name} is not available: OpenML cannot be reached; connect to the network, "
        "or name a mirror that has it with --mirror FOLDER or LEASEBOARD_MIRROR"
    )
    if time.monotonic() < _unreachable.get("until", 0):
        raise unreachable
    # Beyond the time limit a look-up of the server's name hangs.
    if call(_reach, Limits(wall_seconds=2 * REACH_SECONDS)).ending.status != "ok":
        _unreachable["until"] = time.monotonic() + 60
        raise unreachable
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".new-", dir=place.parent) as folder:
        done = call(partial(_download, name, folder), Limits(wall_seconds=DOWNLOAD_SECONDS))
        if done.ending.status != "ok":
            raise BrokenDownloadError(
                f"openml:{name} is not available: the download broke off ({done.ending.reason}),"
                " try again"
            )
        if done.value:
            raise UsageError(f"openml:{name}: OpenML refused: {done.value}")
        with suppress(OSError):  # another process was first
            next(Path(folder).rglob(f"datasets/{name}")).rename(place)


def _get(identifier: int) -> Any:
    import openml

    return openml.datasets.get_dataset(
        identifier, download_data=True, download_qualities=False, download_features_meta_data=False
    )


def _download(name: str, folder: str) -> str:
    """Download a dataset; return why OpenML refuses, in one line, and an empty text otherwise."""
    import openml
    from openml.exceptions import OpenMLServerException

    openml.config.set_root_cache_directory(folder)
    openml.config.set_retry_policy("human", n_retries=1)
    try:
        _get(int(name))
    except OpenMLServerException as error:
        return " ".join(str(error).split())
    return ""


def _reach() -> None:
    """Raise an error unless the server answers."""
    import openml
    import requests

    requests.head(openml.config.get_server_base_url(), timeout=REACH_SECONDS)
