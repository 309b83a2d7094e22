"""Names of models: MLflow takes what we take, and refuses what we refuse."""

import pytest
from mlflow.exceptions import MlflowException
from mlflow.utils.validation import _validate_logged_model_name, _validate_model_name

from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.models.names import REFUSED, check_name, slug


@pytest.mark.parametrize("text", ["file:cls.csv", "openml:215?task=regression&rows=1", "a%20'b\""])
def test_a_slug_of_any_reference_is_a_name_for_mlflow(text):
    name = check_name(f"s3-{slug(text)}")

    _validate_logged_model_name(name)
    _validate_model_name(name)


@pytest.mark.parametrize("character", REFUSED)
def test_what_mlflow_refuses_is_refused_before_any_work(character):
    with pytest.raises(MlflowException):
        _validate_logged_model_name(f"a{character}b")
    with pytest.raises(UsageError, match="use letters, digits and hyphens"):
        check_name(f"a{character}b")
