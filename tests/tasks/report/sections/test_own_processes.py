from types import SimpleNamespace

from tasks.jobs.job import Result
from tasks.report.sections.own_processes import section
from tasks.score.frame import as_frame

JOBS = {
    "ours": [("ok", None), ("ok", None)],
    "river-arf": [("ok", 120.0), ("ok", 140.0), ("crash", None), ("diverged", None)],
    "river-alma": [("skipped", None), ("ok", 118.0)],
}


def made(jobs=JOBS):
    frame = as_frame(
        [
            Result(
                key=f"{label}{i}", algorithm=label, label=label, data="x", digest="d",
                seed=i, environment_seed=i, repetition=i, bench="stream", direction="min",
                status=status, score=0.5 if status == "ok" else None, metric="progressive_mse",
                metrics={} if memory is None else {"peak_memory_mb": memory},
                cpu_seconds=2.0 + i, wall_seconds=4.0,
            )
            for label, ended in jobs.items()
            for i, (status, memory) in enumerate(ended)
        ]
    )  # fmt: skip
    return SimpleNamespace(frame=frame, labels=list(jobs))


def test_what_other_libraries_took_and_how_they_failed():
    (table,) = section(made()).tables

    lines = {line[0].text: [cell.text for cell in line[1:]] for line in table.rows}
    assert lines == {
        "river-arf": ["2", "2.5", "4", "130", "140", "1", "1"],
        "river-alma": ["1", "3", "4", "118", "118", "0", "0"],
    }


def test_without_them_there_is_no_section():
    assert section(made({"ours": JOBS["ours"]})) is None
