import os
import pickle
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import numpy as np
import psutil
import pytest

from leaseboard.tasks.evaluate.trials.evaluate import Arrays, Fold, Order, reward_of, run
from leaseboard.tasks.evaluate.trials.worker import (
    TrialLimits,
    TrialWorker,
    close_resting,
    resting,
)
from leaseboard.tasks.processes.subprocesses import Silence, reusable_pids

HERE = Path(__file__).parent


def arrays(task="classification"):
    X = np.arange(24, dtype=np.float32).reshape(12, 2)
    y = (np.arange(12) % 2).astype(np.int64 if task == "classification" else np.float64)
    return Arrays(task, (Fold(X[:6], y[:6], X[6:9], y[6:9], X[9:], y[9:]),))


def order(learner):
    return Order(f"broken_learners:{learner}", {}, 0)


@pytest.fixture
def learners(monkeypatch):
    monkeypatch.syspath_prepend(str(HERE))
    yield
    sys.modules.pop("broken_learners", None)


@pytest.fixture
def worker(learners):
    with closing(
        TrialWorker(TrialLimits(cpu_seconds=0.3, memory_mb=1500, wall_factor=10))
    ) as worker:
        yield worker


def test_every_ending_is_an_outcome_and_the_next_order_is_answered(worker):
    spins = worker.run(order("Spins"), arrays())
    assert (spins.status, spins.reward) == ("timeout", 0.0)
    assert spins.reason == "over the limit of 0.3 s of CPU time"
    raises = worker.run(order("Raises"), arrays())
    assert (raises.status, raises.reason) == ("crash", "ValueError: this never works")
    dies = worker.run(order("Dies"), arrays())
    assert (dies.status, dies.reason) == ("crash", "the process ended with exit code 7")
    hoards = worker.run(order("Hoards"), arrays())
    assert hoards.status == "memout"
    prints = worker.run(order("Prints"), arrays())
    assert (prints.status, prints.reward, prints.test) == ("ok", pytest.approx(1 / 3), 2 / 3)
    assert 0 <= prints.cpu_seconds < 0.3


def test_the_limit_counts_the_trial_and_not_the_import_of_its_learner(worker):
    first, second = (worker.run(Order("slow_import:Quick", {}, 0), arrays()) for _ in range(2))

    assert (first.status, second.status) == ("ok", "ok")
    assert first.cpu_seconds < 0.3


def test_what_is_imported_before_any_trial_has_a_price_and_is_not_imported_again(worker):
    worker.warm([("slow_import:Quick", {})])
    pid, spent = worker.pid, worker.cpu_seconds

    assert spent > 0.3  # what `slow_import` takes
    assert worker.run(Order("slow_import:Quick", {}, 0), arrays()).status == "ok"
    assert worker.pid == pid


def test_an_import_without_end_is_a_crash_with_the_reason(learners, monkeypatch):
    monkeypatch.setattr("leaseboard.tasks.evaluate.trials.worker.IMPORT_SECONDS", 0.0)
    with closing(TrialWorker(TrialLimits(cpu_seconds=0.3, memory_mb=1500))) as worker:
        outcome = worker.run(Order("slow_import:Quick", {}, 0), arrays())

    assert (outcome.status, outcome.reason) == ("crash", "its import did not end in 0 seconds")


@pytest.mark.slow
def test_a_trial_that_sleeps_is_ended_by_the_wall(learners):
    limits = TrialLimits(cpu_seconds=0.3, memory_mb=1500, wall_factor=10)
    with closing(TrialWorker(limits)) as worker:
        sleeps = worker.run(order("Sleeps"), arrays())

    assert (sleeps.status, sleeps.reason) == ("timeout", "over the limit of 3 s of wall time")


class Waiting:
    """A trial's process on a busy machine: it gets so much CPU time each time one looks."""

    pid, code = 1, None

    def __init__(self, monkeypatch, used):
        self.looks, self.used = 0, np.cumsum([0.0, *used])
        monkeypatch.setattr(psutil, "Process", lambda _: self)

    def answer(self, _):
        self.looks += 1
        return pickle.dumps(("done", 0.0)) if self.looks == len(self.used) else Silence.LATE

    def cpu_times(self):
        return self.used[self.looks], 0.0


@pytest.mark.parametrize(
    ("used", "answer"),
    [([0.041] * 9, "done"), ([0.041] * 5 + [0.039] * 4, None), ([0.0] * 9, None)],
    ids=["waits for a processor", "wants one no more", "sleeps"],
)
def test_a_trial_that_waits_for_a_processor_is_not_ended(monkeypatch, used, answer):
    """It goes on as long as it uses more than a fiftieth of its limit from look to look."""
    worker = TrialWorker(TrialLimits(cpu_seconds=2.0))
    with monkeypatch.context() as patch:
        patch.setattr(worker, "_process", Waiting(patch, used))
        assert worker._patiently() == answer


def test_a_resting_worker_takes_the_next_jobs_arrays_and_is_replaced_when_it_dies(learners):
    limits = TrialLimits(cpu_seconds=5.0, memory_mb=1500)
    other = arrays()
    other.folds[0].validation_y[:] = 1  # what the learner says of all rows
    close_resting()  # those of other tests
    try:
        with resting(limits) as worker:
            first, pid = worker.run(order("Prints"), arrays()), worker.pid
        assert pid in reusable_pids()
        with resting(limits) as worker:
            second = worker.run(order("Prints"), other)
            assert worker.pid == pid
        assert (first.reward, second.reward) == (pytest.approx(1 / 3), 1.0)

        os.kill(pid, signal.SIGKILL)
        psutil.Process(pid).wait()
        with resting(limits) as worker:
            third = worker.run(order("Prints"), other)
            assert worker.pid != pid
        assert (third.status, third.reward) == ("ok", second.reward)
    finally:
        close_resting()
    assert pid not in reusable_pids()


def test_predictions_that_are_not_numbers_diverge(learners):
    assert run(order("NotANumber"), arrays("regression")).status == "diverged"


def test_a_regressions_reward_is_one_half_for_the_mean():
    y = np.array([1.0, 2.0, 3.0])

    assert reward_of("regression", y, np.full(3, 2.0)) == pytest.approx(0.5)
    assert reward_of("regression", y, y) == 1.0
    assert reward_of("regression", np.ones(3), np.ones(3)) == 1.0
    assert reward_of("regression", np.ones(3), np.zeros(3)) == 0.0


def test_fidelity_is_a_share_of_the_training_rows():
    full = Order("sklearn.neighbors:KNeighborsClassifier", {"n_neighbors": 3}, 0)
    share = Order(full.estimator, full.values, 0, fidelity=0.5)

    assert run(full, arrays()).status == "ok"
    assert run(share, arrays()).status == "ok"
    starved = Order(full.estimator, full.values, 0, fidelity=1 / 3)
    assert run(starved, arrays()).status == "crash"  # three neighbours of two rows


def test_a_worker_ends_in_silence_with_the_process_that_started_it():
    program = (
        "import sys; from leaseboard.tasks.evaluate.trials import worker as w\n"
        "sys.kept = w.TrialWorker(w.TrialLimits()); sys.kept.warm([]); print(sys.kept.pid)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)

    assert done.stderr == b""
    assert not psutil.pid_exists(int(done.stdout))
