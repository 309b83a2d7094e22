import pytest

from leaseboard.algorithms import events
from leaseboard.algorithms.audit import Auditor
from leaseboard.algorithms.errors import AuditError

START = events.Started(
    at=0, algorithm="a", environment="stream", unit="examples", budget=10, capacity=2, seed=0,
    settings={},
)  # fmt: skip
FINISH = events.Finished(at=10, reason="", score=1.0, metric="m", direction="min")


def admit(*numbers, parent=None):
    return [
        events.ConfigurationAdmitted(at=0, configuration=n, parameters={}, parent=parent)
        for n in numbers
    ]


def lease(configuration, at=0, slot=None, fresh=True, amount=5):
    return events.LeaseGranted(
        at=at, configuration=configuration, amount=amount, slot=slot, fresh=fresh
    )


def measured(at):
    return events.Measured(at=at, value=0)


def gone(configuration, at=0):
    return events.Eliminated(at=at, configuration=configuration, reason="worse")


def crowned(configuration, previous=None):
    return events.ChampionChanged(at=0, configuration=configuration, previous=previous)


def bounds(lower, upper, at=0):
    return events.BoundsUpdated(at=at, configuration=0, value=0, lower=lower, upper=upper, units=1)


TRIAL = events.TrialFinished(at=1, configuration=1, arm=0, reward=1, cpu_seconds=0, wall_seconds=0)
PROBE = events.ProbeFinished(
    at=1, configuration=0, rows=1, train_accuracy=1, test_accuracy=1, test_rows=1, cpu_seconds=0,
    wall_seconds=0,
)  # fmt: skip
PAUSED = events.Paused(at=5, configuration=1, units=5)


def audit(*log):
    auditor = Auditor()
    for event in log:
        auditor(event)
    return auditor.close()


def test_an_honest_log_passes():
    honest = [
        *[START, *admit(0, 1, 2), crowned(0), lease(0, slot=0), lease(1, slot=1), bounds(0, 1, 5)],
        *[PAUSED, lease(2, at=5, slot=1), lease(0, at=5, slot=0, fresh=False, amount=10)],
        *[gone(2, at=9), lease(1, at=9, slot=1), FINISH],
    ]

    assert audit(*honest) == FINISH


VIOLATIONS = {
    "first event is not Started": [FINISH],
    "started twice": [START, START],
    "without Finished": [START],
    "after Finished": [START, FINISH, FINISH],
    "time went back": [START, measured(5), measured(4)],
    "of a budget of 10": [START, measured(11)],
    "admitted, expected 0": [START, *admit(1)],
    "admitted, expected 1": [START, *admit(0, 0)],
    "4 was never admitted": [START, *admit(0, parent=4)],
    "0 was never admitted": [START, lease(0)],
    "not positive": [START, *admit(0), lease(0, amount=0)],
    "extended but it is not live": [START, *admit(0), lease(0, fresh=False)],
    "paused but it is not live": [START, *admit(0, 1), PAUSED],
    "while 0 holds it": [START, *admit(0, 1), lease(0, slot=1), lease(1, slot=1)],
    "capacity is 2": [START, *admit(0, 1, 2), lease(0), lease(1), lease(2)],
    "has a LeaseGranted after it left": [START, *admit(0), gone(0), lease(0)],
    "the champion 0 left": [START, *admit(0), crowned(0), gone(0)],
    "as if it were 3": [START, *admit(0), crowned(0, previous=3)],
    "has 1 above upper bound": [START, *admit(0), bounds(1, 0)],
    "has nan above upper bound": [START, *admit(0), bounds(float("nan"), 0)],
    "has a TrialFinished after": [START, *admit(0, 1), gone(0), TRIAL],
    "has a ProbeFinished after": [START, *admit(0), gone(0), PROBE],
    "scored on 4 units of 3": [
        *[START, *admit(0)],
        events.ConfigurationScored(at=3, configuration=0, value=1, units=4),
    ],
}


@pytest.mark.parametrize("words", VIOLATIONS)
def test_each_violation_is_caught(words):
    with pytest.raises(AuditError, match=words):
        audit(*VIOLATIONS[words])
