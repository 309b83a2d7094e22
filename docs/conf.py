"""How Sphinx builds these pages: ``make docs``."""

import re
import runpy
import sys
from pathlib import Path
from types import GenericAlias

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

project = "Leaseboard"
copyright = "the Leaseboard authors"  # noqa: A001  (the name that Sphinx reads)
extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
]
html_theme = "furo"
html_title = "Leaseboard"
exclude_patterns = ["_build"]
html_extra_path = ["llms.txt"]

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_default_options = {"members": True, "show-inheritance": True}
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings say it, with shapes and units
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
# numpydoc renames footnotes docstring by docstring, and then misses those of modules.
# What scikit-learn's estimators hand on refers to scikit-learn's glossary and guide.
# "ref.python": a property of two classes, whose name numpydoc links without the class.
suppress_warnings = ["ref.citation", "ref.python", "ref.ref", "ref.term"]


_SIZE = re.compile(r"\|(\w[^|]*)\|")


def as_rst(_app, _what, _name, _object, _options, lines):
    """Make of a docstring's bars what reStructuredText takes for tables and sizes.

    Docstrings are read in an editor first: there they write |S| for a size, and tables with bars.
    """
    lines[:] = list(_converted(lines))


def _converted(lines):
    in_table = in_code = False
    for line in lines:
        in_code = line.strip() != "" and (in_code or line.lstrip().startswith(">>> "))
        if not line.startswith("| "):
            in_table = False
            yield line if in_code or "``" in line else _SIZE.sub(r"\\|\1\\|", line)
            continue
        if set(line) <= set("|- "):
            continue
        if not in_table:
            in_table = True
            yield from (".. list-table::", "   :header-rows: 1", "")
        for number, cell in enumerate(line.removeprefix("| ").removesuffix(" |").split(" | ")):
            yield f"   {'  ' if number else '* '}- " + _SIZE.sub(r"\\|\1\\|", cell)


def skip_alias(_app, _what, _name, member, _skip, _options):
    """Leave out aliases of array types, which autodoc cannot describe."""
    return isinstance(member, GenericAlias) or None


def write_pages(_app):
    """Write the pages that are made of the code, and not committed."""
    for name in ("command_line.py", "keys.py"):
        made = runpy.run_path(str(ROOT / "docs" / name))
        made["PAGE"].write_text(made["page"](), encoding="utf-8")


def setup(app):
    """Convert before numpydoc, whose priority is 500."""
    app.connect("builder-inited", write_pages, priority=100)  # before the sources are read
    app.connect("autodoc-skip-member", skip_alias)
    app.connect("autodoc-process-docstring", as_rst, priority=400)
