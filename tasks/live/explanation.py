"""Explanation of a candidate that learns a stream: which columns it goes by, and which members."""

import pandas as pd

from leaseboard.tasks.live.record import ModelRecord
from leaseboard.tasks.models.model import load
from leaseboard.tasks.models.stream_model import StreamModel
from leaseboard.tasks.store.live_tables import REBUILD, ModelCandidate

MOST = 10
"""Columns, the most important ones."""

COLUMNS, MEMBERS = "Importance of columns", "Weights of members"

TEXTS = {
    COLUMNS: "By how much the mean loss (squared error, or log loss) of the last rows grows when"
    f" the values of a column are permuted among them; the first {MOST} columns.",
    MEMBERS: "The prediction is an average of the live models with their naive baselines, of"
    " members, and of a stack of these. A member without a lease neither predicts nor learns.",
}
"""What readers have to know of each table."""

HEADS = "Member", "Weight", "In the stack", "Has a lease", "Share with a lease", "µs a row"


def explanation_of(
    record: ModelRecord, candidate: ModelCandidate | None
) -> dict[str, pd.DataFrame]:
    """Return tables by title; none of a candidate that learns no stream, or has no members."""
    if candidate is None or candidate.model is None:
        return {}
    model = load(record.state.model(candidate.model), f"the {candidate.role}", REBUILD)
    if not isinstance(model, StreamModel):
        return {}
    columns = list(model.model.feature_importances_.items())[:MOST]
    members = [list(each.values()) for each in model.model.members]
    found = {COLUMNS: (("Column", "Growth of the loss"), columns), MEMBERS: (HEADS, members)}
    return {
        title: pd.DataFrame(rows, columns=heads, dtype=object)
        for title, (heads, rows) in found.items() if rows
    }  # fmt: skip
