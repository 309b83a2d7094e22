"""Every kind of event is read, or left out by name, by everyone who reads events."""

import dataclasses

import pytest

from leaseboard.algorithms import events, registry
from leaseboard.algorithms.audit import Auditor, configurations, table
from leaseboard.algorithms.base import play
from leaseboard.algorithms.checks import tiny_environment
from leaseboard.algorithms.events import (
    BoundsUpdated,
    ChampionChanged,
    ClassChampionChanged,
    ConfigurationAdmitted,
    ConfigurationFailed,
    ConfigurationScored,
    Eliminated,
    ExploitivenessViolated,
    FeaturesExpanded,
    Finished,
    LeaseGranted,
    Measured,
    MonotonicityViolated,
    Paused,
    ProbeFinished,
    Started,
    TrialFinished,
    of,
)
from leaseboard.tasks.jobs.job import Job
from leaseboard.tasks.jobs.run import failed
from leaseboard.tasks.track.records import configuration_record, job_record

EVERY = [
    Started(at=0, algorithm="a", environment="samples", unit="rows", budget=100, capacity=3,
            seed=7,
            settings={"b": 5}),
    *(ConfigurationAdmitted(at=0, configuration=n, parameters={"rate": n}) for n in range(7)),
    *(LeaseGranted(at=0, configuration=n, amount=50, slot=n) for n in range(3)),
    ChampionChanged(at=0, configuration=0, previous=None),
    Measured(at=1, value=0.5),
    BoundsUpdated(at=10, configuration=0, value=0.5, lower=0.4, upper=0.6, units=10),
    TrialFinished(at=11, configuration=5, arm=4, reward=0.7, test=0.6, cpu_seconds=1,
                  wall_seconds=1),
    ProbeFinished(at=20, configuration=6, rows=9, train_accuracy=0.9, test_accuracy=0.8,
                  test_rows=9, cpu_seconds=1, wall_seconds=1),
    Paused(at=30, configuration=1, units=30, reason="lease over"),
    Eliminated(at=40, configuration=2, reason="worse"),
    ConfigurationFailed(at=50, configuration=3, reason="diverged"),
    FeaturesExpanded(at=60, parents=("x1", "x2", "x3"), size=12, degree=2, found=(2, 3)),
    ClassChampionChanged(at=75, configuration=1, label="red", previous=0),
    MonotonicityViolated(at=78, configuration=1, rows=1000, rise=0.01, worth=0.08),
    ExploitivenessViolated(at=79, configuration=1, rows=1000, fall=0.03),
    ConfigurationScored(at=80, configuration=1, value=0.25, units=80),
    Measured(at=90, value=0.25),
    Finished(at=100, reason="budget spent", score=0.25, metric="loss", direction="min"),
]  # fmt: skip

OTHERWISE = {
    Started: {"unit": "examples", "budget": 200},
    ConfigurationAdmitted: {"parameters": {"rate": 99}},
    LeaseGranted: {"at": 5, "amount": 45},
    BoundsUpdated: {"value": 0.55, "lower": 0.45},
    ConfigurationScored: {"value": 0.125},
    Paused: {"reason": "tired"},
    Eliminated: {"reason": "hopeless"},
    ConfigurationFailed: {"reason": "timeout"},
    ChampionChanged: {"configuration": 1},
    TrialFinished: {"reward": 0.75},
    ProbeFinished: {"test_accuracy": 0.85},
    FeaturesExpanded: {"size": 13, "parents": ("x1", "x9"), "found": (2, 4)},
    ClassChampionChanged: {"label": "blue"},
    MonotonicityViolated: {"rise": 0.02, "worth": 0.16},
    ExploitivenessViolated: {"fall": 0.04},
    Measured: {"value": 0.75},
    Finished: {"metric": "error"},
}
"""Other values of fields of every kind; each reader of the kind reports something else then."""

RESULT = dataclasses.replace(
    failed(Job(algorithm="a", data="d", seed=1, environment_seed=1), "ok", ""),
    environment="samples",
)


def recorded(log):
    """Return what MLflow and an archive receive of a log."""
    considered = configurations(log)
    return (
        job_record(RESULT, log),
        [configuration_record(one, RESULT) for one in considered],
        table(considered),
    )


def reported_otherwise(kind):
    place = next(i for i, event in enumerate(EVERY) if type(event) is kind)
    changed = dataclasses.replace(EVERY[place], **OTHERWISE[kind])
    return [*EVERY[:place], changed, *EVERY[place + 1 :]]


def test_the_union_holds_every_kind_and_the_log_above_too():
    defined = {cls for cls in vars(events).values() if isinstance(cls, type)
               and issubclass(cls, events.Event) and not cls.__subclasses__()}  # fmt: skip

    assert set(events.KINDS.values()) == defined
    assert {type(event) for event in EVERY} == defined
    assert set(OTHERWISE) == defined


def test_one_event_of_every_kind_passes_every_reader():
    watching = Auditor()
    for event in EVERY:
        watching(event)

    assert watching.close() is EVERY[-1]
    recorded(EVERY)


@pytest.mark.parametrize("kind", OTHERWISE, ids=lambda kind: kind.__name__)
def test_what_an_event_carries_reaches_mlflow(kind):
    changed = reported_otherwise(kind)

    assert recorded(changed) != recorded(EVERY)


def test_the_union_of_the_nodes_parents_is_in_mlflow():
    environment = tiny_environment("holdout")
    log = list(play("apple-parallel", registry.build("apple-parallel"), environment, seed=1))
    (merged, *_) = of(log, FeaturesExpanded)
    _, (run, *_), artifact = recorded(log)
    features = [(m.step, m.value) for m in run.metrics if m.key == "features"]

    assert features == [(merged.at, merged.size)]
    assert run.tags["leaseboard.features.parents"].startswith(f'["{merged.parents[0]}"')
    assert run.tags["leaseboard.features.found"] == str(list(merged.found))
    assert merged.size in artifact["data"][0]
