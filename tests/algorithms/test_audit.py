import pytest

from leaseboard.algorithms.audit import Auditor
from leaseboard.algorithms.errors import AuditError
from leaseboard.algorithms.events import (
    BoundsUpdated,
    ChampionChanged,
    ConfigurationAdmitted,
    ConfigurationScored,
    Eliminated,
    Finished,
    LeaseGranted,
    Measured,
    Paused,
    ProbeFinished,
    Started,
    TrialFinished,
)

START = Started(
    at=0,
    algorithm="a",
    environment="stream",
    unit="examples",
    budget=10,
    capacity=2,
    seed=0,
    settings={},
)
FINISH = Finished(at=10, reason="", score=1.0, metric="m", direction="min")


def admit(*numbers, parent=None):
    return [
        ConfigurationAdmitted(at=0, configuration=n, parameters={}, parent=parent) for n in numbers
    ]


def lease(configuration, at=0, slot=None, fresh=True, amount=5):
    return LeaseGranted(at=at, configuration=configuration, amount=amount, slot=slot, fresh=fresh)


def audit(*log):
    auditor = Auditor()
    for event in log:
        auditor(event)
    return auditor.close()


def test_an_honest_log_passes():
    finished = audit(
        START,
        *admit(0, 1, 2),
        ChampionChanged(at=0, configuration=0, previous=None),
        lease(0, slot=0),
        lease(1, slot=1),
        BoundsUpdated(at=5, configuration=1, value=0.5, lower=0.4, upper=0.6, units=5),
        Paused(at=5, configuration=1, units=5),
        lease(2, at=5, slot=1),
        lease(0, at=5, slot=0, fresh=False, amount=10),
        Eliminated(at=9, configuration=2, reason="worse"),
        lease(1, at=9, slot=1),
        FINISH,
    )

    assert finished == FINISH


@pytest.mark.parametrize(
    ("log", "words"),
    [
        ([FINISH], "first event is not Started"),
        ([START, START], "started twice"),
        ([START], "without Finished"),
        ([START, FINISH, FINISH], "after Finished"),
        ([START, Measured(at=5, value=0), Measured(at=4, value=0)], "time went back"),
        ([START, Measured(at=11, value=0)], "of a budget of 10"),
        ([START, *admit(1)], "admitted, expected 0"),
        ([START, *admit(0, 0)], "admitted, expected 1"),
        ([START, *admit(0, parent=4)], "never admitted"),
        ([START, lease(0)], "never admitted"),
        ([START, *admit(0), lease(0, amount=0)], "not positive"),
        ([START, *admit(0), lease(0, fresh=False)], "not live"),
        ([START, *admit(0), Paused(at=0, configuration=0, units=0)], "not live"),
        ([START, *admit(0, 1), lease(0, slot=1), lease(1, slot=1)], "while 0 holds it"),
        ([START, *admit(0, 1, 2), lease(0), lease(1), lease(2)], "capacity is 2"),
        (
            [START, *admit(0), Eliminated(at=0, configuration=0, reason=""), lease(0)],
            "has a LeaseGranted after it left",
        ),
        (
            [START, *admit(0), ChampionChanged(at=0, configuration=0, previous=None),
             Eliminated(at=0, configuration=0, reason="")],
            "the champion 0 left",
        ),
        (
            [START, *admit(0), ChampionChanged(at=0, configuration=0, previous=3)],
            "as if it were 3",
        ),
        (
            [START, *admit(0),
             BoundsUpdated(at=0, configuration=0, value=0, lower=1, upper=0, units=1)],
            "above upper bound",
        ),
        (
            [START, *admit(0),
             BoundsUpdated(at=0, configuration=0, value=0, lower=float("nan"), upper=0, units=1)],
            "above upper bound",
        ),
        (
            [START, *admit(0, 1), Eliminated(at=0, configuration=0, reason=""),
             TrialFinished(at=1, configuration=1, arm=0, reward=1, test=None,
                           cpu_seconds=0, wall_seconds=0)],
            "has a TrialFinished after",
        ),
        (
            [START, *admit(0), Eliminated(at=0, configuration=0, reason=""),
             ProbeFinished(at=1, configuration=0, rows=1, train_accuracy=1, test_accuracy=1,
                           test_rows=1, cpu_seconds=0, wall_seconds=0)],
            "has a ProbeFinished after",
        ),
        (
            [START, *admit(0), ConfigurationScored(at=3, configuration=0, value=1, units=4)],
            "configuration 0 scored on 4 units of 3",
        ),
    ],
)  # fmt: skip
def test_each_violation_is_caught(log, words):
    with pytest.raises(AuditError, match=words):
        audit(*log)
