"""The costs of a live model a day, on a few small days."""

import json

from benchmarks import live_models


def test_the_days_of_a_live_model_are_measured_and_go_on(tmp_path):
    lines = []
    given = ["--rows", "30", "--folder", str(tmp_path)]
    live_models.main(["--days", "3", *given], lines.append)
    live_models.main(["--days", "4", *given], lines.append)

    assert [lines[0], lines[5]] == ["60 labels in 3 days", "90 labels in 4 days"]
    assert lines[1].split()[:5] == ["days", "CPU", "s", "model", "other"]
    days = [json.loads(line) for line in (tmp_path / "days.jsonl").read_text().splitlines()]
    assert [each["rows"] for each in days] == [0, 30, 30, 30]
    for each in days:
        spent = each["model"] + sum(each["steps"].values())
        assert abs(spent - each["cpu"]) < 1e-6
    assert {"validate", "commit", "page", "monitor"} <= days[-1]["steps"].keys()


def test_rows_are_drawn_alike_each_time_and_their_labels_come_later(tmp_path):
    assert live_models.drawn_day(3, 5).equals(live_models.drawn_day(3, 5))
    (tmp_path / "inbox").mkdir()
    for number in (0, 1):
        live_models.deliver(tmp_path, lambda number: live_models.drawn_day(number, 5), number, 1)

    assert sorted(each.name for each in (tmp_path / "inbox").iterdir()) == [
        "00000.csv", "00001-labels.csv", "00001.csv",
    ]  # fmt: skip


def test_what_is_spent_inside_is_not_counted_outside():
    stopwatch = live_models.Stopwatch()
    with stopwatch.of("outer"), stopwatch.of("inner"):
        sum(range(1_000_000))
    spent = stopwatch.taken()

    assert spent["inner"] > spent["outer"]
    assert stopwatch.taken()["rest"] >= 0
