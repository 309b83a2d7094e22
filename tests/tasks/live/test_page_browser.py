"""The page of a live model in a real browser: it draws, is silent, and can be read by all."""

import pytest
from playwright.sync_api import expect

from leaseboard.tasks.live.page import build
from tests.browsing import assert_accessible, see_all

pytestmark = pytest.mark.browser


def test_it_is_accessible_and_fits_a_phone(silent_page, lived, tmp_path):
    page = silent_page("file:", viewport={"width": 1280, "height": 900})
    page.goto(f"file://{build(lived, tmp_path)}#history")
    expect(page.locator("#history-table")).to_be_visible()
    see_all(page)
    assert_accessible(page)
    for width in (360, 500, 800):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
