import json
from urllib.parse import parse_qs

from leaseboard.tasks.track.views import (
    JOBS,
    TAG,
)


def test_a_view_is_what_the_ui_reads():
    key, value = JOBS.tag
    stored = json.loads(value)

    assert key == f"{TAG}jobs"
    assert stored["name"] == "All jobs"
    assert "metrics.`score`" in json.loads(stored["state"])["selectedColumns"]
    assert len(value) < 5000  # an experiment's tag holds no more


def test_a_link_opens_the_view_in_the_model_training_workflow():
    place, _, query = JOBS.link("7", charts=True).partition("?")

    assert place == "#/experiments/7/runs"
    assert parse_qs(query) == {
        "viewStateShareKey": ["jobs"],
        "workflowType": ["machine_learning"],
        "compareRunsMode": ["CHART"],
    }
