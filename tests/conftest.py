"""What all tests share: a private environment, and the data mirror where there is one."""

import fcntl
import gc
import importlib.util
import os
import shlex
import shutil
import signal
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from pathlib import Path

import hypothesis
import pytest
from hypothesis.internal.conjecture import providers

from benchmarks import postgresql as servers
from leaseboard.tasks.machine.environment import ONE_THREAD
from tests.zygote import Zygote, remember, starting

# The same examples in every run, and no limit of time: a loaded machine must not fail a test.
hypothesis.settings.register_profile(
    "leaseboard", derandomize=True, deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)  # fmt: skip
hypothesis.settings.load_profile("leaseboard")
# It draws from the constants of imported modules too, and those depend on what ran before.
providers._get_local_constants = lambda: providers._local_constants

# Before anything imports numpy: the tests run side by side, as jobs do.
os.environ.update(dict.fromkeys(ONE_THREAD, "1"))

# Hundreds of processes would compile all of ours again, and each worker all tests.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# A shell that starts us in the background has us, and all that we start, ignore Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)

_NEXT_TO_CHECKOUT = Path(__file__).resolve().parents[2] / "shared" / "data"


def _find_mirror() -> Path | None:
    named = os.environ.get("LEASEBOARD_MIRROR", "").split(os.pathsep)[0]
    folder = Path(named) if named else _NEXT_TO_CHECKOUT
    return folder.resolve() if (folder / "catalogue.csv").is_file() else None


_MIRROR = _find_mirror()
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_BROWSER = next((path for name in _BROWSERS if (path := shutil.which(name))), None)
_POSTGRESQL = servers.INITDB if importlib.util.find_spec("psycopg2") else None
_DASK = importlib.util.find_spec("prefect_dask")
_NEEDS = {
    "mirror": (_MIRROR, "a data mirror", "name one with LEASEBOARD_MIRROR"),
    "browser": (_BROWSER, "a Chromium", "put one on the path"),
    "dask": (_DASK, "Dask", "install the extra dask"),
    "smac": (importlib.util.find_spec("smac"), "SMAC", "install the extra smac"),
    "postgresql": (_POSTGRESQL, "PostgreSQL", "put initdb on the path, and install psycopg2"),
}
"""What a mark needs: what was found of it, what it is called, how to have it."""

PATIENCE = 120_000
"""Milliseconds that a page may take: a loaded machine must not fail a test."""

_deselected = pytest.StashKey[dict[str, int]]()
_pages = pytest.StashKey[list]()
"""What a test looks at in a browser."""


@pytest.fixture(scope="session")
def mirror() -> Path:
    """Return the data mirror's folder; only tests marked ``mirror`` may ask for it."""
    assert _MIRROR is not None, "mark the test with pytest.mark.mirror"
    return _MIRROR


@pytest.fixture(scope="session", autouse=True)
def private_environment(tmp_path_factory, once) -> Iterator[None]:
    """Keep tests, and fixtures of modules, away from the user's mirror and the user's cache.

    Each worker has a cache of its own.
    """
    cache = tmp_path_factory.getbasetemp() / "cache"
    cache.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LEASEBOARD_CACHE", str(cache))
        patch.delenv("LEASEBOARD_MIRROR", raising=False)
        patch.setenv("LEASEBOARD_CONF", "")
        # On a busy machine a command would say that it still works.
        patch.setattr("leaseboard.tasks.machine.terminal.PATIENCE", 1e6)
        yield
        assert not os.environ["LEASEBOARD_CONF"], "a test left its --conf to all later ones"


@pytest.fixture(scope="session")
def once(tmp_path_factory) -> Callable[[str, Callable[[Path], object]], Path]:
    """Return a function that returns a folder, filled by the run's first process that asks."""
    base = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:  # each worker has a folder of its own in the run's
        base = base.parent

    def get(name: str, fill: Callable[[Path], object]) -> Path:
        folder = base / name
        with folder.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not folder.is_dir():
                made = Path(tempfile.mkdtemp(dir=base))
                fill(made)
                made.rename(folder)
        return folder

    return get


