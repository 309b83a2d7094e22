"""Variables that a process needs before it imports numpy, Prefect or MLflow."""

import os
import platform
import re
import warnings
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from leaseboard.tasks.machine.addresses import redacted

ONE_THREAD = {
    f"{library}_NUM_THREADS": "1"
    for library in ("OMP", "OPENBLAS", "MKL", "NUMEXPR", "VECLIB_MAXIMUM")
}
"""Jobs run in parallel, so each has one thread: for honest CPU times and equal results."""


QUIET = {
    # No telemetry. Prefect and MLflow both understand `true`; MLflow does not understand 1.
    "DO_NOT_TRACK": "true",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    # Leaseboard prints how each job ended, also to a flow run's log; Prefect would print three red
    # lines.
    "PREFECT_LOGGING_LEVEL": "CRITICAL",
    "PREFECT_CLI_PROMPT": "false",
    # Its default of 20 s is too short for a fresh home on a busy machine.
    "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "180",
    # Seven worker processes and 2 GB that a leaderboard has no use for.
    "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
    # The recorder itself tries again; MLflow's own retries add up to minutes.
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "30",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    # MLflow prints two lines about every run that ends on a server.
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
    # Results carry the code's version themselves; git is not asked for every run.
    "GIT_PYTHON_REFRESH": "quiet",
}

PACKAGES = (
    "leaseboard",
    "vowpalwabbit",
    "lightgbm",
    "hyperopt",
    "scikit-learn",
    "numpy",
    "pandas",
)
"""The distributions whose versions a score can depend on."""
_PROXIES = ("http_proxy", "https_proxy", "all_proxy")
_THIS_MACHINE = ("127.0.0.1", "localhost", "::1")
_HOST = re.compile(r"[!-9;-Z^-~]+(:\d+)?|[0-9a-fA-F:.]+")
"""A host, a network or an IPv6 address; no client knows a network of IPv6."""


def prepare_workers() -> None:
    """Set what the processes that run jobs need and the user has not set.

    Prefect's own settings stay: in another project's flow they belong to that project.
    """
    ours = {name: value for name, value in QUIET.items() if not name.startswith("PREFECT_")}
    for name, value in (ONE_THREAD | ours).items():
        os.environ.setdefault(name, value)


def prepare_environment(home: Path | None = None) -> None:
    """Set what the user has not set; call it before any heavy import.

    `home`: the project's folder: Prefect's own files go to ``.prefect`` in it. The current folder
    by default.
    """
    for name, value in (ONE_THREAD | QUIET).items():
        os.environ.setdefault(name, value)
    _prepare_proxies()
    os.environ.setdefault("PREFECT_HOME", str((home or Path.cwd()).resolve() / ".prefect"))


def _prepare_proxies() -> None:
    """Name this machine as one that no proxy reaches, and keep only proxies that clients can use.

    httpx, the client of Prefect and of notifications, ends with any other in each call.
    """
    for name in ("no_proxy", "NO_PROXY"):
        others = os.environ.get(name) or os.environ.get(name.swapcase(), "")
        listed = [each.strip() for each in others.split(",")]
        hosts = dict.fromkeys([*filter(_HOST.fullmatch, listed), *_THIS_MACHINE])
        os.environ[name] = "*" if "*" in listed else ",".join(hosts)
    for name in [each for each in os.environ if each.lower() in _PROXIES]:
        value = os.environ[name]
        if "://" in value and not value.startswith(("http://", "https://")):
            del os.environ[name]
            said = f"{name} {redacted(value)!r} is not used: name a proxy of http:// or https://"
            warnings.warn(said, stacklevel=3)


def versions(packages: Iterable[str] = PACKAGES) -> dict[str, str]:
    """Return the version of Python and of those of `packages` that are installed."""
    found = {name: version for name in packages if (version := installed(name)) is not None}
    return {"python": platform.python_version(), **found}


@cache
def installed(package: str) -> str | None:
    """Return the version of a distribution, if it is installed."""
    from importlib import metadata

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
