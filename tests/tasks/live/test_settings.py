from datetime import timedelta
from pathlib import Path

import pytest

from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.live.settings import read_settings

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
