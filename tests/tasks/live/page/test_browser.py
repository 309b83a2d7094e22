"""The page of a live model in a real browser: it draws, is silent, and can be read by all."""

import pytest
from playwright.sync_api import expect

from leaseboard.tasks.live.page import build
from tests.browsing import assert_accessible, see_all

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.fixture
def address(lived, tmp_path):
    return f"file://{build(lived, tmp_path)}"


def test_axe_finds_nothing(silent_page, address):
    page = silent_page("file:", viewport={"width": 1280, "height": 900})
    page.goto(address)
    see_all(page)
    assert_accessible(page)


def test_nothing_is_wider_than_a_phone(silent_page, address):
    page = silent_page("file:", viewport={"width": 390, "height": 800}, is_mobile=True)
    page.goto(address)
    see_all(page)
    for width in (360, 390, 500, 800):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_links_and_folded_tables_open(silent_page, address):
    page = silent_page("file:", viewport={"width": 1280, "height": 900})
    page.goto(f"{address}#candidates")
    expect(page.locator("#candidates-table")).to_be_visible()
    page.locator("#batches").get_by_text("Batches (").click()
    expect(page.locator("#batches-table")).to_be_visible()
