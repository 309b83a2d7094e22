"""What a process has around it: variables, places, clocks.

Its variables are set before it imports numpy, Prefect or MLflow.
"""

import os
import platform
import re
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from functools import cache
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from time import perf_counter, process_time

from leaseboard.algorithms.errors import UsageError
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

LIBRARIES = (
    "ConfigSpace", "hyperopt", "lightgbm", "numpy", "pandas", "scikit-learn", "scipy", "smac",
    "vowpalwabbit",
)  # fmt: skip
"""Libraries that our code computes with. Other versions may compute other numbers."""
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


def versions(packages: Iterable[str] = ("leaseboard", *LIBRARIES)) -> dict[str, str]:
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


CONF_KINDS = ("suites", "data", "spaces", "baselines")
"""The folders of a configuration folder."""

IMPORTED_FROM = Path(__file__).parents[3]
"""The folder on Python's path that has `leaseboard`; what is in it may be a symbolic link."""

_PACKAGED_CONF = IMPORTED_FROM / "leaseboard" / "_conf"
_CHECKOUT_CONF = IMPORTED_FROM / "conf"


def cache_dir() -> Path:
    """Return the folder of fetched data, frameworks, and the store of trials and probes.

    ``LEASEBOARD_CACHE`` names it; otherwise it is ``leaseboard`` in the user's cache folder.
    """
    place = os.environ.get("LEASEBOARD_CACHE")
    place = place or f"{os.environ.get('XDG_CACHE_HOME') or '~/.cache'}/leaseboard"
    try:
        return Path(place).expanduser().resolve()
    except RuntimeError as error:
        raise UsageError("this user has no home: set LEASEBOARD_CACHE to a folder") from error


def conf_dir(named: Path | None = None) -> Path:
    """Return `named`, the folder of ``LEASEBOARD_CONF``, ``./conf``, or the shipped one."""
    return own_conf(named) or shipped_conf()


def own_conf(named: Path | None = None) -> Path | None:
    """Return the user's own configuration folder, None if it is missing.

    ``./conf`` is one if it has a folder of `CONF_KINDS` or a schedule; other programs have a
    ``conf``, too.
    """
    variable = os.environ.get("LEASEBOARD_CONF")
    if given := named or (variable and Path(variable)):
        if not given.is_dir():
            raise UsageError(f"--conf {str(given)!r} is not a folder: name one with suites/")
        return given.resolve()
    here = Path("conf")
    ours = (here / "schedule.yaml").is_file() or any((here / k).is_dir() for k in CONF_KINDS)
    return here.resolve() if ours else None


def use_conf(named: Path | str | None) -> None:
    """Set the configuration folder of this process and those that it starts, if one is named."""
    if named is not None:
        os.environ["LEASEBOARD_CONF"] = str(Path(named).resolve())


def shipped_conf() -> Path:
    """Return the configuration that Leaseboard ships, in its installation or its checkout."""
    return _PACKAGED_CONF if _PACKAGED_CONF.is_dir() else _CHECKOUT_CONF


def conf_files(kind: str, named: Path | None = None, suffix: str = ".yaml") -> dict[str, Path]:
    """Return the files of a folder of `CONF_KINDS` by name: the user's own and the shipped ones.

    A user's file hides the shipped one of its name.
    """
    folders = [conf / kind for conf in (shipped_conf(), conf_dir(named))]
    return {path.stem: path for folder in folders for path in folder.glob(f"*{suffix}")}


def mirrors(named: tuple[Path, ...] = ()) -> tuple[Path, ...]:
    """Return the read-only data mirrors: `named`, or else those of ``LEASEBOARD_MIRROR``."""
    listed = os.environ.get("LEASEBOARD_MIRROR", "").split(os.pathsep)
    found = named or tuple(Path(part) for part in listed if part)
    for mirror in found:
        if not (mirror / "catalogue.csv").is_file():
            said = "has no catalogue.csv" if mirror.is_dir() else "is not a folder"
            raise UsageError(f"mirror {str(mirror)!r} {said}: name a folder of a mirror")
    return tuple(dict.fromkeys(mirror.resolve() for mirror in found))


def tracking_uri(named: str | None = None) -> str:
    """Return the MLflow store: `named`, ``MLFLOW_TRACKING_URI``, or ``mlruns/mlflow.db`` here."""
    store = Path("mlruns") / "mlflow.db"
    whole = store.resolve()
    # An address ends at its first "?"; a relative path leaves out a folder with one in its name.
    own = f"sqlite:///{store if '?' in str(whole) else whole}"
    return named or os.environ.get("MLFLOW_TRACKING_URI") or own


@contextmanager
def variable_set(name: str, value: str) -> Iterator[None]:
    """Set a variable for the block, in this process and those that it starts."""
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


def working_seconds() -> tuple[float, float]:
    """Return CPU seconds, with those of children that were waited for, and wall seconds."""
    children = getrusage(RUSAGE_CHILDREN)
    return process_time() + children.ru_utime + children.ru_stime, perf_counter()


@contextmanager
def without_autologging() -> Iterator[None]:
    """Keep MLflow's autologging, which the caller may have enabled, out of the fits within."""
    mlflow = sys.modules.get("mlflow.utils.autologging_utils")
    with mlflow.disable_autologging() if mlflow else nullcontext():
        yield
