"""MLflow runs as plain values."""

from leaseboard.algorithms.audit import Configuration, Observation, configurations
from leaseboard.algorithms.events import Measured
from leaseboard.tasks.track.records import Metric, configuration_record, job_record, select


def test_a_job_carries_what_the_record_guarantee(race, result):
    made = result(environment_options={"log_target": False}, libraries="numpy 1.2, a b 3", pid=7)
    record = job_record(made, race())

    assert record.params.items() >= {
        "environment.log_target": "False",
        "algorithm": "chacha", "data": "synthetic:fried", "digest": "ab" * 32, "seed": "7",
        "settings.b": "5", "settings.tune": "interactions", "version": "v1", "budget": "200",
        "unit": "examples", "versions.numpy": "1.2", "versions.a b": "3",
    }.items()  # fmt: skip
    assert record.tags["leaseboard.level"] == "job"
    assert record.tags["leaseboard.status"] == "ok"
    assert record.tags["leaseboard.key"] == "k1"
    assert record.tags["leaseboard.host"] == "here"
    assert record.tags["leaseboard.pid"] == "7"
    assert Metric("score", 0.25, 0) in record.metrics
    assert Metric("models_per_example", 4.5, 0) in record.metrics
    curve = [m for m in record.metrics if m.key == "progressive_mse"]
    assert [m.step for m in curve] == [1, 2, 5, 10, 20, 50, 200]
    assert record.data["name"] == "synthetic:fried"
    assert record.data["digest"] == ("ab" * 32)[:36]
    assert record.end - record.start == 2500


def test_a_configuration_carries_leases_and_bounds_by_units(race, result):
    record = configuration_record(configurations(race())[1], result())

    assert record.key == "k1/1"
    assert record.tags["leaseboard.job"] == "k1"
    assert record.tags["leaseboard.outcome"] == "paused"
    assert record.tags["leaseboard.reason"] == "lease over"
    assert record.params == {"interactions": '["ab"]', "learning rate": "0.5", "a_b": "True"}
    assert Metric("lease", 50, 0) in record.metrics
    assert Metric("loss", 1.02, 50) in record.metrics
    assert Metric("bound.lower", 0.52, 50) in record.metrics
    assert Metric("bound.upper", 1.52, 50) in record.metrics
    assert Metric("score", 1.02, 50) in record.metrics
    assert Metric("units", 50, 50) in record.metrics


def test_long_runs_are_thinned_and_keep_their_ends(result):
    seen = tuple(Observation(at, 1 / at, 0.0, 1.0) for at in range(1, 5001))
    one = Configuration(0, {}, 0, observations=seen, score=1 / 5000)
    losses = [m for m in configuration_record(one, result()).metrics if m.key == "loss"]

    assert len(losses) <= 5
    assert (losses[0].step, losses[-1].step) == (1, 5000)
    curve = [Measured(at=at, value=1.0) for at in range(1, 5001)]
    points = [m for m in job_record(result(), curve).metrics if m.key == "progressive_mse"]
    assert len(points) <= 60


def test_rules_select_the_configurations_that_get_a_run(race):
    made = configurations(race())
    for rule, environment, chosen in (
        ("all", "stream", [0, 1, 2, 3, 4]),
        ("none", "stream", []),
        ("top:2", "stream", [0, 1]),  # the champion, then the lowest losses
        ("top:2", "pulls", [0, 2]),  # or the highest rewards
    ):
        assert [c.configuration for c in select(made, rule, environment)] == chosen
