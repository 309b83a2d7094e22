"""A section is one module; the page shows each that has anything to say, and nothing twice."""

import pkgutil
from dataclasses import fields
from importlib import import_module

from jinja2 import Environment, PackageLoader

from leaseboard.tasks.report import sections
from leaseboard.tasks.report.section import Material, Section
from leaseboard.tasks.report.sections import READERS, SECTIONS

MODULES = [
    import_module(f"{sections.__name__}.{module.name}")
    for module in pkgutil.iter_modules(sections.__path__)
]


def test_every_module_that_makes_a_section_is_on_the_page():
    makers = {module.section for module in MODULES if hasattr(module, "section")}

    assert makers == set(SECTIONS)
    assert len(SECTIONS) == len(makers)


def test_every_template_is_there_and_some_section_shows_it():
    loader = PackageLoader("leaseboard.tasks.report")
    named = {kind.template for kind in (Section, *Section.__subclasses__())}

    assert {name for name in loader.list_templates() if "section" in name} == named
    for name in named:
        Environment(loader=loader, autoescape=True).get_template(name)


def test_a_section_of_a_run_without_logs_is_made_all_the_same(run_folder, suite, tmp_path):
    """What a section asks of the logs, a reader gives; none that is forgotten goes unseen."""
    from leaseboard.tasks.folder.results import shown_at
    from leaseboard.tasks.report.section import read_logs
    from leaseboard.tasks.score.compared import compared
    from leaseboard.tasks.score.frame import as_frame

    frame = as_frame(shown_at(run_folder))
    told, damaged = read_logs(tmp_path, frame, READERS)
    made = Material("", frame, suite, compared(frame, suite), told, damaged)
    shown = [found for make in SECTIONS if (found := make(made)) is not None]

    assert set(told) == set(READERS)
    assert not any(told.values())
    assert len({section.id for section in shown}) == len(shown)
    assert "curves" not in {section.id for section in shown}
    assert {"id", "title", "text", "figures", "tables"} <= {f.name for f in fields(Section)}
