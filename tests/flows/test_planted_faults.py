"""Faults that are planted outside of the product, and the sweep or the machine that finds each.

The sweeps and the state machines find nothing today; these tests show that they would.
"""

from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from leaseboard.tasks.archive import runs
from leaseboard.tasks.live.update import Update
from leaseboard.tasks.machine.disk import reach
from leaseboard.tasks.store.live_model import State
from leaseboard.tasks.store.live_tables import Changes
from tests.flows.swept import update
from tests.flows.test_any_order import machine_of
from tests.machines import run_machine
from tests.sweep import Sweep
from tests.tasks.live.test_any_order import LiveModelMachine


def sent_twice(patch):
    """Leave a notification that was delivered in the outbox."""
    patch.setattr(State, "remove_sent", lambda *_: None)


def learned_twice(patch):
    """Write what models have learned before the rows that they have learned, and apart."""
    whole, commit = State.transaction, Update.commit

    @contextmanager
    def apart(state):
        yield

    def models_first(given, changes, **ends):
        patch.setattr(State, "transaction", whole)
        models = Changes(changes.at, lifecycle=given.lifecycle.dump())
        given.shadow.write_to(models)
        given.state.commit(models)
        reach("live.after-batch")
        commit(given, changes, **ends)
        patch.setattr(State, "transaction", apart)

    patch.setattr(State, "transaction", apart)
    patch.setattr(Update, "commit", models_first)


def answered_before_it_is_logged(patch):
    """Log predictions when the next ones are made."""
    write = State.log_served

    def log(state, predictions):
        waiting = vars(state).setdefault("waiting", [])
        waiting.append(predictions)
        if len(waiting) > 1:
            write(state, waiting.pop(0))

    patch.setattr(State, "log_served", log)


@pytest.mark.parametrize(
    ("plant", "found"),
    [(sent_twice, "outbox"), (answered_before_it_is_logged, "each_prediction_is_logged")],
)
def test_the_machine_of_a_live_model_finds(plant, found, monkeypatch):
    plant(monkeypatch)
    with pytest.raises(AssertionError) as failed:
        run_machine(LiveModelMachine, 20, 15, shrink=False)
    assert found in "".join(map(str, failed.traceback))


def test_the_sweep_of_an_update_finds_a_label_that_is_learned_twice(monkeypatch, swept):
    learned_twice(monkeypatch)

    def prepare(_):
        world = swept.new()
        world.deliver(1, world.day(1))

    sweep = Sweep(
        update(1), swept.folder, prepare, swept.outcome, before=swept.clear,
        points=("live.after-batch",),
    )  # fmt: skip
    sweep.run()
    (fault,) = sweep.faults
    assert fault.startswith("live.after-batch=kill@1 (-9,")


def test_the_machine_of_a_run_folder_finds_a_job_that_a_merge_loses(
    monkeypatch, zygote, empty_store
):
    put = runs._put
    monkeypatch.setattr(runs, "_put", lambda jobs, out: put(jobs[:-1], out))
    machine = machine_of(monkeypatch, zygote, empty_store)()
    machine.run("out")
    machine.copy()
    first = SimpleNamespace(draw=lambda _: machine.copies[0])
    with pytest.raises(AssertionError, match="<="):
        machine.merge(first, "", 1)
