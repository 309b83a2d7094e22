"""Sections of plugins: made in the sandbox from the results, and shown as text and a table."""

import json
from collections.abc import Iterator
from typing import Annotated, Any

import pandas as pd
from pydantic import Field, ValidationError

from leaseboard.algorithms import plugins
from leaseboard.algorithms.errors import LeaseboardError
from leaseboard.algorithms.plugins import Plugin
from leaseboard.tasks.jobs import sandbox
from leaseboard.tasks.jobs.job import first_fault
from leaseboard.tasks.jobs.plugin_check import LIMITS, verdict
from leaseboard.tasks.machine.yaml_files import Strict
from leaseboard.tasks.report.material import Material
from leaseboard.tasks.report.page import Section, Table

Text = Annotated[str, Field(max_length=10_000)]


class AddedSection(Strict):
    """Answer of a plugin: sentences, then a table."""

    title: Annotated[str, Field(min_length=1, max_length=200)]
    text: list[Text] = Field(default_factory=list, max_length=100)
    columns: list[Text] = Field(default_factory=list, max_length=100)
    rows: list[list[Text | float | bool | None]] = Field(default_factory=list, max_length=10_000)


def added(made: Material) -> Iterator[Section]:
    """Yield the section of each plugin that has one of these results, or why it is left out."""
    rows = None
    for plugin in (each for each in plugins.discovered() if each.kind == "sections"):
        rows = rows or json.loads(made.frame.to_json(orient="records"))
        section = f"plugin-{plugin.name}"
        try:
            if fault := verdict(plugin)["fault"]:
                raise LeaseboardError(fault)  # noqa: TRY301  (as what it raises now)
            function = f"{__name__}:answer"
            said = sandbox.ask(
                function, plugin.file, plugin.name, rows, limits=LIMITS, follow=False
            )
            if said is None:
                continue
            found = AddedSection.model_validate(said)
            frame = pd.DataFrame(found.rows, columns=found.columns)
        except (LeaseboardError, ValueError) as error:
            why = first_fault(error) if isinstance(error, ValidationError) else str(error)
            yield Section(section, plugin.name, text=[f"Left out: {plugin.source}: {why}"])
            continue
        caption = f"Made by {plugin.source}."
        table = [Table(f"{section}-table", caption, frame)] if found.columns else []
        yield Section(section, found.title, nav=found.title, text=found.text, tables=table)


def answer(name: str, rows: list[dict[str, Any]]) -> Any:
    """Return what the section's function returns; it is imported into this process."""
    plugin = plugins.find("sections", name)
    assert isinstance(plugin, Plugin)
    return plugin.load()(rows)
