import json
import shutil
from types import SimpleNamespace
from urllib.parse import parse_qs

from leaseboard.tasks.track.store import open_store
from leaseboard.tasks.track.views import (
    CONFIGURATIONS,
    JOBS,
    LEASED,
    TAG,
    configuration_views,
    data_views,
    job_view,
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


def test_jobs_of_a_dataset_are_grouped_by_algorithm_with_the_best_first():
    for direction, rising in (("min", True), ("max", False)):
        (view,) = data_views([result("a", direction), result("a", status="skipped")], {"a": "A"})

        assert view.name == "A"
        assert view.state["searchFilter"] == "params.data = 'a'"
        assert view.state["groupBy"]["groupByKeys"] == [{"mode": "param", "groupByData": "name"}]
        assert view.state["orderByKey"] == "metrics.`progressive_mse`"
        assert "metrics.`progressive_mse`" in view.state["selectedColumns"]
        assert view.state["orderByAsc"] is rising


def test_configurations_of_a_dataset_have_their_own_columns_with_the_longest_first():
    (view,) = configuration_views([result("a", "max")], {"a": "A"})

    assert (view.name, view.state["orderByKey"]) == ("A", "metrics.`units`")
    assert view.state["searchFilter"] == "tags.leaseboard.data = 'a'"
    assert "metrics.`bound.lower`" in view.state["selectedColumns"]
    assert all(len(each.tag[1]) < 5000 for each in (view, LEASED, CONFIGURATIONS))


def test_no_view_orders_by_what_every_configuration_has():
    """MLflow joins all runs that have the value: of 50,000 that takes SQLite minutes."""
    for view in (LEASED, CONFIGURATIONS, *configuration_views([result("a")], {})):
        assert view.state["orderByKey"] in {"metrics.`lease`", "metrics.`units`"}


def test_a_job_opens_on_the_leases_of_its_configurations_and_is_not_listed():
    for direction, leased, held in (("min", True, "metrics.lease > 0 and "), ("max", False, "")):
        view = job_view(SimpleNamespace(key="k1", direction=direction), leased=leased)
        state = json.loads(view.tag[1])

        assert (view.tag[0], "name" in state) == (f"{TAG}k1", False)
        assert state["searchFilter"] == f"{held}tags.leaseboard.job = 'k1'"
        assert state["orderByAsc"] is (direction == "min")
        assert {"metrics.`lease`", "metrics.`bound.lower`"} <= set(state["selectedColumns"])


def test_every_dataset_has_a_view_of_its_own():
    views = data_views([result("a"), result("b?c=d'e"), result("a")], {})

    assert [view.name for view in views] == ["a", "b?c=d'e"]
    assert len({view.key for view in views}) == 2
    assert views[1].state["searchFilter"] == 'params.data = "b?c=d\'e"'


def test_a_name_with_both_quotes_has_a_filter_that_mlflow_reads(empty_store, tmp_path):
    client = open_store(f"sqlite:///{shutil.copy(empty_store, tmp_path)}")
    place, data = client.create_experiment("quotes"), """it's a "table\""""
    for text in (data, "its a table"):
        client.log_param(client.create_run(place).info.run_id, "data", text)
    (view,) = data_views([result(data)], {})

    found = client.search_runs([place], view.state["searchFilter"])
    assert [run.data.params["data"] for run in found] == [data]
