import math

import pytest

from leaseboard.algorithms.events import Started, TrialFinished
from leaseboard.tasks.score.speed_up import needed, progress_of, reference_of, speed_ups


def trials(*rewards, cpu=2.0):
    return [
        TrialFinished(at=n, configuration=n, arm=0, reward=reward, test=None,
                      cpu_seconds=cpu, wall_seconds=cpu)
        for n, reward in enumerate(rewards, start=1)
    ]  # fmt: skip


def progress(*rewards, cpu=2.0):
    return progress_of(trials(*rewards, cpu=cpu))


def test_progress_is_a_running_best_with_running_costs():
    found = progress(0.5, 0.4, 0.7)

    assert found.tolist() == [[1, 2, 3], [2, 4, 6], [0.5, 0.5, 0.7]]
    assert needed(found, 0.6).tolist() == [3, 6]
    assert needed(found, 0.8).tolist() == [math.inf] * 2


def test_a_log_without_trials_has_no_progress():
    started = Started(at=0, algorithm="x", environment="pulls", unit="trials", budget=0,
                      capacity=None, seed=0, settings={})  # fmt: skip

    assert progress_of([started]) is None


def test_the_first_known_reference_is_taken():
    assert reference_of(["average", "tpe-joint", "ucb"]) == "tpe-joint"
    assert reference_of(["ucb"]) is None


def test_speed_ups_are_medians_and_never_is_zero():
    reference = progress(0.5, 0.5, 0.6, 0.7)  # its 0.7 took 4 trials and 8 seconds
    runs = {
        ("d", 0): {"tpe-joint": reference, "fast": progress(0.7, cpu=1.0)},
        ("d", 1): {"tpe-joint": reference, "fast": progress(0.1, 0.8, cpu=1.0)},
        ("d", 2): {"tpe-joint": reference, "fast": progress(0.1, 0.1)},
        ("e", 0): {"fast": progress(0.9)},
    }
    (found,) = speed_ups(runs, "tpe-joint").itertuples()

    assert (found.data, found.name, found.runs, found.reached) == ("d", "fast", 3, 2)
    assert (found.units, found.cpu_seconds) == (2.0, 2.0)
    assert (found.times_units, found.times_cpu) == (2.0, 4.0)


def test_over_several_datasets_the_medians_over_all_come_first():
    runs = {
        ("d", 0): {"average": progress(0.1, 0.9), "x": progress(0.9)},
        ("d", 1): {"average": progress(0.1, 0.9), "x": progress(0.1)},
        ("e", 0): {"average": progress(0.1, 0.9), "x": progress(0.9)},
    }
    found = list(speed_ups(runs, "average").itertuples())

    assert [each.data for each in found] == ["", "d", "e"]
    assert (found[0].runs, found[0].reached, found[0].times_units) == (3, 2, 2.0)


def test_when_most_runs_never_arrive_the_median_is_never():
    runs = {("d", n): {"average": progress(0.9), "slow": progress(0.1)} for n in range(3)}
    (found,) = speed_ups(runs, "average").itertuples()

    assert (found.reached, found.units, found.times_units) == (0, math.inf, 0.0)


def test_trials_without_cost_are_not_faster_in_seconds():
    runs = {("d", 0): {"average": progress(0.5, 0.9, cpu=0.0), "x": progress(0.9, cpu=0.0)}}

    assert speed_ups(runs, "average")["times_cpu"][0] == pytest.approx(1.0)
