"""Names of events, resources and metrics on the pages are those that the code emits."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
EVENTS = ROOT / "docs/guides/schedule.md"
_NAME = re.compile(r"(?<![\w./:@-])leaseboard\.([a-z]+)\.([A-Za-z][a-z-]*)(\.NAME|\b)")
_METRIC = re.compile(r"(?<![\w./-])leaseboard_[a-z_]+\b")
LAYERS = ("algorithms", "tasks", "flows", "plugins", "losses")
"""What is not an event: modules, groups of entry points, and a tag of a page's own example."""


def emitted():
    """Return the texts in calls and constants of the flows: events and resources."""
    files = (ROOT / "flows").rglob("*.py")
    nodes = (node for file in files for node in ast.walk(ast.parse(file.read_text())))
    texts = {n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str)}
    return {each for each in texts if re.fullmatch(r"leaseboard\.[a-z]+(\.[a-z-]+)?", each)}


def pages():
    """Return the texts that users copy names from."""
    places = [*(ROOT / "docs").rglob("*.md"), *(ROOT / "conf" / "automations").glob("*.yaml"),
              ROOT / "README.md"]  # fmt: skip
    return {str(each.relative_to(ROOT)): each.read_text() for each in places}


def test_events_and_resources_on_pages_are_emitted():
    known, found = emitted(), 0
    for page, text in pages().items():
        for match in _NAME.finditer(text):
            kind, what = match[1], match[2]
            if kind in LAYERS:
                continue
            found += 1
            is_resource = what.isupper() or match[3] == ".NAME"
            name = f"leaseboard.{kind}" if what.isupper() else f"leaseboard.{kind}.{what}"
            assert name in known, f"{page}: nothing emits {match[0]}"
            assert not (is_resource and what.islower()), f"{page}: no resource {match[0]}"
    assert found > 10


def test_events_of_the_code_are_on_their_page():
    page = EVENTS.read_text()
    events = [each for each in emitted() if each.count(".") == 2]
    assert events
    assert [each for each in events if f"`{each}`" not in page] == []


def test_metrics_on_pages_are_of_the_server():
    said = (ROOT / "tasks" / "serve" / "app.py").read_text()
    names = {each for text in pages().values() for each in _METRIC.findall(text)}
    assert {each for each in names if f"{each}" not in said} == set()
