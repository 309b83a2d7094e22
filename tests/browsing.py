"""What tests of pages do in a browser."""

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


def see_all(page):
    """Open what is folded, and scroll past every chart, which is drawn when it is seen."""
    page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    for chart in page.locator(".chart").all():
        chart.scroll_into_view_if_needed()
        expect(chart.locator(".main-svg").first).to_be_visible()


def assert_accessible(page):
    """Assert that Axe finds nothing."""
    found = Axe().run(page, options={"runOnly": RULES, "resultTypes": ["violations"]})
    assert found.violations_count == 0, found.generate_report()
