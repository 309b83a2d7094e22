from leaseboard.algorithms import events
from leaseboard.algorithms.events import FeaturesExpanded, Finished, LeaseGranted, Started


def test_a_log_is_the_same_bytes_for_the_same_events(tmp_path):
    log = [
        Started(at=0, algorithm="a", environment="stream", unit="examples", budget=2,
                capacity=1, seed=0,
                settings={}),
        LeaseGranted(at=0, configuration=0, amount=2),
        FeaturesExpanded(at=1, epoch=1, parents=("x1", "x1·x2"), size=5, degree=2),
        Finished(at=2, reason="", score=0.5, metric="m", direction="min"),
    ]  # fmt: skip
    for name in ("one", "two"):
        events.write_log(tmp_path / name, log)

    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert list(events.read_log(tmp_path / "one")) == log
