"""What tests of pages do in a browser."""

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


def see_all(page):
    """Open what is folded, which draws its charts."""
    page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    expect(page.locator("details > template")).to_have_count(0)
    for chart in page.locator(".chart").all():
        chart.scroll_into_view_if_needed()
        expect(chart.locator(".main-svg").first).to_be_visible()


def assert_accessible(page):
    """Assert that Axe finds nothing."""
    found = Axe().run(page, options={"runOnly": RULES, "resultTypes": ["violations"]})
    assert found.violations_count == 0, found.generate_report()