@pytest.fixture(scope="session")
def zygote(tmp_path_factory) -> Iterator[Zygote]:
    """Fork a process that has imported what a command imports: see `tests.zygote`."""
    made = Zygote(tmp_path_factory.mktemp("zygote") / "socket")
    yield made
    made.stop()


@pytest.fixture
def programs(zygote, tmp_path) -> str:
    """Return the path of programs with `leaseboard`, forked, and `python` on it."""
    folder = tmp_path / "bin"
    folder.mkdir()
    python = f'exec {shlex.quote(sys.executable)} "$@"'
    for name, call in {"leaseboard": zygote.program("-m", "leaseboard"), "python": python}.items():
        program = folder / name
        program.write_text(f"#!/bin/sh\n{call}\n")
        program.chmod(0o755)
    return f"{folder}{os.pathsep}{os.environ['PATH']}"


@pytest.fixture
def forked_workers(zygote, monkeypatch) -> None:
    """Fork processes that run jobs, trials and users' imports from the zygote."""
    place = "leaseboard.tasks.processes.child.subprocess"
    monkeypatch.setattr(place, starting(zygote.place))


@pytest.fixture(scope="module")
def forked_services(zygote) -> Iterator[None]:
    """Fork Prefect's servers, MLflow's, and the runs of a schedule, too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("leaseboard.flows.server.subprocess", starting(zygote.place))
        yield


@pytest.fixture(scope="session")
def environment(tmp_path_factory):
    """Yield the command line's own environment, with Prefect's files in a temporary folder."""
    from leaseboard.tasks.machine.environment import prepare_environment

    before = dict(os.environ)
    os.environ["PREFECT_HOME"] = str(tmp_path_factory.mktemp("prefect"))
    prepare_environment()
    remember()
    yield
    os.environ.clear()
    os.environ.update(before)


@pytest.fixture(scope="session")
def prefect_tables(once, zygote) -> Callable[[Path], None]:
    """Return a function that puts Prefect's tables into a fresh home: a server takes seconds."""

    def migrate(folder: Path) -> None:
        command = ["-m", "prefect", "server", "database", "upgrade", "-y"]
        environment = {k: v for k, v in os.environ.items() if not k.startswith("PREFECT_")}
        environment["PREFECT_HOME"] = str(folder)
        zygote.run(command, cwd=folder, env=environment).check_returncode()

    def put(home: Path) -> None:
        home.mkdir(parents=True, exist_ok=True)
        if not (home / "prefect.db").exists():
            shutil.copy(once("prefect-tables", migrate) / "prefect.db", home)

    return put


@pytest.fixture(scope="session")
def empty_store(once, environment) -> Iterator[Path]:
    """Yield an MLflow store with its tables made, to be copied: making them takes seconds."""

    def fill(folder: Path) -> None:
        from leaseboard.tasks.track.store import open_store

        open_store(f"sqlite:///{folder / 'made.db'}")
        with closing(sqlite3.connect(folder / "made.db")) as connection:
            connection.execute("VACUUM INTO ?", (str(folder / "mlflow.db"),))

    folder = once("mlflow-tables", fill)
    made = folder / "mlflow.db"
    before = made.read_bytes()
    yield made
    # What one test wrote into it, every later one would find in its own copy.
    assert [path.name for path in folder.glob("mlflow.db*")] == ["mlflow.db"], "copy empty_store"
    assert made.read_bytes() == before, "copy empty_store"


@pytest.fixture(scope="session")
def postgresql():
    """Yield a PostgreSQL's address without a database; for tests marked ``postgresql``."""
    assert _POSTGRESQL is not None, "mark the test with pytest.mark.postgresql"
    with servers.postgresql() as address:
        yield address


