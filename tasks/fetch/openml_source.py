"""OpenML: fetched by the `openml` package in a process of its own, into our cache.

A process of its own, because the package has no request timeout, so only killing it bounds the
wait; and a private copy of its cache, because on any failure it deletes the folder of the
dataset, which must not be one that another program filled.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from leaseboard.algorithms.errors import (
    BrokenDownloadError,
    DataError,
    DataUnavailableError,
    UsageError,
)
from leaseboard.tasks.fetch import cache
from leaseboard.tasks.fetch.cache import Catalogued, table_of
from leaseboard.tasks.fetch.dataset import RawTable
from leaseboard.tasks.machine.paths import IMPORTED_FROM

SECTION = "openml"

FOLDER = "org/openml/www/datasets"
"""Where the package keeps datasets below its cache root, for the server www.openml.org."""

REFUSED = 3
NO_ANSWER = 4
BROKEN = 5
"""Exit codes of `main`; the process is killed where a name look-up hangs."""

DOWNLOAD_SECONDS = 600
"""Time limit for a server that answers; the limit of one that does not is a few seconds."""

_unreachable: dict[str, float] = {}  # until when not to try again: a suite waits once, not per job


def read(name: str, rows: int | None = None) -> RawTable:
    """Return the OpenML dataset of id `name`, from the cache or the network.

    Raises
    ------
    UsageError
        `name` is not a whole number, or OpenML has no such dataset.
    DataUnavailableError
        OpenML cannot be reached, or the download does not end.
    """
    if not name.isdecimal():
        raise UsageError(f"openml:{name}: an OpenML id is a whole number, such as openml:215")
    return table_of(cache.find(SECTION, name) or _fetch(name), rows)


def is_complete(folder: Path) -> bool:
    """Return whether the package can read `folder` of its cache without a network."""
    return (folder / "description.xml").is_file() and (
        any(folder.glob("dataset*.pq")) or (folder / "dataset.arff").is_file()
    )


def _fetch(name: str) -> Catalogued:
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    root = Path(os.environ.get("OPENML_CACHE_DIR") or f"{base}/openml")
    with suppress(RuntimeError):  # of a user without a home
        root = root.expanduser()
    own = root / FOLDER / name  # in the package's own cache
    if not is_complete(own) and time.monotonic() < _unreachable.get("until", 0):
        raise _unavailable(name)
    with cache.scratch(SECTION) as folder:
        if is_complete(own):
            shutil.copytree(own, folder / FOLDER / name)
        (folder / "new").mkdir()
        _run(name, folder)
        return cache.publish(folder / "new", SECTION, name)


def _run(name: str, folder: Path) -> None:
    command = [sys.executable, "-m", "leaseboard.tasks.fetch.openml_source", name, str(folder)]
    try:
        done = subprocess.run(
            command,
            cwd=IMPORTED_FROM,
            capture_output=True,
            text=True,
            timeout=DOWNLOAD_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise DataUnavailableError(f"openml:{name} is not available: the download did not end in "
                                   f"{DOWNLOAD_SECONDS} s, try again") from error  # fmt: skip
    if done.returncode == 0:
        return
    if done.returncode in (NO_ANSWER, -signal.SIGALRM):
        _unreachable["until"] = time.monotonic() + 60
        raise _unavailable(name)
    last = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
    if done.returncode == BROKEN:
        raise BrokenDownloadError(
            f"openml:{name} is not available: the download broke off ({last}), try again"
        )
    if done.returncode == REFUSED:
        raise UsageError(f"openml:{name}: OpenML refused: {last}")
    raise DataError(f"openml:{name}: the openml package failed: {last}")


def _unavailable(name: str) -> DataUnavailableError:
    return DataUnavailableError(
        f"openml:{name} is not available: OpenML cannot be reached; connect to the network, "
        "or name a mirror that has it with --mirror FOLDER or LEASEBOARD_MIRROR"
    )


REACH_SECONDS = 5.0


def main(name: str, folder: Path) -> int:
    """Fetch the dataset `name` into ``folder/new``; the exit code says what went wrong.

    Run as ``python -m leaseboard.tasks.fetch.openml_source NAME FOLDER``; `folder` is private to
    the call. It may hold a copy of the package's cache of that dataset, which is then read
    without a network.
    """
    import openml
    import requests
    from openml.exceptions import OpenMLServerError, OpenMLServerException

    openml.config.set_root_cache_directory(folder)
    openml.config.set_retry_policy("human", n_retries=1)
    here = Path(openml.config.get_cache_directory()) / "datasets" / name
    if (folder / FOLDER / name).is_dir() and not here.is_dir():  # another server is configured
        here.parent.mkdir(parents=True)
        (folder / FOLDER / name).rename(here)
    if not is_complete(here) and not _reach(openml.config.get_server_base_url()):
        return NO_ANSWER
    if (here / "dataset.arff").is_file() and not any(here.glob("dataset*.pq")):
        # Otherwise the package tries to download the parquet file first.
        os.environ["OPENML_SKIP_PARQUET"] = "true"
    try:
        _convert(openml, int(name), folder / "new")
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


def _convert(openml: Any, identifier: int, folder: Path) -> None:
    """Make the package download and read the dataset; write it into the cache."""
    import pandas as pd

    from leaseboard.tasks.fetch import cache, columns

    found = openml.datasets.get_dataset(
        identifier, download_data=True, download_qualities=False, download_features_meta_data=False
    )
    frame, *_ = found.get_data(dataset_format="dataframe")
    for name in frame.columns:
        if isinstance(frame[name].dtype, pd.SparseDtype):
            frame[name] = frame[name].sparse.to_dense()
    # Several targets are a comma-separated list: the first is taken.
    target = (found.default_target_attribute or "").split(",")[0]
    cache.write(
        folder,
        columns.tidy_frame(frame),
        id=str(identifier),
        name=found.name,
        target=target,
        source=f"https://www.openml.org/d/{identifier} (version {found.version})",
        licence=found.licence or "",
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2])))
