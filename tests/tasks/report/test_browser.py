"""The report in a real browser: it sorts, filters, changes theme, opens jobs, and is silent."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from leaseboard.tasks.report import build
from tests.browsing import assert_accessible, cut_off, see_all

pytestmark = [pytest.mark.browser, pytest.mark.slow]

SCREEN = {"width": 1280, "height": 900}
WHITE, BLACK = "rgb(255, 255, 255)", "rgb(17, 21, 26)"


@pytest.fixture
def address(built):
    return f"file://{built / 'report.html'}"


@pytest.fixture
def page(silent_page, address):
    opened = silent_page("file:", viewport=SCREEN, color_scheme="light")
    opened.goto(address)
    return opened


def column(page, table, index):
    cells = f"#{table} tbody tr:visible > :nth-child({index})"
    return page.locator(cells).all_text_contents()


def unfold_jobs(page):
    page.locator("#jobs details").evaluate("details => { details.open = true; }")


def open_job(page):
    unfold_jobs(page)
    page.locator("#jobs-table tbody tr:nth-child(4) a").click()
    expect(page.locator("#job")).to_be_visible()


def test_the_leaderboard_sorts_by_mouse_and_by_keyboard(page):
    heads = page.locator("#leaderboard-table thead th")
    before = column(page, "leaderboard-table", 2)
    heads.nth(1).get_by_role("button").click()
    assert column(page, "leaderboard-table", 2) == sorted(before)
    expect(heads.nth(1)).to_have_attribute("aria-sort", "ascending")
    heads.nth(1).get_by_role("button").press("Enter")
    assert column(page, "leaderboard-table", 2) == sorted(before, reverse=True)
    expect(heads.nth(1)).to_have_attribute("aria-sort", "descending")
    heads.nth(3).get_by_role("button").click()
    assert column(page, "leaderboard-table", 4)[0] == "0.000"
    expect(page.locator("#leaderboard-table [aria-sort]")).to_have_count(1)


def test_jobs_filter_by_words_and_by_status(page):
    unfold_jobs(page)
    page.get_by_label("Filter jobs").fill("CHACHA fried")
    assert column(page, "jobs-table", 1) == ["chacha"] * 3
    page.get_by_label("Status").select_option("timeout")
    assert column(page, "jobs-table", 4) == ["timeout"]
    expect(page.locator("[data-count=jobs-table]")).to_have_text("1 of 36")


def test_the_theme_follows_the_system_until_the_button_is_pressed_and_paper_is_light(page):
    body = page.locator("body")
    expect(body).to_have_css("background-color", WHITE)
    page.emulate_media(color_scheme="dark")
    expect(body).to_have_css("background-color", BLACK)
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    expect(body).to_have_css("background-color", WHITE)
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    expect(body).to_have_css("background-color", BLACK)
    assert page.evaluate("document.documentElement.dataset.theme === undefined")
    assert len(page.pdf()) > 10_000
    page.locator("#theme").click()
    expect(body).to_have_css("background-color", WHITE)


def test_paper_has_every_chart_and_table_within_its_width_though_none_was_seen(silent_page, built):
    """As where a program prints the page at once: the charts cannot wait to be drawn."""
    page = silent_page("file:", theirs=("late",), viewport={"width": 1400, "height": 900})
    page.add_init_script("DecompressionStream = class { constructor() { throw Error('late'); } }")
    page.goto(f"file://{built / 'report.html'}")
    assert page.locator(".main-svg").count() == 0
    page.emulate_media(media="print")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    charts = page.locator("#board figure.chart").all()
    assert len(charts) > 3
    for chart in charts:
        assert chart.locator(".main-svg").first.bounding_box()["width"] <= 660
    page.set_viewport_size({"width": 700, "height": 900})
    assert page.evaluate("document.documentElement.scrollWidth") <= 700
    tables = page.locator("#board table:visible")
    assert tables.count() > 4
    assert page.evaluate(
        "() => [...document.querySelectorAll('table')].filter((t) => t.checkVisibility()"
        " && t.getBoundingClientRect().right > 701).map((t) => t.id)"
    ) == []  # fmt: skip


def test_curves_are_drawn_when_they_are_seen_and_change_with_the_choice(page):
    chart = page.locator("#curves-chart")
    page.locator("#curves").scroll_into_view_if_needed()
    expect(chart.locator(".scatterlayer .trace").nth(3)).to_be_attached()
    page.locator("[data-chart=curves-chart]").select_option(index=1)
    expect(chart.locator("h3")).to_have_text("Score while the budget is spent")
    expect(chart.locator(".tools button").nth(5)).to_be_attached()
    tools = [
        button.get_attribute("data-title") or "" for button in chart.locator(".modebar-btn").all()
    ]
    assert "Download plot as a PNG" in tools
    assert not any("hare" in title for title in tools)  # none that would upload the chart
    first = chart.locator(".tools button").first
    first.click()
    expect(first).to_have_attribute("aria-pressed", "false")


def test_a_job_opens_with_its_pictures_and_closes_again(page):
    open_job(page)
    job = page.locator("#job")
    expect(job.locator("h1")).to_have_text("random <b>configs</b> on fried, repetition 0")
    expect(job.locator(".chart")).to_have_count(3)
    see_all(page)
    assert job.locator(".chart .barlayer .point").count() > 20
    expect(job.locator("pre")).to_contain_text("leaseboard race")
    job.locator(".back").click()
    expect(job).to_be_hidden()
    page.locator("#jobs-table tr:has(.timeout) a").first.click()
    expect(page.locator("#job .callout")).to_have_text("This job left no event log.")
    expect(page.locator("#job .facts")).to_contain_text("stopped after 60 s")


def test_every_configuration_is_in_one_table_that_is_filled_when_it_is_opened(page):
    expect(page.locator("#configurations table")).to_have_count(0)
    page.get_by_text("All configurations, one a row").press("Enter")
    table = page.get_by_role("table", name="All configurations")
    count = page.locator("[data-count=all-configurations-list]")
    expect(count).to_have_text(re.compile(r"(\d+) of \1"))
    every = int(count.text_content().split()[-1])
    assert f"{every:,} in all" in page.locator("#configurations").text_content()
    assert every > 200
    expect(table.locator("tbody tr")).to_have_count(200)
    page.locator("[data-more=all-configurations-list]").click()
    expect(table.locator("tbody tr")).to_have_count(every)

    pickers = page.locator("#configurations select")
    for place, value in enumerate(("chacha", "fried", "1")):
        pickers.nth(place).select_option(value)
    of_job = table.locator("tbody tr").count()
    pickers.nth(4).select_option("at least one")
    leased = table.locator("tbody tr").count()
    assert 0 < leased <= of_job < every
    pickers.nth(3).select_option("champion")
    expect(table.locator("tbody tr")).to_have_count(1)
    table.locator("tbody a").press("Enter")
    expect(page.locator("#job h1")).to_have_text("chacha on fried, repetition 1")
    expect(page.locator("#configurations-list tbody tr")).to_have_count(of_job)
    page.locator("#job select").last.select_option("at least one")
    expect(page.locator("#configurations-list tbody tr")).to_have_count(leased)
    page.locator("#configurations-list thead").get_by_text("Units").click()
    units = [float(cell) for cell in column(page, "configurations-list", 5)]
    assert units == sorted(units)


def test_a_job_links_to_its_runs_in_mlflow(silent_page, built_folder, suite):
    place = {"ui": "https://ui.example", "jobs": "7", "configurations": "8"}
    (built_folder / "mlflow.json").write_text(json.dumps(place))
    page = silent_page("file:", viewport=SCREEN)
    page.goto(f"file://{build.build(built_folder, suite)}")
    open_job(page)
    key = page.evaluate("location.hash.slice(5)")
    link = page.locator("#job").get_by_role("link", name="its configurations")
    expect(link).to_have_attribute(
        "href", "https://ui.example/#/experiments/8/runs?searchFilter="
        f"tags.leaseboard.job%20%3D%20'{key}'&workflowType=machine_learning",
    )  # fmt: skip
    assert_accessible(page)


def test_a_script_that_is_not_the_pages_own_never_runs(silent_page, address, tmp_path):
    """Even one that got into the page, as from a label that was not escaped."""
    html = Path(address.removeprefix("file://")).read_text(encoding="utf-8")
    hurt = tmp_path / "hurt.html"
    hurt.write_text(html.replace(
        "<main ", "<script>window.hurt = 1</script><img src=x onerror='window.hurt = 2'><main ", 1
    ), encoding="utf-8")  # fmt: skip
    page = silent_page("file:", theirs=("Content Security Policy",), viewport=SCREEN)
    page.goto(f"file://{hurt}")
    page.locator("#curves").scroll_into_view_if_needed()
    expect(page.locator("#curves-chart .main-svg").first).to_be_visible()

    assert page.evaluate("window.hurt === undefined")
    asked = "fetch('https://example.org').then(() => 'sent', () => 'refused')"
    assert page.evaluate(asked) == "refused"


def test_nothing_is_wider_than_the_screen(silent_page, address):
    page = silent_page("file:", is_mobile=True)
    page.goto(address)
    for show in (lambda: None, lambda: open_job(page)):
        show()
        for width in (360, 400, 500, 768, 1280):
            page.set_viewport_size({"width": width, "height": 800})
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert cut_off(page) == []


def test_axe_finds_nothing_on_the_leaderboard_and_on_a_jobs_page(page):
    for show in (see_all, lambda page: (open_job(page), see_all(page))):
        show(page)
        for theme in ("light", "dark"):
            page.emulate_media(color_scheme=theme)
            assert_accessible(page)


def test_the_keyboard_alone_reaches_a_job_and_comes_back(page):
    page.keyboard.press("Tab")
    expect(page.get_by_text("Skip to the summary")).to_be_focused()
    page.get_by_text("All 36 jobs, one a row").focus()
    page.keyboard.press("Enter")
    page.get_by_label("Status").focus()
    heads = page.locator("#jobs-table thead button").count()
    for _ in range(1 + heads + 1):  # the table, which scrolls; its heads; the first job
        page.keyboard.press("Tab")
    expect(page.locator("#jobs-table tbody a").first).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#job h1")).to_be_focused()
    page.keyboard.press("Shift+Tab")
    expect(page.locator("#job .back")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#board")).to_be_visible()


def test_a_chart_is_as_wide_as_its_box_at_once(page):
    """As where a picture of the page is taken at another width than it was drawn at."""
    figure = page.locator("figure.chart").first
    figure.locator(".main-svg").first.wait_for()
    for width in (320, 600):
        figure.evaluate("(figure, width) => { figure.style.width = `${width}px`; }", width)
        page.screenshot()
        area, drawn = (
            figure.locator(name).first.bounding_box() for name in (".area", ".main-svg")
        )
        assert area["width"] == drawn["width"] < width
