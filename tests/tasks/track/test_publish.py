import json
from types import SimpleNamespace

import pytest

from leaseboard.tasks.track import Tracker, TrackingError
from leaseboard.tasks.track.publish import publish
from leaseboard.tasks.track.store import open_store


@pytest.fixture
def uri(tmp_path):
    return f"sqlite:///{tmp_path / 'mlflow.db'}"


def results(*keys):
    return [
        SimpleNamespace(
            key=key, data="synthetic:fried", direction="min", status="ok", metric="progressive_mse"
        )
        for key in keys
    ]


def test_the_suites_run_carries_the_board_the_report_and_its_figures(uri, tmp_path):
    tracker = Tracker(uri, "quick", ["a", "b"])
    tracker.close("FINISHED", {"ok": 2})
    page = tmp_path / "report.html"
    page.write_text("<p>board</p>")
    for board in ("old", "| # | algorithm |"):  # a second run replaces the first's
        place = publish(
            uri, "quick", results("b", "a"), board=board, names={"synthetic:fried": "fried"},
            files=[page], figures="<svg/>",
        )  # fmt: skip
    client = open_store(uri)
    run = client.get_run(tracker.run_id)
    note = run.data.tags["mlflow.note.content"]
    assert note.startswith("| # | algorithm |\n")
    assert f"[All jobs]({place})" in note
    assert "[fried](#/experiments/" in note
    listed = [file.path for file in client.list_artifacts(run.info.run_id)]
    assert listed == ["figures.html", "report.html"]
    for name in ("quick", "quick/configurations"):
        tags = client.get_experiment_by_name(name).tags
        assert tags["mlflow.experimentKind"] == "custom_model_development"
    tags = client.get_experiment_by_name("quick").tags
    assert tags["mlflow.note.content"] == note
    assert len([tag for tag in tags if tag.startswith("mlflow.sharedViewState.")]) == 2


def test_configurations_open_with_what_became_of_each_as_columns(uri):
    Tracker(uri, "quick", ["a"]).close("FINISHED", {})
    publish(uri, "quick", results("a"), board="| # |")
    client = open_store(uri)
    kept = client.get_experiment_by_name("quick/configurations")
    place = f"#/experiments/{kept.experiment_id}/runs?viewStateShareKey=configurations"

    for name in ("quick", "quick/configurations"):
        assert place in client.get_experiment_by_name(name).tags["mlflow.note.content"]
    stored = json.loads(kept.tags["mlflow.sharedViewState.configurations"])
    columns = json.loads(stored["state"])["selectedColumns"]
    assert {"metrics.`score`", "metrics.`lease`", "metrics.`bound.lower`", "metrics.`bound.upper`",
            "tags.`leaseboard.outcome`"} <= set(columns)  # fmt: skip
    assert len([tag for tag in kept.tags if tag.startswith("mlflow.sharedViewState.")]) == 2


def test_a_suite_that_was_never_tracked_is_named(uri):
    with pytest.raises(TrackingError, match="no experiment 'quick'"):
        publish(uri, "quick", results("a"), board="")
    Tracker(uri, "quick", ["a"]).close("FINISHED", {})
    with pytest.raises(TrackingError, match="no run of these jobs of 'quick'"):
        publish(uri, "quick", results("other"), board="")
