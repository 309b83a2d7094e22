from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.live.settings import (
    BatchRules,
    ColumnRule,
    Contract,
    DataSettings,
    read_contract,
)
from leaseboard.tasks.machine.yaml_files import load_yaml

DATA = DataSettings(source="folder:*.csv", time="day", id="order", target="revenue")
WORDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)
REALS = st.floats(-1e30, 1e30)
RANGES = st.tuples(REALS, REALS).map(sorted)
NUMBERS = st.builds(
    lambda ends, size, **given: ColumnRule(low=ends[0], high=ends[1], size=size, **given),
    RANGES,
    st.none() | st.tuples(st.floats(0, 1e30), st.floats(0, 1e30)).map(sorted),
    kind=st.sampled_from(["number", "integer"]),
    missing=st.floats(0, 1),
    required=st.booleans(),
)
CATEGORIES = st.builds(
    ColumnRule,
    kind=st.just("category"),
    categories=st.lists(WORDS, min_size=1),
    closed=st.booleans(),
)
DATES = st.builds(ColumnRule, kind=st.sampled_from(["date", "text", "flag"]))


@settings(max_examples=50)
@given(
    st.dictionaries(WORDS, NUMBERS | CATEGORIES | DATES, min_size=1, max_size=5),
    st.builds(BatchRules, least=st.integers(0, 9), most=st.none() | st.integers(9)),
)
def test_what_is_written_is_read_again(tmp_path_factory, columns, rows):
    contract = Contract(columns=columns, rows=rows)
    path = tmp_path_factory.mktemp("contract") / "contract.yaml"
    path.write_text(contract.to_yaml(), encoding="utf-8")

    assert load_yaml(path, Contract) == contract


@pytest.fixture
def read(tmp_path):
    """Return a function that reads a text as contract.yaml."""

    def written(text):
        path = tmp_path / "contract.yaml"
        path.write_text(text)
        return read_contract(path, DATA)

    return written


@pytest.mark.parametrize(
    ("price", "reported"),
    [
        ("{kind: number, low: 3, high: 2}", "low 3 is above high 2: swap them"),
        ("{kind: category, closed: true}", "name the categories"),
        ("{kind: number, size: [3, 2]}", "the least and the most"),
    ],
)
def test_a_contract_that_contradicts_itself_is_one_line(read, price, reported):
    with pytest.raises(UsageError) as error:
        read(f"columns:\n  price: {price}\n")

    assert reported in str(error.value)
    assert "contract.yaml:" in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("kind", ["number, low: 0", "integer, size: [1, 9]", "date, missing: 1"])
def test_an_id_is_a_text_for_any_kind(read, kind):
    order = f"order: {{kind: {kind}}}"
    found = read(f"columns: {{day: {{kind: date}}, {order}, revenue: {{kind: number}}}}")

    assert found.columns["order"] == ColumnRule(kind="text")
    assert found.texts == ("order",)


def test_the_page_shows_a_contract(read):
    page = Path(__file__).parents[3] / "docs/guides/live-model.md"
    (text,) = [each for each in page.read_text().split("```yaml\n") if "columns:" in each[:9]]
    contract = read(text.split("```")[0])

    assert contract.columns["weather"].closed
