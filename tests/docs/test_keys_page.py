"""The page of keys has every key of the files that people write, as the code has it."""

import re
from datetime import timedelta

import pytest
import yaml
from pydantic import BaseModel

from leaseboard.tasks.jobs.environments import folds, holdout, pulls, samples, systems
from leaseboard.tasks.jobs.suites.requirement import Requirement
from leaseboard.tasks.jobs.suites.suite import Contender, Data, Normalise, Printed, Suite, Tracking
from leaseboard.tasks.jobs.suites.timetable import Scheduled
from leaseboard.tasks.live.settings import (
    CompareSettings,
    DataSettings,
    LiveSettings,
    ModelSettings,
    RetrainSettings,
)
from leaseboard.tasks.preprocess.streaming import StreamOptions
from leaseboard.tasks.processes.limits import Limits
from tests.docs import pages

pytestmark = pytest.mark.slow


TEXT = (pages.DOCS / "reference" / "keys.md").read_text()
REFERENCE = "synthetic:fried?rows=500&seed=0"
SOURCE = {"source": "folder:inbox/*.csv", "target": "revenue"}

SECTIONS = {
    "A suite": (Suite, {"title": "T", "data": [REFERENCE],
                        "algorithms": ["online-automl", "vanilla"]}),
    "Data of a suite": (Data, {"data": REFERENCE}),
    "Algorithms of a suite": (Contender, {"algorithm": "online-automl"}),
    "Limits of a job": (Limits, {}),
    "Tracking": (Tracking, {}),
    "Normalise": (Normalise, {"zero": "vanilla", "one": "online-automl"}),
    "Published": (Printed, {"source": "Table 1", "algorithm": "online-automl",
                            "data": "openml:201", "metric": "score", "value": 0.5}),
    "Requirements": (Requirement, {"algorithm": "abc", "metric": "loss", "at_most": 0.01,
                           "reason": "proven"}),
    "A stream": (StreamOptions, {}),
    "Hold-out": (holdout.Options, {}),
    "Pulls": (pulls.Options, {}),
    "Samples": (samples.Options, {}),
    "Folds": (folds.Options, {}),
    "Systems": (systems.Options, {}),
    "schedule.yaml": (Scheduled, {"name": "nightly", "cron": "0 3 * * *", "suite": "quick"}),
    "A live model": (LiveSettings, {"name": "sales", "data": SOURCE,
                                    "contract": "sales.contract.yaml"}),
    "Data of a live model": (DataSettings, SOURCE),
    "Model of a live model": (ModelSettings, {}),
    "Retrain": (RetrainSettings, {}),
    "Compare": (CompareSettings, {}),
}  # fmt: skip
"""What each section is of, and the least that such a mapping says."""


def rows(title):
    """Return the rows of the table of a section: key, type, default, what it says, example."""
    found = re.search(rf"^##+ {re.escape(title)}\n(.*?)(?=^##|\Z)", TEXT, re.MULTILINE | re.DOTALL)
    lines = [line for line in found[1].splitlines() if line.startswith("| `")]
    return [re.fullmatch(r"\| `(.*?)` \| (.*?) \| (.*?) \| (.*) \| `(.*)` \|", one).groups()
            for one in lines]  # fmt: skip


def default(field):
    """Return a key's default as the page writes it; None if it links to the keys of its own."""
    value = field.get_default(call_default_factory=True)
    if field.is_required():
        return "required"
    if isinstance(value, BaseModel):
        return None
    if isinstance(value, timedelta):
        return f"`{value.total_seconds():g}s`"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    words = {"": '`""`', (): "`[]`", None: "none"}
    return words.get(value, f"`{value}`") if not isinstance(value, list | dict) else f"`{value}`"


def test_the_page_has_every_key_and_its_default():
    for title, (kind, _) in SECTIONS.items():
        written = {key: text for key, _, text, _, _ in rows(title)}

        assert set(written) == set(kind.model_fields), title
        for key, field in kind.model_fields.items():
            expected = default(field)
            assert written[key] == expected or (expected is None and "](#" in written[key]), key


def test_every_example_is_one_of_its_key():
    for title, (kind, least) in SECTIONS.items():
        for key, _, _, meaning, example in rows(title):
            given = yaml.safe_load(example)

            assert key in given, example
            assert meaning
            kind.model_validate(least | given)


def test_every_section_with_keys_is_held():
    titles = re.findall(r"^##+ (.*)\n(?:(?!^##)[\s\S])*?^\| key ", TEXT, re.MULTILINE)

    assert set(titles) == set(SECTIONS)
