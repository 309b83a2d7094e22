"""`llms.txt` names every page by its own title, with a line on what it is for."""

import re

from tests.docs import pages

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
