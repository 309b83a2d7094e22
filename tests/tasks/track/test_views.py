import json
from types import SimpleNamespace
from urllib.parse import parse_qs

import pytest

from leaseboard.tasks.track.publish import (
    CONFIGURATIONS,
    JOBS,
    TAG,
    configuration_views,
    data_views,
)


def result(data, direction="min", status="ok"):
    return SimpleNamespace(data=data, direction=direction, status=status, metric="progressive_mse")


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


@pytest.mark.parametrize(("direction", "rising"), [("min", True), ("max", False)])
def test_jobs_of_a_data_set_are_grouped_by_algorithm_with_the_best_first(direction, rising):
    (view,) = data_views([result("a", direction), result("a", status="skipped")], {"a": "A"})

    assert view.name == "A"
    assert view.state["searchFilter"] == "params.data = 'a'"
    assert view.state["groupBy"]["groupByKeys"] == [{"mode": "param", "groupByData": "label"}]
    assert view.state["orderByKey"] == "metrics.`progressive_mse`"
    assert "metrics.`progressive_mse`" in view.state["selectedColumns"]
    assert view.state["orderByAsc"] is rising


def test_configurations_of_a_data_set_have_their_own_columns_with_the_longest_first():
    (view,) = configuration_views([result("a", "max")], {"a": "A"})

    assert (view.name, view.state["orderByKey"]) == ("A", "metrics.`units`")
    assert view.state["searchFilter"] == "tags.leaseboard.data = 'a'"
    assert "metrics.`bound.lower`" in view.state["selectedColumns"]
    assert all(len(each.tag[1]) < 5000 for each in (view, CONFIGURATIONS))


def test_every_data_set_has_a_view_of_its_own():
    views = data_views([result("a"), result("b?c=d'e"), result("a")], {})

    assert [view.name for view in views] == ["a", "b?c=d'e"]
    assert len({view.key for view in views}) == 2
    assert views[1].state["searchFilter"] == 'params.data = "b?c=d\'e"'
