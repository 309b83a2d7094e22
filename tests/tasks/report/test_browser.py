"""The report in a real browser: it draws, sorts, fits a phone, and is silent."""

import pytest

from tests.browsing import assert_accessible, see_all

pytestmark = pytest.mark.browser


@pytest.fixture
def page(silent_page, built):
    opened = silent_page("file:", viewport={"width": 1280, "height": 900})
    opened.goto(f"file://{built / 'report.html'}")
    return opened


def column(page, table, index):
    cells = f"#{table} tbody tr:visible > :nth-child({index})"
    return page.locator(cells).all_text_contents()


def test_a_table_sorts_by_mouse_and_by_keyboard(page):
    heads = page.locator("#leaderboard-table thead th")
    before = column(page, "leaderboard-table", 2)
    heads.nth(1).get_by_role("button").click()
    assert column(page, "leaderboard-table", 2) == sorted(before)
    heads.nth(1).get_by_role("button").press("Enter")
    assert column(page, "leaderboard-table", 2) == sorted(before, reverse=True)


def test_every_chart_is_drawn_and_the_page_fits_a_phone(page):
    see_all(page)
    assert_accessible(page)
    page.set_viewport_size({"width": 400, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
