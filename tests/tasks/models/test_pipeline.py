"""A saved model predicts as what it was made from, and its folder holds no pickle."""

import zipfile

import numpy as np
import pandas as pd
import pytest
import sklearn.datasets
import skops.io
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.preprocessing import FunctionTransformer

from leaseboard.algorithms import plain
from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.models import columns
from leaseboard.tasks.models.model import load
from leaseboard.tasks.models.pipeline import PipelineModel

FRIED = "synthetic:fried?rows=400&seed=0"
CANCER = "sklearn:breast_cancer"


def again(model):
    return load(model.dump(), "it")


def with_estimator(content, estimator):
    """Return a file of a model with another estimator, in skops' format."""
    kind, state = plain.load(content, "it")
    return plain.dump(kind, state | {"estimator": estimator})


def test_a_column_that_the_contract_got_later_is_left_out_and_one_that_it_lost_is_missing():
    X = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [0.0, 1.0, 0.0]})
    model = PipelineModel((), HistGradientBoostingRegressor(max_iter=1).fit(X, X["a"]))
    found = model.predict(X)
    assert model.predict(X.assign(late=1.0)[["late", "b", "a"]]).tolist() == found.tolist()
    assert np.isfinite(model.predict(X[["a"]])).all()


@pytest.mark.parametrize(
    "function", [pytest.fail, np.save, columns.describe, sklearn.datasets.clear_data_home]
)
def test_a_function_is_neither_saved_nor_loaded(policy, function):
    _, fitted = policy
    hostile = FunctionTransformer(func=function)
    with pytest.raises(UsageError, match="only classes of scikit-learn"):
        PipelineModel(fitted.model.columns, hostile).dump()
    forged = with_estimator(fitted.model.dump(), skops.io.dumps(hostile))
    with pytest.raises(UsageError, match="only classes of scikit-learn"):
        load(forged, "it")


def test_a_type_that_writes_files_is_not_loaded(policy, tmp_path):
    _, fitted = policy
    forged = FunctionTransformer(kw_args={"x": Forged(tmp_path / "written")})
    skops.io.dump(forged, tmp_path / "forged")
    with zipfile.ZipFile(tmp_path / "forged") as archive:
        schema = archive.read("schema.json").decode()
    named = schema.replace('"Forged"', '"memmap"').replace(f'"{__name__}"', '"numpy"')
    with zipfile.ZipFile(tmp_path / "forged", "w") as archive:
        archive.writestr("schema.json", named)

    assert skops.io.get_untrusted_types(file=tmp_path / "forged") == ["numpy.memmap"]
    with pytest.raises(UsageError, match=r"the model holds a numpy\.memmap"):
        load(with_estimator(fitted.model.dump(), (tmp_path / "forged").read_bytes()), "it")
    assert not (tmp_path / "written").exists()


class Forged:
    """Object that is written as a call of its class, as skops does for such types."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Forged, (str(self.path), "uint8", "w+", 0, (1,))
