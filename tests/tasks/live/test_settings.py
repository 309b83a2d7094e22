"""FILE.yaml and the contract of a live model."""

from datetime import timedelta
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
    read_settings,
)
from leaseboard.tasks.machine.yaml_files import load_yaml

WHOLE = """\
name: sales
data: {source: "folder:inbox/*.csv", time: day, id: order, target: revenue, label_delay: 7d}
model: {algorithm: online-automl, settings: {b: 3}, seed: 1}
retrain: {every: 7d, rows: 5000, when: drift}
contract: contract.yaml
compare: {alpha: 0.01}
alerts: ["http://127.0.0.1:9/x", "mailto://$MAIL"]
state: state.sqlite
"""


@pytest.fixture
def read(tmp_path):
    """Return a function that reads a text as FILE.yaml."""

    def written(text):
        path = tmp_path / "keep.yaml"
        path.write_text(text)
        return read_settings(path)

    return written


def test_paths_are_from_the_folder_of_the_file(read, tmp_path, monkeypatch):
    monkeypatch.chdir("/")

    keep = read(WHOLE)

    assert Path(keep.data.pattern) == tmp_path / "inbox" / "*.csv"
    assert keep.contract == tmp_path / "contract.yaml"
    assert keep.state == str(tmp_path / "state.sqlite")
    assert keep.data.label_delay == keep.retrain.every == timedelta(days=7)


@pytest.mark.parametrize(
    ("old", "new", "line", "reported"),
    [
        ("name: sales", "name: Sales", 1, "must match pattern"),
        ("folder:inbox/*.csv", "inbox/*.csv", 2, "folder:"),
        ("folder:inbox/*.csv", "folder:inbox/*.xlsx", 2, "folder:"),
        ("label_delay: 7d", "label_delay: 7", 2, "such as 7d, 12h or 30m (given 7)"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_one_line_with_its_place(read, old, new, line, reported):
    with pytest.raises(UsageError) as error:
        read(WHOLE.replace(old, new))

    assert f"keep.yaml:{line}: " in str(error.value)
    assert reported in str(error.value)
    assert "\n" not in str(error.value)


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
def read_rules(tmp_path):
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
def test_a_contract_that_contradicts_itself_is_one_line(read_rules, price, reported):
    with pytest.raises(UsageError) as error:
        read_rules(f"columns:\n  price: {price}\n")

    assert reported in str(error.value)
    assert "contract.yaml:" in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("kind", ["number, low: 0", "integer, size: [1, 9]", "date, missing: 1"])
def test_an_id_is_a_text_for_any_kind(read_rules, kind):
    order = f"order: {{kind: {kind}}}"
    found = read_rules(f"columns: {{day: {{kind: date}}, {order}, revenue: {{kind: number}}}}")

    assert found.columns["order"] == ColumnRule(kind="text")
    assert found.texts == ("order",)


def test_the_page_shows_a_contract(read_rules):
    page = Path(__file__).parents[3] / "docs/guides/live-model.md"
    (text,) = [each for each in page.read_text().split("```yaml\n") if "columns:" in each[:9]]
    contract = read_rules(text.split("```")[0])

    assert contract.columns["weather"].closed
