"""No page names a module, function, suite or file that does not exist."""

import pkgutil
import re
from contextlib import suppress

from leaseboard.tasks.jobs.suites.suite import suite_names
from tests.docs import pages

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
