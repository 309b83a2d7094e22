"""Pages name commands, suites, modules, places and pages that are there, and all of them."""

import ast
import os
import pkgutil
import re
from contextlib import suppress

import pytest
import typer
import yaml
from typer.core import TyperGroup

from leaseboard.algorithms import registry
from leaseboard.algorithms.errors import LeaseboardError, UsageError
from leaseboard.flows.cli import app
from leaseboard.flows.commands.options import parse_settings
from leaseboard.tasks.jobs.job import Job
from leaseboard.tasks.jobs.run import check, route_settings
from leaseboard.tasks.jobs.suites.suite import Suite, suite_names
from leaseboard.tasks.score.verdict import MARK
from tests.docs import pages

CONF = pages.ROOT / "conf"
COMMAND_LINE = typer.main.get_command(app)
UsageErrorOfTyper = typer.BadParameter.__base__
PLACEHOLDERS = ("ALGORITHM", "DATA", "SUITE", "RUN", "FILE.py:CLASS")
"""What a reader fills in."""
OWN_SUITES = ("my-suite.yaml", "suite.yaml")
OWN_DATA = ("energy", "tumours", "my.csv", "sales.csv", "walk.csv")
OWN_ALGORITHMS = ("my-plugin", "mine.py:Mine", "patient.py:Patient", "rivers.py:Rivers")


@pytest.fixture(autouse=True)
def _environment():
    """Parsing an option of places sets its variable."""
    before = dict(os.environ)
    yield
    os.environ.clear()
    os.environ.update(before)


def calls():
    """Yield every command line of every page and of the example workflow, with its page."""
    workflow = pages.DOCS / "ci-example.yml"
    for page in pages.PAGES:
        for words in pages.commands(page.read_text()):
            yield page.stem, words
    for line in workflow.read_text().splitlines():
        if "bin/leaseboard" in line:
            yield workflow.name, pages.arguments(line)


def parse(words):
    """Return the command that `words` call and its parameters, without running it."""
    command, names, context = COMMAND_LINE, [], None
    acting = {option for each in command.params for option in each.opts} | {"-h", "--help"}
    if set(words) <= acting:
        return "", {}  # such as --version, which acts while it is parsed
    while isinstance(command, TyperGroup):
        context = command.make_context("leaseboard", words[:], parent=context, obj=set())
        name, command, words = command.resolve_command(
            context, [*context._protected_args, *context.args]
        )
        names.append(name)
        if {"-h", "--help"} & set(words):
            return " ".join(names), {}
    return " ".join(names), command.make_context(name, words, parent=context, obj=set()).params


def look_up(words):
    """Raise unless the command line `words` is one, of things that there are."""
    command, given = parse(words)

    suite = given.get("suite")
    if suite not in (None, *PLACEHOLDERS, *OWN_SUITES) and suite not in suite_names(CONF):
        raise UsageError(f"{suite}: no such suite")
    algorithms = given.get("algorithm") or []
    for algorithm in [algorithms] if isinstance(algorithms, str) else algorithms:
        if algorithm in (*PLACEHOLDERS, *OWN_ALGORITHMS):
            continue
        registry.entry(algorithm)
        if command == "race" and given["data"] not in PLACEHOLDERS:
            own, shared = route_settings(algorithm, parse_settings(given["settings"] or []))
            data = "sklearn:wine" if given["data"] in OWN_DATA else given["data"]
            check(Job(algorithm=algorithm, data=data, seed=0, environment_seed=0, settings=own,
                      environment=shared))  # fmt: skip


def test_every_command_line_names_what_exists():
    rotten = []
    for place, words in calls():
        try:
            look_up(words)
        except (LeaseboardError, UsageErrorOfTyper) as error:
            rotten.append(f"{place}: {' '.join(words)}: {error}")

    assert rotten == []


def test_every_measuring_command_is_on_a_page_and_says_how_it_is_called():
    texts = {path.stem: path.read_text() for path in pages.ROOT.glob("benchmarks/*.py")}
    commands = {name: text for name, text in texts.items() if "\ndef main(" in text}
    text = "".join(page.read_text() for page in pages.PAGES)

    assert set(re.findall(r"python -m benchmarks\.(\w+)", text)) == set(commands)
    for name, source in commands.items():
        note = " ".join(ast.get_docstring(ast.parse(source)).split())
        assert f"python -m benchmarks.{name}" in note


