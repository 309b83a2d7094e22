"""References: parsing, options, and the lines that say what is wrong with one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.fetch.loading import check
from leaseboard.tasks.fetch.references import SOURCES, Reference, parse

plain = st.text(st.characters(codec="utf-8", exclude_characters=":?"), min_size=1)


@given(
    source=st.sampled_from(SOURCES),
    name=plain,
    options=st.dictionaries(st.text(min_size=1), st.text(min_size=1), max_size=4),
)
def test_the_text_of_a_reference_parses_to_itself(source, name, options):
    reference = Reference(source, name, options)

    assert parse(str(reference)) == reference


def test_a_wrong_reference_is_one_clear_line():
    for text, message in (
        ("opnml:215", "unknown data source 'opnml': did you mean 'openml'"),
        ("openml:", "names no data: write source:name"),
        ("openml:215?rows", "option 'rows' .* has no value: write key=value"),
        ("openml:215?rows=1&rows=2", "option 'rows' .* is given twice: keep one"),
        ("openml:215?row=1", "unknown option of openml:215 'row': did you mean 'rows'"),
        ("openml:215?seed=1", "unknown option of openml:215 'seed'"),
        (
            "openml:215?missing=zero",
            "missing is an option of the stream, not of openml:215: use --set",
        ),
        ("synthetic:fried?nose=1", "did you mean 'noise'"),
        ("synthetic:freid", "unknown generator 'freid': did you mean 'fried'"),
        ("sklearn:digit", "unknown dataset of scikit-learn 'digit': did you mean 'digits'"),
        ("synthetic:fried?rows=0", "rows=0 of .*: must be a whole number, at least 1"),
        ("synthetic:fried?rows=1.5", "rows=1.5 of .*: must be a whole number"),
        ("openml:215?task=regress", "unknown task .* did you mean 'regression'"),
        ("openml:215?threshold=nan", "threshold=nan of .*: must be a finite number"),
        ("openml:215?threshold=1&task=regression", "drop one of the two options"),
        ("friedd-drift", "unknown dataset 'friedd-drift': did you mean 'fried-drift'"),
        ("missing/data.csv", "missing/data.csv: no such file"),
    ):
        with pytest.raises(UsageError, match=message) as caught:
            check(text)
        assert "\n" not in str(caught.value)
