import json

import pytest

from leaseboard.algorithms.errors import DataError
from leaseboard.tasks.fetch.loading import load
from leaseboard.tasks.track.dataset_source import LeaseboardSource
from leaseboard.tasks.track.records import data_input

REFERENCE = "synthetic:fried?rows=50&seed=0"


def test_a_jobs_dataset_loads_again_from_what_mlflow_recorded(result):
    known = load(REFERENCE)
    recorded = data_input(result(data=REFERENCE, digest=known.digest))
    source = LeaseboardSource.from_json(recorded.source)
    table = source.load()

    assert recorded.kind == source._get_source_type()
    assert list(table) == [*known.features, known.target.name]
    assert table[known.target.name].equals(known.target)
    assert json.loads(source.to_json()) == json.loads(recorded.source)


def test_classes_are_texts_as_a_registered_model_takes_them():
    table = LeaseboardSource("sklearn:iris").load()

    assert isinstance(table["target"].iloc[0], str)
    assert not len(table.select_dtypes("category").columns)


def test_other_data_than_those_recorded_are_refused():
    with pytest.raises(DataError, match="it has changed since"):
        LeaseboardSource(REFERENCE, "0" * 32).load()


@pytest.mark.parametrize(
    ("raw", "ours"),
    [("openml:215", True), (REFERENCE, True), ("file:sales.csv", False), ("sales.csv", False),
     ("s3://bucket/key", False), ("https://host/a.csv", False), (3, False), ("openml:", False)],
)  # fmt: skip
def test_only_references_are_resolved(raw, ours):
    assert LeaseboardSource._can_resolve(raw) is ours
