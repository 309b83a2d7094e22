"""Sections on whole systems and on processes of their own."""

from types import SimpleNamespace

from leaseboard.tasks.jobs.job import Result
from leaseboard.tasks.report.sections.whole_systems import own_processes, systems
from leaseboard.tasks.score.frame import as_frame
from leaseboard.tasks.score.summary import compared

SCORES = {
    "ours": {"x": [0.90, 0.92], "y": [0.80, 0.79]},
    "lightgbm-default": {"x": [0.88, 0.90], "y": [0.81, 0.80]},
    "flaml-default": {"x": [0.91, 0.90], "y": [None, None]},
}


def made(scores=SCORES, environment="systems"):
    frame = as_frame(
        [
            Result(
                key=f"{label}{data}{i}", algorithm=label, name=label, data=data, digest="d",
                seed=i, environment_seed=i, repetition=i, environment=environment,
                status="skipped" if score is None else "ok", score=score, direction="max",
                metric="test_accuracy", metrics={"overrun": i / 10}, cpu_seconds=30.0,
            )
            for label, sets in scores.items()
            for data, cells in sets.items()
            for i, score in enumerate(cells)
        ]
    )  # fmt: skip
    found = compared(frame)
    labels = [row.name for row in found.board.rows]
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


def test_without_the_reference_or_on_another_environment_the_page_has_no_section():
    assert systems(made(environment="samples")) is None
    assert systems(made({name: SCORES[name] for name in ("ours", "flaml-default")})) is None


JOBS = {
    "chacha": [("ok", None), ("crash", None)],
    "river-arf": [("ok", 120.0), ("ok", 140.0), ("crash", None), ("diverged", None)],
    "river-alma": [("skipped", None), ("ok", 118.0)],
    "flaml-autovw": [("crash", None)],
}
SYSTEMS = {
    "flaml-default": [("crash", None), ("timeout", None)],
    "autogluon-default": [("skipped", None), ("skipped", None)],
    "lightgbm-default": [("ok", 150.0), ("ok", 160.0)],
}


def processes(jobs=JOBS, environment="stream"):
    frame = as_frame(
        [
            Result(
                key=f"{label}{i}", algorithm=label, name=label, data="x", digest="d",
                seed=i, environment_seed=i, repetition=i,
                environment=environment if memory else "",
                direction="min", status=status, score=0.5 if status == "ok" else None,
                metric="progressive_mse",
                metrics={} if memory is None else {"peak_memory_mb": memory},
                cpu_seconds=2.0 + i, wall_seconds=4.0,
                reason="" if status == "ok" else f"{status} {i}: " + i * "why " * 20,
            )
            for label, ended in jobs.items()
            for i, (status, memory) in enumerate(ended)
        ]
    )  # fmt: skip
    labels = [row.name for row in compared(frame).board.rows]
    return SimpleNamespace(frame=frame, labels=sorted(labels))


def lines(found):
    (table,) = found.tables
    assert {len(line) for line in table.rows} == {len(table.columns)}
    return {line[0].text: [cell.text for cell in line[1:-1]] for line in table.rows}


def test_what_other_libraries_took_and_how_they_failed():
    found = own_processes(processes())

    assert lines(found) == {
        "river-arf": ["2", "2.5", "4", "130", "140", "1", "1", "0"],
        "river-alma": ["1", "3", "4", "118", "118", "0", "0", "1"],
        "flaml-autovw": ["0", "–", "–", "–", "–", "0", "1", "0"],
    }
    assert [text[:28] for text in found.text] == ["Learners of other libraries:"]


def test_a_system_that_never_finished_is_there_with_its_last_word():
    found = own_processes(processes(SYSTEMS, "systems"))

    assert found.title == "In processes of their own"  # LightGBM runs in our own environment
    assert lines(found) == {
        "flaml-default": ["0", "–", "–", "–", "–", "0", "2", "0"],
        "autogluon-default": ["0", "–", "–", "–", "–", "0", "0", "2"],
        "lightgbm-default": ["2", "2.5", "4", "155", "160", "0", "0", "0"],
    }
    words = {line[0].text: line[-1].text[:11] for line in found.tables[0].rows}
    assert words == {
        "flaml-default": "timeout 1: ", "autogluon-default": "skipped 1: ",
        "lightgbm-default": "–",
    }  # fmt: skip
    assert [text[:13] for text in found.text] == ["Whole systems"]


def test_a_long_last_word_is_cut_and_whole_in_its_hint():
    jobs = {"flaml-default": [("crash", None)] * 3, "river-hat": [("ok", 1.0)]}
    word = own_processes(processes(jobs)).tables[0].rows[0][-1]
    assert (len(word.text), len(word.hint)) == (120, len("crash 2: ") + 2 * 80)
    assert own_processes(processes({"chacha": JOBS["chacha"]})) is None
