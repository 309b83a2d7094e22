from pathlib import Path

import pytest

from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.jobs.suites.suite import load_schedule

ROOT = Path(__file__).resolve().parents[4]
SUITE = "title: T\ndata: ['sklearn:diabetes']\nalgorithms: [vanilla]\n"


@pytest.fixture
def conf(tmp_path):
    (tmp_path / "suites").mkdir()
    (tmp_path / "suites" / "tiny.yaml").write_text(SUITE)

    def write(text):
        (tmp_path / "schedule.yaml").write_text(text)
        return tmp_path

    return write


def entry(**fields):
    base = {"name": "nightly", "cron": '"0 3 * * *"', "suite": "tiny"} | fields
    said = {key: value for key, value in base.items() if value is not None}
    lines = "\n    ".join(f"{key}: {value}" for key, value in said.items())
    return f"  - {lines}\n"


def test_the_shipped_schedule_is_valid():
    assert load_schedule(ROOT / "conf").schedules


def test_a_live_model_has_the_place_of_a_suite(conf):
    text = entry(suite=None, live="sales.yaml", out="x")
    (only,) = load_schedule(conf(f"schedules:\n{text}")).schedules

    assert (only.live, only.suite, only.out) == ("sales.yaml", None, "x")
    assert only.what == "live model sales.yaml"


MISTAKES = [
    (entry(suite=None), "schedule 'nightly' runs one thing: add suite or live"),
    (entry(live="sales.yaml"), "schedule 'nightly' runs one thing"),
    (entry(suite=None, live="s.yaml", workers=2), "has gate or workers, which are of a suite"),
    (entry(suite=None, live='""'), "live"),
    (entry(cron='"every day"'), "'every day' is not a cron expression"),
    (entry(cron='"61 * * * *"'), "is not a cron expression"),
    (entry(timezone="Europe/Berln"), "unknown timezone 'Europe/Berln'"),
    (entry(suite="tinny"), "did you mean 'tiny'"),
    (entry(name='"a b"'), "name"),
    (entry(workers=0), "must be greater"),
    (entry(hours=3), "hours"),
    (entry() + entry(), "schedule 'nightly' occurs twice"),
]


def test_a_mistake_is_named_in_one_line(conf):
    for text, words in MISTAKES:
        with pytest.raises(UsageError) as caught:
            load_schedule(conf(f"schedules:\n{text}"))
        assert words in str(caught.value)
        assert "\n" not in str(caught.value)
