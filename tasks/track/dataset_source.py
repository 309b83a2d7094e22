"""References such as ``openml:215`` as sources of MLflow's datasets, which MLflow finds itself.

MLflow imports this whenever it is imported, so nothing heavy is imported here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from mlflow.data.dataset_source import DatasetSource

from leaseboard.algorithms.errors import DataError, UsageError
from leaseboard.tasks.fetch.references import SOURCES, parse

if TYPE_CHECKING:
    import pandas as pd

KIND = "leaseboard"


class LeaseboardSource(DatasetSource):  # type: ignore[misc]
    """Reference of data, with the digest that a job recorded; empty: not recorded."""

    def __init__(self, reference: str, digest: str = "") -> None:
        self.reference, self.digest = reference, digest

    @staticmethod
    def _get_source_type() -> str:
        return KIND

    def load(self) -> pd.DataFrame:
        """Return the table, its target last, as callers would send it: classes are texts.

        Raises DataError if the data are others than those that were recorded.
        """
        from leaseboard.tasks.fetch import loading

        found = loading.load(self.reference)
        if self.digest not in ("", found.digest):
            raise DataError(
                f"{self.reference} has the digest {found.digest}, and {self.digest} was recorded:"
                " it has changed since, so run the suite again"
            )
        table = found.features.assign(**{str(found.target.name): found.target})
        nominal = table.select_dtypes("category").columns
        return table.astype(dict.fromkeys(nominal, object))

    @staticmethod
    def _can_resolve(raw_source: Any) -> bool:
        try:  # MLflow itself reads addresses of files
            return isinstance(raw_source, str) and parse(raw_source).source in {*SOURCES} - {
                "file"
            }
        except UsageError:
            return False

    @classmethod
    def _resolve(cls, raw_source: str) -> Self:
        return cls(raw_source)

    def to_dict(self) -> dict[str, Any]:
        """Return what `from_dict` takes."""
        return {"uri": self.reference, "sha256": self.digest}

    @classmethod
    def from_dict(cls, source_dict: dict[Any, Any]) -> Self:
        """Return the source of a recorded dataset."""
        return cls(source_dict["uri"], source_dict.get("sha256", ""))