def test_suites_written_on_the_pages_are_valid():
    found = [
        block.text
        for page in pages.PAGES
        for block in pages.blocks(page)
        if block.language == "yaml" and "algorithms:" in block.text
    ]

    assert found
    for text in found:
        for job in Suite(**yaml.safe_load(text)).jobs():
            if job.algorithm not in OWN_ALGORITHMS:
                registry.entry(job.algorithm)


def test_every_departure_from_a_paper_is_on_its_page():
    sources = [
        path
        for path in (pages.ROOT / "algorithms").rglob("*.py")
        if "Departs from the paper" in path.read_text()
    ]
    departures = "".join(
        page.read_text().partition("## Departures")[2].partition("## Reproduce")[0]
        for page in pages.DOCS.glob("papers/*.md")
    )

    assert len(sources) >= 5
    for path in sources:
        module = ".".join(("leaseboard", *path.relative_to(pages.ROOT).with_suffix("").parts))
        assert f"`{module}`" in departures, module


def test_the_workflow_is_yaml_and_finds_the_comment_that_the_gate_marks():
    text = (pages.DOCS / "ci-example.yml").read_text()
    steps = yaml.safe_load(text)["jobs"]["gate"]["steps"]

    assert MARK in text
    assert "secrets." not in text
    assert any("leaseboard gate ci" in step.get("run", "") for step in steps)


OWN_MODULES = ("leaseboard.algorithms.patient",)
TOPS = r"leaseboard\.algorithms|leaseboard\.tasks|leaseboard\.flows|benchmarks"


def exists(name):
    """Return whether a dotted name is a module, or what a module has."""
    with suppress(ImportError, AttributeError):
        return pkgutil.resolve_name(name) is not None
    return False


def missing(page):
    text = page.read_text()
    for module in set(re.findall(rf"\b((?:{TOPS})(?:\.[a-z_0-9]+)+)", text)):
        if module not in OWN_MODULES and not exists(module):
            yield module
    for name in re.findall(r"^\| `([a-z0-9-]+)` \|", text, re.MULTILINE):
        kind = name.startswith(("paper-", "speed-")) or name.endswith("-quick")
        if kind and name not in suite_names(pages.ROOT / "conf"):
            yield name
    for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
        if not (page.parent / link).exists() and (page.parent / link).resolve() not in pages.MADE:
            yield link


def test_modules_suites_and_links_of_every_page_exist():
    found = {page.stem: [*missing(page)] for page in pages.PAGES}
    assert len(found) >= 12
    assert {name: lost for name, lost in found.items() if lost} == {}


FLOORS = ("algorithms", "tasks", "flows")
NAMED = re.compile(r"`([\w/.-]+/[\w/.-]*)`")


@pytest.mark.parametrize("page", ["docs/architecture.md", "CONTRIBUTING.md"])
def test_every_place_that_is_named_is_there(page):
    named = NAMED.findall((pages.ROOT / page).read_text())

    assert named
    assert [place for place in named if not (pages.ROOT / place).exists()] == []


def test_every_room_is_named():
    rooms = {
        folder.parent.relative_to(pages.ROOT).as_posix()
        for floor in FLOORS
        for folder in (pages.ROOT / floor).glob("*/__init__.py")
    }
    named = set(NAMED.findall((pages.DOCS / "architecture.md").read_text()))

    assert rooms - named == set()


TEXT = (pages.DOCS / "llms.txt").read_text()
LINES = dict.fromkeys(re.findall(r"^- (.+)$", TEXT, re.MULTILINE))


def title(page):
    return re.search(r"^# (.*)", page.read_text(), re.MULTILINE)[1]


def test_every_page_has_a_line_with_its_title():
    named = {}
    for line in LINES:
        name, link, about = re.fullmatch(r"\[(.+)\]\((.+)\): (.+)", line).groups()
        named[pages.DOCS / link] = name
        assert about

    assert named == {page: title(page) for page in pages.PAGES if pages.DOCS in page.parents}
    assert len(named) == len(LINES)
