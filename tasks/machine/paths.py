"""Places: the configuration, the data mirrors, the stores."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from leaseboard.algorithms.errors import UsageError

CONF_KINDS = ("suites", "data", "spaces", "baselines")
"""The folders of a configuration folder."""

_STORE = "LEASEBOARD_STORE"
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


def store_place() -> Path | str:
    """Return where trials and probes are recorded: ``LEASEBOARD_STORE``, or a file in the cache.

    The variable holds an address of SQLAlchemy.
    """
    return os.environ.get(_STORE) or cache_dir() / "recorded" / "store.sqlite"


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
