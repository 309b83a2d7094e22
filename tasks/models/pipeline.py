"""Fitted estimators as models, in skops' format: no pickle, and only types that are trusted."""

import importlib
import zipfile
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import pandas as pd
import skops.io
from numpy.typing import NDArray

from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.models.columns import Column, typed
from leaseboard.tasks.models.model import ModelFile, TableModel, predicting

TRUSTED = frozenset(
    {
        "collections.OrderedDict",
        "lightgbm.basic.Booster",
        "lightgbm.sklearn.LGBMClassifier",
        "lightgbm.sklearn.LGBMRegressor",
        "numpy.dtype",
        "leaseboard.tasks.evaluate.learners.FixedStepNetwork",
        "leaseboard.tasks.models.automl.policy_search.EnsembleModel",
        "leaseboard.tasks.models.automl.policy_search.EnsembleMember",
        "leaseboard.tasks.models.automl.estimators.AutoMLClassifier",
        "leaseboard.tasks.models.automl.estimators.AutoMLRegressor",
        "leaseboard.tasks.preprocess.encoders.TableEncoder",
        "leaseboard.tasks.preprocess.encoders.UnitRangeEncoder",
    }
)
"""What a file may hold in addition to classes of scikit-learn.

Names one by one: a package has more than models, such as ``numpy.memmap``, which writes a file
of any name.
"""


class PipelineModel(TableModel):
    """A fitted estimator as a model.

    - `names`: of the classes whose codes the estimator predicts; empty where it predicts numbers,
      or classes by name.
    """

    kind = "pipeline"

    def __init__(
        self, columns: Sequence[Column], estimator: Any, names: Sequence[str] = ()
    ) -> None:
        super().__init__(columns)
        self.estimator, self.names = estimator, tuple(names)
        self.classes = self.names or tuple(map(str, getattr(estimator, "classes_", ())))

    @predicting()
    def predict(self, frame: pd.DataFrame) -> NDArray[Any]:
        """See `TableModel.predict`."""
        found = np.asarray(self.estimator.predict(self._typed(frame)))
        if self.names:
            return np.array(self.names, dtype=object)[found.astype(np.intp)]
        return found.astype(str).astype(object) if self.classes else found.astype(np.float64)

    @predicting()
    def predict_proba(self, frame: pd.DataFrame) -> NDArray[np.float64]:
        """See `TableModel.predict_proba`."""
        if not hasattr(self.estimator, "predict_proba"):
            return super().predict_proba(frame)
        return np.asarray(self.estimator.predict_proba(self._typed(frame)), dtype=np.float64)

    def _typed(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return what it was fitted on: other columns are left out, absent ones are missing."""
        if self.columns:
            return typed(frame, self.columns)
        return frame.reindex(columns=getattr(self.estimator, "feature_names_in_", frame.columns))

    def state(self) -> dict[str, Any]:
        """See `TableModel.state`; UsageError if the estimator holds types that are not trusted."""
        return {"estimator": dump_trusted(self.estimator), "names": self.names}

    @classmethod
    def restored(cls, file: ModelFile) -> Self:
        """See `TableModel.restored`; UsageError if the file holds types that are not trusted."""
        return cls(file.columns, load_trusted(file.state["estimator"]), file.state["names"])


def dump_trusted(value: Any) -> bytes:
    """Return an estimator or encoder as bytes; UsageError if a type in it is not trusted."""
    # Trees of an ensemble repeat much.
    content: bytes = skops.io.dumps(value, compression=zipfile.ZIP_DEFLATED, compresslevel=1)
    _types(content)
    return content


def load_trusted(content: bytes) -> Any:
    """Return what `dump_trusted` was given; UsageError if a type in it is not trusted."""
    try:
        return skops.io.loads(content, trusted=_types(content))
    except UsageError:
        raise
    except Exception as error:  # it calls what any library has for its state
        raise ValueError(f"{type(error).__name__}: {error}") from error


def _types(content: bytes) -> list[str]:
    """Return the types in a file that are not skops' own; UsageError for one not trusted."""
    found: list[str] = skops.io.get_untrusted_types(data=content)
    untrusted = sorted(name for name in found if not _is_trusted(name))
    if untrusted:
        raise UsageError(
            f"the model holds a {untrusted[0]}: only classes of scikit-learn, and a few of"
            " LightGBM and Leaseboard, are registered and loaded"
        )
    return found


def _is_trusted(name: str) -> bool:
    """Return whether `name` is in `TRUSTED` or that of a class of scikit-learn, not a function."""
    module, _, attribute = name.rpartition(".")
    if module.partition(".")[0] != "sklearn":
        return name in TRUSTED
    try:
        found = getattr(importlib.import_module(module), attribute, None)
    except ImportError:
        return False
    return isinstance(found, type)
