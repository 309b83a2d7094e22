import json

import pytest

from leaseboard.algorithms.configurations import configurations
from leaseboard.algorithms.events import ConfigurationAdmitted, LeaseGranted, Paused
from leaseboard.tasks.report import job_charts, leases
from leaseboard.tasks.report.charts import compact, names_of
from leaseboard.tasks.report.leases import Segment, merged, segments
from leaseboard.tasks.report.page import packed, unpacked
from leaseboard.tasks.report.sections.jobs import SHORT, job_log, job_payload


def titles(payload):
    return [figure["title"] for figure in payload["figures"]]


def test_each_environment_gets_the_pictures_that_explain_it(logs):
    found = {kind: titles(job_payload(make())) for kind, make in logs.items()}
    curve = "Score while the budget is spent"
    assert found == {
        "stream": ["Leases", "Bounds of champion and challengers", curve],
        "pulls": ["Allocation of pulls", "Reward of the arms",
                  "Bounds of champion and challengers", curve],
        "samples": ["Leases", "Intervals as they narrow", "Probes", curve],
        "holdout": ["Leases", "Expansion of the features", curve],
    }  # fmt: skip


def test_a_payload_is_small_holds_no_markup_and_comes_of_unfinished_logs_too(logs):
    for make in logs.values():
        log = make()
        payload = job_payload(log)
        assert unpacked(packed(payload)) == json.loads(compact(payload))
        assert len(packed(payload)) < 14_000
        for trace in (trace for figure in payload["figures"] for trace in figure["data"]):
            written = [trace.get("name", ""), *trace.get("hovertext", [])]
            assert not any("<" in words.replace("<br>", "") for words in written)
        for stop in (1, 2, 3, len(log) // 2, len(log) - 1):
            assert job_payload(log[:stop])["events"]["Started"] == 1


def test_segments_join_a_lease_with_its_extensions():
    events = [
        ConfigurationAdmitted(at=0, configuration=0, parameters={}),
        LeaseGranted(at=0, configuration=0, amount=10, slot=1),
        LeaseGranted(at=10, configuration=0, amount=20, slot=1, fresh=False),
        Paused(at=20, configuration=0, units=20),
        LeaseGranted(at=30, configuration=0, amount=20, slot=0),
        Paused(at=50, configuration=0, units=20),
    ]
    assert segments(configurations(events)) == [
        Segment(row=0, start=30, stop=50, configuration=0, leases=1),
        Segment(row=1, start=0, stop=20, configuration=0, leases=2),
    ]


def test_merging_keeps_the_time_and_the_number_of_leases():
    stays = [Segment(row, start, start + 1, start % 7, 1)
             for row in range(3) for start in range(1000)]  # fmt: skip
    stays.append(Segment(0, 1000, 2000, 5, 1))
    drawn = merged(stays)
    assert len(drawn) <= 400
    assert sum(s.stop - s.start for s in drawn) == sum(s.stop - s.start for s in stays)
    assert sum(s.leases for s in drawn) == len(stays)
    assert Segment(0, 1000, 2000, 5, 1) in drawn
    assert merged(stays[:10]) == stays[:10]


def test_the_gantt_holds_every_slot_and_marks_each_change_of_champion(logs):
    events = logs["stream"]()
    figure = leases.gantt(configurations(events), events, "examples", 20_000, range(3))
    assert figure.layout["yaxis"]["ticktext"] == ["0", "1", "2"]
    bars, line, stars = figure.data
    assert len(bars["x"]) == len(bars["base"]) == len(bars["y"])
    assert sum(bars["x"]) == pytest.approx(3 * 20_000, rel=0.01)
    assert line["name"] == "champion"
    changes = [e.at for e in events if type(e).__name__ == "ChampionChanged" and e.at]
    assert stars["x"] == [at for at in changes if at < 20_000]


def test_of_many_slots_the_ten_that_mattered_are_drawn_and_the_rest_on_demand(logs, many_slots):
    events = many_slots
    few, whole = leases.gantts(configurations(events), events, "examples", 100)

    assert leases.by_weight(configurations(events), events, 100)[:5] == [3, 7, 5, 13, 12]
    assert [int(row) for row in few.layout["yaxis"]["ticktext"]] == [3, 5, *range(6, 14)]
    assert "Of 14 slots these are the 10 that mattered" in few.note
    assert whole.folded == "Leases of all 14 slots"
    assert len(whole.layout["yaxis"]["ticktext"]) == 14
    assert not few.payload()["folded"]
    small = logs["stream"]()
    assert len(leases.gantts(configurations(small), small, "examples", 20_000)) == 1


def test_bands_run_along_the_lower_and_back_along_the_upper_bound(logs):
    events = logs["samples"]()
    figure = job_charts.bounds(configurations(events), events, "rows", by_units=True)
    band = next(trace for trace in figure.data if trace.get("fill"))
    half = len(band["y"]) // 2
    assert band["x"][:half] == band["x"][half:][::-1] == sorted(band["x"][:half])
    assert all(
        low < high for low, high in zip(band["y"][:half], band["y"][half:][::-1], strict=True)
    )


def test_pulls_are_stacked_to_the_number_of_trials_and_eliminations_are_crossed(logs):
    events = logs["pulls"]()
    figure = job_charts.allocation(configurations(events), events, "trials")
    stacked = [trace for trace in figure.data if trace.get("stackgroup")]
    assert sum(trace["y"][-1] for trace in stacked) == 60
    cross = figure.data[-1]
    assert cross["x"] == [20]
    assert cross["y"] == [20]  # the arm with fewest pulls is the top layer
    assert cross["hovertext"] == ["0: random_forest: u &lt; l of 4"]


def test_a_log_holds_a_short_list_and_all_configurations_apart(logs):
    found = job_log(None, logs["stream"](rounds=1500))
    listed = found.shown["configurations"]
    whole = unpacked(found.every)
    assert listed["total"] == len(whole[0]) > SHORT
    assert listed["cells"] == [column[:SHORT] for column in whole]
    assert len(packed(found.shown)) < 14_000
    assert job_log(None, logs["holdout"]()).every == ""


def test_the_tables_begin_with_the_champion_and_keep_the_rare_decisions(logs):
    payload = job_payload(logs["stream"](rounds=1500))
    table = payload["configurations"]
    assert table["cells"][1][0] == "champion"
    assert sum(table["outcomes"].values()) == table["total"]
    assert {len(column) for column in table["cells"]} == {table["total"]}
    kinds = [row[1] for row in payload["decisions"]["rows"]]
    assert len(kinds) <= 80
    assert "champion" in kinds
    assert payload["decisions"]["total"] > 500


def test_names_leave_out_what_all_configurations_share():
    events = [
        ConfigurationAdmitted(at=0, configuration=n, parameters={"rate": 0.5, "pairs": pairs})
        for n, pairs in enumerate(([], ["ab"], ["ab", "cd"]))
    ]
    assert names_of(configurations(events)) == {0: "0: none", 1: "1: ab", 2: "2: ab cd"}
    assert names_of(configurations(events[:1])) == {0: "0: rate=0.5, pairs=none"}
