"""The papers' own numbers: published against measured."""

from typing import Any

import pandas as pd

from leaseboard.tasks.report.charts import wording
from leaseboard.tasks.report.material import Material
from leaseboard.tasks.report.page import Cell, Section, Table, data_cell
from leaseboard.tasks.report.sections.selections import compared
from leaseboard.tasks.score.numbers import fixed
from leaseboard.tasks.score.published import printed_decimals, published_against_measured
from leaseboard.tasks.score.selection import with_metrics
from leaseboard.tasks.score.summary import scale_of


def published(made: Material) -> Section | None:
    """Return every claim of the suite with its measurement; None without claims."""
    if made.suite is None or not made.suite.published:
        return None
    scale = scale_of(made.suite, made.found.board.scale.metric)
    frame = with_metrics(made.frame, compared(made))
    found = published_against_measured(frame, made.suite.published, scale)
    rows = [_claim(made, each) for each in found.sort_values("n", ascending=False).itertuples()]
    table = Table("published-table", frame=pd.DataFrame(rows), **wording("published-table"))
    judged = found["agrees"].dropna()
    counts = {"judged": len(judged), "measured": (found["n"] > 0).sum(), "all": len(found)}
    words = wording("published", agreeing=int(judged.sum()), **counts)
    if scale.zero and "normalised_score" in set(found["metric"]):
        words["text"].append(scale.meaning)
    return Section("published", **words, tables=[table])


def _claim(made: Material, row: Any) -> dict[str, object]:
    verdicts = {True: Cell("agrees", "good"), False: Cell("differs", "bad"), None: Cell("–")}
    digits = printed_decimals(row.value, row.sd)

    def spread(value: float, sd: float, decimals: int) -> str:
        return fixed(value, decimals) + ("" if pd.isna(sd) else f" ± {fixed(sd, decimals)}")

    return {
        "Source": row.source,
        "Algorithm": row.algorithm,
        "Data": data_cell(row.data, made.names),
        "Metric": row.metric,
        "Published": spread(row.value, row.sd, digits),
        "Measured": spread(row.measured, row.measured_sd, digits + 1),
        "Verdict": verdicts[row.agrees] if row.n else "not measured",
        "Tolerance": row.tolerance,
        "n": row.n,
    }
