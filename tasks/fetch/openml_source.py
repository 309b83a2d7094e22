"""OpenML: read by the `openml` package from its own cache.

A dataset that is not there is downloaded in a process of its own, because the package has no
request timeout, so only killing it bounds the wait; and into a private folder, which then takes
its place in the cache, because the package takes a file that a kill has cut for a whole one.
"""

import signal
import subprocess
import sys
import tempfile
import time
from contextlib import nullcontext
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
from leaseboard.tasks.machine.paths import IMPORTED_FROM, variable_set

REFUSED, NO_ANSWER, BROKEN = 3, 4, 5
"""Exit codes of `main`; the process is killed where a name look-up hangs."""

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
    if not is_complete(place):
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
    for column in frame.columns:
        if isinstance(frame[column].dtype, pd.SparseDtype):
            frame[column] = frame[column].sparse.to_dense()
    # Several targets are a comma-separated list: the first is taken.
    target = (found.default_target_attribute or "").split(",")[0] or None
    source = f"https://www.openml.org/d/{name} (version {found.version})"
    return RawTable(frame, found.name, target, source=source, licence=found.licence or "")


def is_complete(folder: Path) -> bool:
    """Return whether the package can read `folder` of its cache without a network."""
    return (folder / "description.xml").is_file() and (
        any(folder.glob("dataset*.pq")) or (folder / "dataset.arff").is_file()
    )


def _fetch(name: str, place: Path) -> None:
    if time.monotonic() < _unreachable.get("until", 0):
        raise _unavailable(name)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        scratch = tempfile.TemporaryDirectory(prefix=".new-", dir=place.parent)
    except OSError as error:
        raise UsageError(f"OpenML's cache {place.parent} cannot be written ({error.strerror}):"
                         " name another folder with OPENML_CACHE_DIR") from error  # fmt: skip
    with scratch as folder:
        _run(name, folder)
        try:
            next(Path(folder).rglob(f"datasets/{name}")).rename(place)
        except OSError:
            if not is_complete(place):  # no other process was first
                raise


def _run(name: str, folder: str) -> None:
    command = [sys.executable, "-m", "leaseboard.tasks.fetch.openml_source", name, folder]
    try:
        done = subprocess.run(
            command, cwd=IMPORTED_FROM, capture_output=True, text=True, timeout=DOWNLOAD_SECONDS,
            check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise DataUnavailableError(f"openml:{name} is not available: the download did not end in "
                                   f"{DOWNLOAD_SECONDS} s, try again") from error  # fmt: skip
    if done.returncode == 0:
        return
    if done.returncode in (NO_ANSWER, -signal.SIGALRM):
        _unreachable["until"] = time.monotonic() + 60
        raise _unavailable(name)
    last = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
    if done.returncode == REFUSED:
        raise UsageError(f"openml:{name}: OpenML refused: {last}")
    raise BrokenDownloadError(
        f"openml:{name} is not available: the download broke off ({last}), try again"
    )


def _unavailable(name: str) -> DataUnavailableError:
    return DataUnavailableError(
        f"openml:{name} is not available: OpenML cannot be reached; connect to the network, "
        "or name a mirror that has it with --mirror FOLDER or LEASEBOARD_MIRROR"
    )


def _get(identifier: int) -> Any:
    import openml

    return openml.datasets.get_dataset(
        identifier, download_data=True, download_qualities=False, download_features_meta_data=False
    )


def main(name: str, folder: Path) -> int:
    """Download the dataset `name` into `folder`, a private cache of the package.

    Run as ``python -m leaseboard.tasks.fetch.openml_source NAME FOLDER``; the exit code says what
    went wrong.
    """
    import openml
    import requests
    from openml.exceptions import OpenMLServerError, OpenMLServerException

    openml.config.set_root_cache_directory(folder)
    openml.config.set_retry_policy("human", n_retries=1)
    if not _reach(openml.config.get_server_base_url()):
        return NO_ANSWER
    try:
        _get(int(name))
    except (OpenMLServerException, requests.RequestException, OpenMLServerError) as error:
        sys.stderr.write(" ".join(str(error).split()) + "\n")
        return REFUSED if isinstance(error, OpenMLServerException) else BROKEN
    return 0


def _reach(server: str) -> bool:
    """Return whether `server` answers. The alarm ends the process if a name look-up hangs."""
    import requests

    signal.setitimer(signal.ITIMER_REAL, 2 * REACH_SECONDS)
    try:
        requests.head(server, timeout=REACH_SECONDS)
    except requests.RequestException:
        return False
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return True


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2])))
