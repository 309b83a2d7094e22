import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaseboard.algorithms import events, log_format
from leaseboard.algorithms.events import (
    BoundsUpdated,
    ConfigurationAdmitted,
    FeaturesExpanded,
    Finished,
    LeaseGranted,
    Measured,
    Started,
)

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text(min_size=1), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.text(min_size=1), VALUES, max_size=4))
def test_any_parameters_survive_the_round_trip(parameters):
    event = ConfigurationAdmitted(at=3, configuration=0, parameters=parameters)

    assert log_format.from_json(log_format.to_json(event)) == event


def test_every_kind_is_frozen():
    for cls in events.KINDS.values():
        assert cls.__dataclass_params__.frozen


def test_not_a_number_and_infinities_survive():
    line = log_format.to_json(
        BoundsUpdated(
            at=1, configuration=0, value=math.nan, lower=-math.inf, upper=math.inf, units=1
        )
    )
    back = log_format.from_json(line)

    assert math.isnan(back.value)
    assert (back.lower, back.upper) == (-math.inf, math.inf)


def test_numpy_scalars_are_written_as_plain_numbers():
    plain = Measured(at=np.int64(5), value=np.float64(0.5))

    assert log_format.to_json(plain) == '{"event":"Measured","at":5,"value":0.5}'


def test_a_log_is_the_same_bytes_for_the_same_events(tmp_path):
    log = [
        Started(at=0, algorithm="a", environment="stream", unit="examples", budget=2,
                capacity=1, seed=0,
                settings={}),
        LeaseGranted(at=0, configuration=0, amount=2),
        FeaturesExpanded(at=1, epoch=1, parents=("x1", "x1·x2"), size=5, degree=2),
        Finished(at=2, reason="", score=0.5, metric="m", direction="min"),
    ]  # fmt: skip
    for name in ("one", "two"):
        log_format.write_log(tmp_path / name, log)

    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert list(log_format.read_log(tmp_path / "one")) == log


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("[]", "not an event"),
        ('{"event": "Lunch", "at": 0}', "not an event"),
        ('{"event": "Measured", "at": 0}', "not a Measured"),
    ],
)
def test_a_line_that_is_not_an_event_says_why(line, words):
    with pytest.raises(ValueError, match=words):
        log_format.from_json(line)


def test_events_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Measured(at=0, value=1.0).value = 2.0
