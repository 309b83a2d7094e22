"""A full disk is the machine's fault: no place where a job writes makes it the algorithm's."""

import errno
import os

import pytest
import sqlalchemy as sa

from leaseboard.algorithms.errors import SkipError
from leaseboard.algorithms.events import LogWriter
from leaseboard.tasks.evaluate import trials
from leaseboard.tasks.fetch.loading import load
from leaseboard.tasks.jobs.job import Job
from leaseboard.tasks.pool.workers import run_one
from tests.environments import environment_of

ARM = {"space": "fast", "arms": ["gaussian_nb"]}
LISTED = {"configurations": 2, "initial_rows": 50}
POLICY = Job("average", "sklearn:wine", 0, 0, budget=2, environment=ARM)
SELECTION = Job("full-run", "sklearn:wine", 0, 0, environment=LISTED)


def full(*_, **__):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/somewhere")


def full_at_the_end(writer, *_, finish=LogWriter.__exit__):
    finish(writer)
    full()


def of_one_page(*given, made=sa.create_engine, **more):
    engine = made(*given, **more)
    sa.event.listen(engine, "connect", lambda db, _: db.execute("PRAGMA max_page_count=1"))
    return engine


@pytest.mark.parametrize(
    ("work", "place", "fault"),
    [
        (POLICY, "algorithms.events.LogWriter.__init__", full),
        (POLICY, "algorithms.events.LogWriter.__call__", full),
        (POLICY, "algorithms.events.LogWriter.__exit__", full_at_the_end),
        (POLICY, "tasks.evaluate.trials._fit", full),
        (SELECTION, "tasks.evaluate.probes._verdicts", full),
        (POLICY, "tasks.store.database.sa.create_engine", of_one_page),
        (SELECTION, "tasks.store.database.sa.create_engine", of_one_page),
    ],
)
def test_it_is_skipped_with_what_to_do_and_runs_when_there_is_space(
    work, place, fault, tmp_path, monkeypatch
):
    monkeypatch.setenv("LEASEBOARD_CACHE", str(tmp_path / "cache"))
    with monkeypatch.context() as patch:
        patch.setattr(f"leaseboard.{place}", fault)
        ended = run_one(work, tmp_path)
    again = run_one(work, tmp_path)

    assert (ended.status, again.status) == ("skipped", "ok"), ended.reason
    assert ended.reason.startswith("the disk is full")
    assert ended.reason.endswith("free some of it, and run the same command again")


def test_a_trial_that_finds_no_space_is_not_recorded(tmp_path, monkeypatch):
    monkeypatch.setenv("LEASEBOARD_CACHE", str(tmp_path))
    env = environment_of("pulls", load(POLICY.data), POLICY)
    env._trials.limits = None
    with monkeypatch.context() as patch:
        patch.setattr(trials, "_fit", full)
        with pytest.raises(SkipError, match="the disk is full"):
            list(env.pull(0))

    assert list(env.pull(0))[2].status == "ok"
