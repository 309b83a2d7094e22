"""One OpenML data set into a folder: ``python -m leaseboard.tasks.fetch.openml_download ID
FOLDER``.

Run by `leaseboard.tasks.fetch.openml_source`; `FOLDER` is private to the call. It may hold a copy
of the package's cache of that id, which is then read without a network; ``FOLDER/new`` gets the
result.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

from leaseboard.tasks.fetch.openml_source import BROKEN, FOLDER, NO_ANSWER, REFUSED, is_complete

REACH_SECONDS = 5.0


def main(name: str, folder: Path) -> int:
    """Fetch the data set `name` into ``folder/new``; the exit code says what went wrong."""
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
    except OpenMLServerException as error:
        sys.stderr.write(" ".join(str(error).split()) + "\n")
        return REFUSED
    except (requests.RequestException, OpenMLServerError) as error:
        sys.stderr.write(" ".join(str(error).split()) + "\n")
        return BROKEN
    return 0


def _reach(server: str) -> bool:
    """Whether `server` answers at all. The alarm ends the process if a name look-up hangs."""
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
    """Have the package download and read the set; write it as the cache keeps it."""
    import pandas as pd

    from leaseboard.tasks.fetch import cache, columns

    found = openml.datasets.get_dataset(
        identifier,
        download_data=True,
        download_qualities=False,
        download_features_meta_data=False,
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
