"""The kind of event on the page of the manual: what forgetting costs, and where it arrives."""

import json
import re
import shutil
import subprocess
import sys

import pytest

from leaseboard.algorithms import events
from leaseboard.algorithms.audit import Auditor
from leaseboard.algorithms.errors import AuditError
from leaseboard.algorithms.events import (
    ChampionChanged,
    ConfigurationAdmitted,
    Eliminated,
    Finished,
    Started,
)
from leaseboard.algorithms.log_format import read_log, write_log
from leaseboard.tasks.folder import results
from leaseboard.tasks.jobs.job import Result
from leaseboard.tasks.report.sections.jobs import job_payload
from leaseboard.tasks.track.store import open_store
from leaseboard.tasks.track.tracker import Tracker
from tests.docs import pages

pytestmark = pytest.mark.slow

(PLANTED,) = (
    block.text
    for block in pages.blocks(pages.DOCS / "how-to" / "add-a-kind-of-event.md")
    if block.language == "python"
)
READ = ("__init__", "caches", "errors", "events", "audit", "configurations")
YIELDS = """
from collections.abc import Iterator

from leaseboard.algorithms.events import Event, LossesCombined


def run() -> Iterator[Event]:
    yield LossesCombined(at=0, weights=(0.25, 0.75))
"""


@pytest.fixture
def mypy_says(tmp_path):
    """Return mypy's errors in a copy of the events and their readers with `planted`, by file."""

    def check(planted, *, joined=True):
        room = tmp_path / "leaseboard" / "algorithms"
        shutil.rmtree(room, ignore_errors=True)
        room.mkdir(parents=True)
        (room.parent / "__init__.py").touch()
        for name in READ:
            shutil.copy(pages.ROOT / "algorithms" / f"{name}.py", room)
        text = (room / "events.py").read_text()
        text = text.replace("\nEvent: TypeAlias", f"\n{planted}\n\nEvent: TypeAlias")
        if joined:
            text = text.replace("\n    | Finished\n)", "\n    | Finished\n    | LossesCombined\n)")
        (room / "events.py").write_text(text)
        (room / "mine.py").write_text(YIELDS)
        done = subprocess.run(
            [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--no-error-summary",
             "--cache-dir", str(tmp_path / "cache"), "leaseboard"],
            cwd=tmp_path, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert not done.stderr
        found = {}
        for line in done.stdout.splitlines():
            if match := re.match(r"leaseboard/algorithms/(\w+)\.py:\d+: error: (.*)", line):
                found.setdefault(match[1], []).append(match[2])
        return found

    return check


def test_a_decision_is_decided_in_one_file_and_forgetting_is_a_type_error(mypy_says):
    assert mypy_says(PLANTED) == {}

    def without(method):
        return re.sub(rf"    def {method}\(.*?\n(?=\n|\Z)", "", PLANTED, flags=re.DOTALL)

    (said,) = mypy_says(without("words"))["mine"]
    assert said.startswith("Cannot instantiate abstract class")
    assert '"words"' in said
    for method in ("measures", "notes"):
        assert method not in without(method)
        assert mypy_says(without(method)) == {}

    (said,) = mypy_says(PLANTED, joined=False)["mine"]
    assert said.startswith('Incompatible types in "yield"')


def test_a_kind_that_changes_a_configuration_has_to_be_read_in_two_more_files(mypy_says):
    found = mypy_says(PLANTED.replace("(Decision)", "(_Happened)"))

    assert set(found) == {"audit", "configurations"}
    assert all("assert_never" in said and "LossesCombined" in said for (said,) in found.values())


@pytest.fixture
def planted(monkeypatch):
    """Return the class of the page, a kind like all others."""
    room = dict(vars(events))
    exec(compile(PLANTED, "the page", "exec", dont_inherit=True), room)
    monkeypatch.setitem(events.KINDS, "LossesCombined", room["LossesCombined"])
    return room["LossesCombined"]


def log_of(planted):
    return [
        Started(at=0, algorithm="a", environment="stream", unit="examples", budget=100,
                capacity=None,
                seed=1, settings={}),
        *(ConfigurationAdmitted(at=0, configuration=n, parameters={"rate": n}) for n in range(2)),
        ChampionChanged(at=0, configuration=0, previous=None),
        planted(at=40, weights=(0.5, 0.5), configuration=1),
        planted(at=60, weights=(0.25, 0.75), configuration=1),
        Finished(at=100, reason="budget spent", score=0.5, metric="loss", direction="min"),
    ]  # fmt: skip


def audit(log):
    auditor = Auditor()
    for event in log:
        auditor(event)
    auditor.close()


def test_it_is_audited_and_reaches_the_page_and_mlflow(planted, tmp_path, empty_store):
    log = log_of(planted)
    folder = results.begin(tmp_path / "run", "k1")
    write_log(folder / results.EVENTS, log)
    (folder / results.LOG).write_text("")
    made = Result(key="k1", algorithm="a", name="a", data="d", digest="", seed=1,
                  environment_seed=1, repetition=0, status="ok", score=0.5, environment="stream",
                  events=results.EVENTS)  # fmt: skip
    results.finish(tmp_path / "run", made)
    audit(read_log(folder / results.EVENTS))
    gone = Eliminated(at=50, configuration=1, reason="worse")
    with pytest.raises(AuditError, match="LossesCombined after it had left"):
        audit([*log[:5], gone, *log[5:]])

    assert [60, "combined", "2 losses of 1: 1"] in job_payload(log)["decisions"]["rows"]

    uri = f"sqlite:///{shutil.copy(empty_store, tmp_path)}"
    Tracker(uri, "s", ["k1"]).log(made, folder)
    client = open_store(uri)
    experiment = client.get_experiment_by_name("s/configurations").experiment_id
    (run,) = client.search_runs([experiment], 'tags.leaseboard.configuration = "1"')
    history = client.get_metric_history(run.info.run_id, "losses.largest")

    assert [(point.step, point.value) for point in history] == [(40, 0.5), (60, 0.75)]
    assert run.data.metrics["losses"] == 2
    assert json.loads(run.data.tags["leaseboard.losses.weights"]) == [0.25, 0.75]
