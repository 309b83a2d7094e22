import json
from pathlib import Path

import pandas as pd
import pytest

from benchmarks import portfolio
from leaseboard.tasks.fetch import loading
from leaseboard.tasks.jobs.suites.suite import load_suite


def of_record(task, arm):
    """Return the default of an arm, and its rows of the record."""
    (found,) = [each for each in portfolio.portfolios() if each[:2] == (task, arm)]
    return found[2], found[3]


def names_in_mirror():
    catalogue = pd.read_csv(Path("conf/mirror.csv"), dtype=str)
    return dict(zip(catalogue["id"], catalogue["name"], strict=True))


def test_no_table_of_the_suite_is_in_the_record():
    used = {name.split(":")[1] for sets in portfolio.SETS.values() for name in sets}
    recorded = set(pd.read_csv(portfolio.RECORD)["data"].str.split(":").str[1])
    judged = {each.data.split(":")[1] for each in load_suite("tables", None).data}
    judged |= {"1430", "823", "higgs_7500"}  # the same rows as adult, houses and higgs

    assert recorded == used
    assert not used & judged
    names = names_in_mirror()
    assert not {names.get(each, each) for each in used} & {names.get(e, e) for e in judged}


@pytest.mark.mirror
def test_no_rows_of_a_table_of_the_suite_are_in_the_record(mirror):
    def content(reference):
        frame = loading.load(reference, mirrors=(mirror,)).features
        return frame.shape[1], tuple(frame.iloc[:, 0].astype(str).value_counts().head(9).items())

    judged = {content(each.data) for each in load_suite("tables", None).data}
    for sets in portfolio.SETS.values():
        assert not judged & {content(reference) for reference in sets}


@pytest.mark.parametrize("arm", ["lightgbm", "mlp"])
def test_a_set_that_is_left_out_has_no_part_in_its_portfolio(arm):
    default, rows = of_record("classification", arm)
    own = rows["data"] == "mirror:covtype"
    turned = rows.assign(score=rows["score"].where(~own, 1 - rows["score"]))

    for left_out in (["mirror:covtype"], ["mirror:covtype", "mirror:54"]):
        assert portfolio.portfolio_of(rows, default, left_out) == portfolio.portfolio_of(
            turned, default, left_out
        )


def test_what_is_cheap_comes_first_and_what_gains_nothing_is_left_out():
    scores = pd.DataFrame(
        {"default": [0.5, 0.5, 0.5], "dear": [0.9, 0.6, 0.6], "cheap": [0.5, 0.8, 0.6],
         "same": [0.5, 0.5, 0.5]}
    )  # fmt: skip
    seconds = pd.DataFrame({"default": [1.0] * 3, "dear": [9.0] * 3, "cheap": [1.2] * 3,
                            "same": [0.1] * 3})  # fmt: skip

    assert portfolio.chosen(scores, seconds, "default") == ["cheap", "dear"]
    assert portfolio.chosen(scores[["default", "same"]], seconds, "default") == []


def test_a_fit_is_on_record_once(tmp_path, monkeypatch):
    monkeypatch.setattr(portfolio, "SETS", {"regression": ("sklearn:diabetes",)})
    monkeypatch.setattr(portfolio, "DRAWS", {"k_nearest_neighbors": 1})
    path = tmp_path / "record.csv"
    portfolio.record((), path)
    once = path.read_text()
    portfolio.record((), path)

    assert path.read_text() == once
    frame = pd.read_csv(path)
    assert len(frame) == len(portfolio.candidates("regression", "k_nearest_neighbors"))
    assert json.loads(frame["configuration"][0])["n_neighbors"] == 5
    assert frame["score"].between(0.1, 0.9).all()
