"""The page's section on whole systems, and the numbers in it by hand."""

from types import SimpleNamespace

from leaseboard.tasks.jobs.job import Result
from leaseboard.tasks.report.sections.whole_systems import systems
from leaseboard.tasks.score.compared import compared
from leaseboard.tasks.score.frame import as_frame

SCORES = {
    "ours": {"x": [0.90, 0.92], "y": [0.80, 0.79]},
    "lightgbm-default": {"x": [0.88, 0.90], "y": [0.81, 0.80]},
    "flaml-default": {"x": [0.91, 0.90], "y": [None, None]},
}


def made(scores=SCORES, bench="systems"):
    frame = as_frame(
        [
            Result(
                key=f"{label}{data}{i}", algorithm=label, label=label, data=data, digest="d",
                seed=i, environment_seed=i, repetition=i, bench=bench,
                status="skipped" if score is None else "ok", score=score, direction="max",
                metric="test_accuracy", metrics={"overrun": i / 10}, cpu_seconds=30.0,
            )
            for label, sets in scores.items()
            for data, cells in sets.items()
            for i, score in enumerate(cells)
        ]
    )  # fmt: skip
    found = compared(frame)
    labels = [row.label for row in found.board.rows]
    return SimpleNamespace(frame=frame, found=found, labels=labels, names={"y": "Why"},
                           name=lambda data: {"y": "Why"}.get(data, data))  # fmt: skip


def test_the_page_says_where_a_system_is_worst():
    totals, by_table = systems(made()).tables

    lines = {line[0].text: [cell.text for cell in line[1:]] for line in totals.rows}
    assert lines["ours"] == [
        "2", "+0.0050", "−0.0100 on Why", "1 of 2", "1 of 1", "30", "5.0 %", "10.0 %",
    ]  # fmt: skip
    assert lines["flaml-default"][:2] == ["1", "+0.0150"]
    assert lines["lightgbm-default"][:4] == ["2", "+0.0000", "+0.0000 on x", "2 of 2"]
    assert [cell.text for cell in by_table.rows[0][1:]] == ["+0.0200 ± 0.0000", "+0.0150 ± 0.0212"]
    assert by_table.columns[0] == "Data"
    assert "lightgbm-default" not in by_table.columns
    assert [line[0].text for line in by_table.rows] == ["x", "Why"]


def test_without_the_reference_or_on_another_bench_there_is_no_section():
    assert systems(made(bench="samples")) is None
    assert systems(made({name: SCORES[name] for name in ("ours", "flaml-default")})) is None
