"""Models: each kind of file has its class, and no other is imported."""

import importlib

import pandas as pd
import pytest

from leaseboard.algorithms import plain
from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.models.model import FILE, KINDS, TableModel, load, load_file
from leaseboard.tasks.models.recipe import NaiveModel
from leaseboard.tasks.models.stream_model import StreamModel


def test_every_kind_has_its_class():
    for kind, place in KINDS.items():
        module, _, name = place.partition(":")
        found = getattr(importlib.import_module(module), name)
        assert issubclass(found, TableModel)
        assert kind == found.kind or found is StreamModel


def refused(call, *args):
    """Return the one line in which a call refuses a model."""
    with pytest.raises(UsageError) as caught:
        call(*args)
    said = str(caught.value)
    assert "\n" not in said
    assert f"{plain.FORMAT} {plain.VERSION}" in said
    assert "learn or register it again" in said
    return said


def test_what_is_not_a_model_is_refused_in_one_line(tmp_path):
    good = NaiveModel("running-mean", "regression", {"sum": 3.0, "count": 2.0}).dump()
    (tmp_path / FILE).write_bytes(good)
    assert load_file(tmp_path).predict(pd.DataFrame(index=range(2))).tolist() == [1.5, 1.5]
    for content in (b"", b"text", good[:-30], good.replace(b'"naive"', b'"nature')):
        refused(load, content, "'it'")
    refused(load, plain.dump("another", {}), "'it'")
    refused(load, plain.dump("naive", {"wrong": 1}), "'it'")
    with pytest.raises(UsageError, match=r"^'.*absent' cannot be read \(No such file .*: name"):
        load_file(tmp_path / "absent")
