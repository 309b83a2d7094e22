import pytest

from leaseboard.algorithms import events
from leaseboard.algorithms.audit import Observation, configurations


def admitted(number, parent=None, at=0):
    return events.ConfigurationAdmitted(
        at=at, configuration=number, parameters={"x": number}, parent=parent
    )


def bounds(at, number, value, units):
    return events.BoundsUpdated(
        at=at, configuration=number, value=value, lower=value - 0.1, upper=value + 0.1, units=units
    )


def trial(at, number, arm, reward, status="ok", reason=""):
    return events.TrialFinished(
        at=at, configuration=number, arm=arm, reward=reward, test=reward - 0.01,
        cpu_seconds=2.0, wall_seconds=3.0, status=status, reason=reason,
    )  # fmt: skip


def probe(at, number, rows, accuracy, status="ok"):
    return events.ProbeFinished(
        at=at, configuration=number, rows=rows, train_accuracy=1.0, test_accuracy=accuracy,
        test_rows=10, cpu_seconds=0.5, wall_seconds=0.5, status=status, reason="",
    )  # fmt: skip


@pytest.fixture
def race():
    """Return six configurations, one for each outcome."""
    return [
        *[admitted(number, parent=0 if number else None) for number in range(6)],
        events.LeaseGranted(at=0, configuration=0, amount=100, slot=0),
        events.LeaseGranted(at=0, configuration=1, amount=10, slot=1),
        bounds(10, 0, 0.5, 10),
        bounds(10, 1, 0.9, 10),
        events.ChampionChanged(at=10, configuration=0, previous=None),
        events.Paused(at=10, configuration=1, units=10, reason="lease over"),
        events.LeaseGranted(at=10, configuration=2, amount=10, slot=1),
        events.Eliminated(at=15, configuration=2, reason="worse than the champion"),
        events.LeaseGranted(at=15, configuration=3, amount=10, slot=1),
        events.ConfigurationFailed(at=16, configuration=3, reason="diverged"),
        events.LeaseGranted(at=16, configuration=4, amount=20, slot=1),
        events.LeaseGranted(at=36, configuration=4, amount=40, slot=1, fresh=False),
        bounds(40, 4, 0.4, 24),
        events.Measured(at=40, value=0.45),
    ]


def test_every_outcome_has_its_reason(race):
    reported = [(record.outcome, record.reason) for record in configurations(race)]

    assert reported == [
        ("champion", ""),
        ("paused", "lease over"),
        ("eliminated", "worse than the champion"),
        ("failed", "diverged"),
        ("live", ""),
        ("pending", ""),
    ]


def test_units_add_up_over_fresh_starts():
    log = [
        admitted(0),
        events.LeaseGranted(at=0, configuration=0, amount=10),
        events.Paused(at=10, configuration=0, units=10),
        events.LeaseGranted(at=20, configuration=0, amount=20),
        bounds(25, 0, 0.1, 5),
        events.Paused(at=27, configuration=0, units=7),
    ]

    assert configurations(log)[0].units == 17


class TestTrials:
    log = (
        admitted(0),
        admitted(1),
        admitted(2, parent=0),
        trial(1, 2, arm=0, reward=0.7),
        admitted(3, parent=1, at=1),
        trial(2, 3, arm=1, reward=0.6),
        admitted(4, parent=0, at=2),
        trial(3, 4, arm=0, reward=0.65),
        admitted(5, parent=0, at=3),
        trial(4, 5, arm=0, reward=float("nan"), status="crash", reason="no memory"),
        events.ChampionChanged(at=4, configuration=2, previous=None),
        events.Eliminated(at=4, configuration=1, reason="upper bound 0.65 below 0.7"),
    )

    def test_an_arm_scores_its_best_trial_and_counts_all(self):
        arm = configurations(self.log)[0]

        assert (arm.score, arm.test, arm.units, arm.cpu_seconds) == (0.7, 0.69, 3, 6.0)
        assert [seen.value for seen in arm.observations] == [0.7, 0.65]

    def test_trials_share_the_fate_of_their_arm(self):
        records = configurations(self.log)

        assert records[3].outcome == "eliminated"
        assert records[3].reason == "arm 1: upper bound 0.65 below 0.7"
        assert (records[2].outcome, records[4].outcome) == ("champion", "paused")
        assert (records[5].outcome, records[5].reason) == ("failed", "no memory")


def test_probes_score_the_last_and_add_up_rows():
    log = [admitted(0), probe(100, 0, 100, 0.8), probe(300, 0, 200, 0.85)]
    record = configurations(log)[0]

    assert (record.score, record.units, record.cpu_seconds) == (0.85, 300, 1.0)
    assert record.observations == [Observation(100, 0.8), Observation(300, 0.85)]


def scored_log(loss):
    return [
        events.Started(at=0, algorithm="a", environment="stream", unit="examples", budget=30,
                       capacity=1, seed=0, settings={}, loss=loss),
        admitted(0),
        events.LeaseGranted(at=0, configuration=0, amount=10, slot=0),
        bounds(10, 0, 0.5, 10),
        events.Paused(at=10, configuration=0, units=10),
        events.LeaseGranted(at=20, configuration=0, amount=20, slot=0),
        bounds(30, 0, 0.7, 10),
        events.ConfigurationScored(at=30, configuration=0, value=4.0, units=20),
        events.Finished(at=30, reason="", score=3.0, metric="progressive_mse", direction="min"),
    ]  # fmt: skip


def test_a_score_is_by_the_jobs_metric_over_all_leases():
    (record,) = configurations(scored_log("clipped_absolute_error"))

    assert (record.score, record.units) == (4.0, 20)
    assert (record.metric, record.loss) == ("progressive_mse", "clipped_absolute_error")
    assert [seen.value for seen in record.observations] == [0.5, 0.7]
