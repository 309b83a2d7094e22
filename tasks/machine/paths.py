"""Where things are: the configuration, the local MLflow store."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from leaseboard.algorithms.caches import cache_dir
from leaseboard.algorithms.errors import UsageError

CONF_KINDS = ("suites", "data", "spaces", "baselines")
"""The folders of a configuration folder."""

_STORE = "LEASEBOARD_STORE"
IMPORTED_FROM = Path(__file__).parents[3]
"""The folder on Python's path that has `leaseboard`; what is in it may be a symbolic link."""

_PACKAGED_CONF = IMPORTED_FROM / "leaseboard" / "_conf"
_CHECKOUT_CONF = IMPORTED_FROM / "conf"


def store_place() -> Path | str:
    """Where trials and probes are recorded: ``LEASEBOARD_STORE``, or a file in the cache.

    The variable holds an address as SQLAlchemy takes it.
    """
    return os.environ.get(_STORE) or cache_dir() / "recorded" / "store.sqlite"


def other_store(place: Path) -> AbstractContextManager[None]:
    """Record at `place` meanwhile, in this process and those that it starts."""
    return variable_set(_STORE, str(place))


def conf_dir(named: Path | None = None) -> Path:
    """The configuration folder: `named`, ``LEASEBOARD_CONF``, ``./conf``, or the shipped one."""
    return own_conf(named) or shipped_conf()


def own_conf(named: Path | None = None) -> Path | None:
    """The user's own configuration folder, None if there is none.

    ``./conf`` is one if it has a folder or a schedule as ours has; other programs keep a ``conf``
    too.
    """
    for source, given in (("--conf", named), ("LEASEBOARD_CONF", _env("LEASEBOARD_CONF"))):
        if given is not None:
            if not given.is_dir():
                raise UsageError(f"{source} {str(given)!r} is no folder: name one with suites/")
            return given.resolve()
    here = Path("conf")
    ours = (here / "schedule.yaml").is_file() or any((here / k).is_dir() for k in CONF_KINDS)
    return here.resolve() if ours else None


def shipped_conf() -> Path:
    """The configuration that comes with Leaseboard, in its installation or its checkout."""
    return _PACKAGED_CONF if _PACKAGED_CONF.is_dir() else _CHECKOUT_CONF


def conf_files(kind: str, named: Path | None = None, suffix: str = ".yaml") -> dict[str, Path]:
    """``{name: file}`` of a folder of `CONF_KINDS`: the user's own, and what is shipped besides.

    A name of one's own hides the shipped one, and no other.
    """
    folders = [conf / kind for conf in (shipped_conf(), conf_dir(named))]
    return {path.stem: path for folder in folders for path in folder.glob(f"*{suffix}")}


def mirrors(named: tuple[Path, ...] = ()) -> tuple[Path, ...]:
    """The read-only data mirrors: `named`, or else those of ``LEASEBOARD_MIRROR``."""
    listed = os.environ.get("LEASEBOARD_MIRROR", "").split(os.pathsep)
    found = named or tuple(Path(part) for part in listed if part)
    for mirror in found:
        if not (mirror / "catalogue.csv").is_file():
            raise UsageError(f"mirror {str(mirror)!r} has no catalogue.csv: name a mirror folder")
    return tuple(dict.fromkeys(mirror.resolve() for mirror in found))


def tracking_uri(named: str | None = None) -> str:
    """The MLflow store: `named`, ``MLFLOW_TRACKING_URI``, or ``mlruns/mlflow.db`` here."""
    given = named or os.environ.get("MLFLOW_TRACKING_URI")
    if given:
        return given
    store = Path("mlruns") / "mlflow.db"
    whole = store.resolve()
    # An address ends at its first "?"; only by a path from here is a folder of such a name named.
    return f"sqlite:///{store if '?' in str(whole) else whole}"


def _env(name: str) -> Path | None:
    value = os.environ.get(name)
    return Path(value) if value else None


@contextmanager
def variable_set(name: str, value: str) -> Iterator[None]:
    """Set a variable meanwhile, in this process and those that it starts."""
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before