@pytest.fixture(scope="session")
def create_database(postgresql) -> Callable[..., str]:
    """Return a function that makes a database, empty or a copy, and returns its address."""
    from sqlalchemy import create_engine, text

    def create(name: str, template: str = "template1") -> str:
        engine = create_engine(f"{postgresql}/postgres", isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            connection.execute(text(f"CREATE DATABASE {name} TEMPLATE {template}"))
        engine.dispose()
        return f"{postgresql}/{name}"

    return create


@pytest.fixture(scope="session")
def mlflow_tables(create_database, environment) -> str:
    """Return the name of a database with MLflow's tables, to copy: making them takes seconds."""
    from mlflow.store.db.utils import _initialize_tables
    from sqlalchemy import create_engine

    engine = create_engine(create_database("mlflow_tables"))
    _initialize_tables(engine)
    engine.dispose()  # a database that someone is connected to cannot be copied
    return "mlflow_tables"


@pytest.fixture
def database(create_database, mlflow_tables, tmp_path, monkeypatch):
    """Return a function that makes an MLflow store and returns its address."""
    monkeypatch.setenv("LEASEBOARD_ARTIFACTS", str(tmp_path / "artifacts"))
    return lambda name: create_database(name, mlflow_tables)


@pytest.fixture(scope="module")
def browser():
    """Yield a headless Chromium; only tests marked ``browser`` may ask for it.

    It lives as long as a module: while it is open, Playwright's event loop runs in this thread,
    and tests of Prefect start loops of their own.
    """
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=PATIENCE)
    assert _BROWSER is not None, "mark the test with pytest.mark.browser"
    flags = ["--disable-gpu", "--disable-quic", "--disable-sync"]
    with sync_playwright() as playwright:
        yield playwright.chromium.launch(executable_path=_BROWSER, args=flags)


@pytest.fixture
def silent_page(request, browser):
    """Open pages that must neither complain on the console nor ask another place for anything.

    Complaints with any of the words `theirs` are another program's, which we cannot fix.
    """
    contexts, problems = [], []
    pages = request.node.stash[_pages] = []

    def make(place: str, *, theirs: tuple[str, ...] = (), **options):
        def complain(said: str) -> None:
            if not any(word in said for word in theirs):
                problems.append(said)

        def hear(message) -> None:
            if message.type in ("error", "warning"):
                complain(f"{message.text} ({message.location.get('url')})")

        context = browser.new_context(**options)
        contexts.append(context)
        context.set_default_timeout(PATIENCE)
        context.on("console", hear)
        context.on("weberror", lambda found: complain(f"{found.error} {found.error.stack}"))
        context.on(
            "request",
            lambda asked: (
                asked.url.startswith((place, "data:", "blob:", "about:"))
                or problems.append(f"request to {asked.url}")
            ),
        )
        pages.append(context.new_page())
        return pages[-1]

    yield make
    for context in contexts:
        context.close()
    assert problems == []


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Say what the pages of a browser showed when a test failed, and keep pictures of them."""
    report = yield
    if report.failed and call.when == "call":
        for number, page in enumerate(item.stash.get(_pages, [])):
            picture = item.funcargs["tmp_path_factory"].getbasetemp() / f"{item.name}-{number}.png"
            page.screenshot(path=picture, full_page=True)
            report.sections.append((f"{page.url} in {picture}", page.locator("body").inner_text()))
    return report


def pytest_xdist_auto_num_workers() -> int:
    """Use more workers than cores: tests wait for servers and clocks a third of the time."""
    return (os.cpu_count() or 1) * 3 // 2


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Freeze what is imported: looking through it for garbage takes a third of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()
        gc.set_threshold(20_000, 50, 50)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect what needs something that is not here; begin with what takes longest.

    A file stays on one worker: a slow one that began last would keep it alone at the end.
    """
    items.sort(key=lambda item: item.path.parent.name not in {"flows", "docs", "tests"})
    config.stash[_deselected] = {}
    for mark, (found, _, _) in _NEEDS.items():
        needy = [item for item in items if item.get_closest_marker(mark)]
        if found is None and needy:
            config.stash[_deselected][mark] = len(needy)
            config.hook.pytest_deselected(items=needy)
            items[:] = [item for item in items if item not in needy]


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Say which tests were left out, and how to have them run."""
    for mark, count in config.stash.get(_deselected, {}).items():
        _, what, fix = _NEEDS[mark]
        terminalreporter.write_line(f"{count} tests need {what} and were deselected: {fix}")
