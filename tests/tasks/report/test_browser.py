"""The report in a real browser: it sorts, filters, changes theme, opens jobs, and is silent.

A headless Chromium is driven over its debugging socket; no driver package is needed.
"""

from __future__ import annotations

import base64
import itertools
import json
import subprocess
import time
from pathlib import Path
from typing import Any, Self

import pytest
from websockets.sync.client import connect

from tasks import report

pytestmark = pytest.mark.browser

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage", "--remote-debugging-port=0",
)  # fmt: skip


class Page:
    """One page; `problems` collects console errors, exceptions and requests to a network."""

    def __init__(self, program: str, profile: Path) -> None:
        self.problems: list[str] = []
        self.events: list[dict[str, Any]] = []
        self._ids = itertools.count(1)
        self._process = subprocess.Popen(
            [program, *FLAGS, f"--user-data-dir={profile}", "about:blank"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        port_file = profile / "DevToolsActivePort"
        deadline = time.monotonic() + 30
        while not (port_file.is_file() and port_file.read_text().count("\n")):
            assert time.monotonic() < deadline, "Chromium did not start within 30 s"
            time.sleep(0.05)
        port, path = port_file.read_text().split("\n")[:2]
        self._socket = connect(f"ws://127.0.0.1:{port}{path}", max_size=None)
        self._session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)[
            "sessionId"
        ]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        self.resize(1280, 900)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()
        self._process.terminate()
        self._process.wait(timeout=20)

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        number = next(self._ids)
        message = {"id": number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        self._socket.send(json.dumps(message))
        while True:
            answer = json.loads(self._socket.recv(timeout=60))
            if answer.get("id") == number:
                assert "error" not in answer, answer
                return answer["result"]
            self._note(answer)

    def resize(self, width: int, height: int, *, mobile: bool = False) -> None:
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=mobile)  # fmt: skip

    def scheme(self, name: str) -> None:
        """Pretend that the system prefers ``light`` or ``dark``."""
        feature = {"name": "prefers-color-scheme", "value": name}
        self.call("Emulation.setEmulatedMedia", features=[feature])

    def open(self, address: str) -> None:
        self.call("Page.navigate", url=address)
        self.wait("document.readyState === 'complete'")

    def ask(self, expression: str) -> Any:
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True,
                           awaitPromise=True)  # fmt: skip
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait(self, expression: str, seconds: float = 20) -> None:
        deadline = time.monotonic() + seconds
        while not self.ask(f"Boolean({expression})"):
            assert time.monotonic() < deadline, f"never came true: {expression}"
            time.sleep(0.05)

    def press(self, key: str, code: int) -> None:
        for kind in ("keyDown", "keyUp"):
            extra = {"text": "\r"} if key == "Enter" and kind == "keyDown" else {}
            self.call("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code,
                      **extra)  # fmt: skip

    def picture(self, path: Path, *, whole: bool = True) -> None:
        data = self.call("Page.captureScreenshot", captureBeyondViewport=whole)["data"]
        path.write_bytes(base64.b64decode(data))

    def _note(self, message: dict[str, Any]) -> None:
        self.events.append(message)
        method, parameters = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.problems.append(json.dumps(parameters["exceptionDetails"])[:500])
        elif method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning"):
            self.problems.append(json.dumps(parameters["args"])[:500])
        elif method == "Log.entryAdded" and parameters["entry"]["level"] == "error":
            self.problems.append(parameters["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            url = parameters["request"]["url"]
            if not url.startswith(("file:", "data:", "blob:", "about:")):
                self.problems.append(f"request to {url}")


@pytest.fixture(scope="module")
def address(make_run, make_suite, tmp_path_factory):
    folder = tmp_path_factory.mktemp("quick")
    make_run(folder, make_suite())
    return report.build(folder, make_suite())


@pytest.fixture
def page(browser, address, tmp_path):
    with Page(browser, tmp_path / "profile") as opened:
        opened.scheme("light")
        opened.open(f"file://{address}")
        yield opened
        opened.ask("1")  # collect what is still on its way
        assert opened.problems == []


def column(page, table, index):
    return page.ask(
        f"[...document.querySelectorAll('#{table} tbody tr')].filter(r => !r.hidden)"
        f".map(r => r.cells[{index}].textContent)"
    )


def click(page, selector):
    page.ask(f"document.querySelector({selector!r}).click()")


def test_the_leaderboard_sorts_by_mouse_and_by_keyboard(page):
    before = column(page, "leaderboard-table", 1)
    head = "#leaderboard-table thead th:nth-child(2) button"
    click(page, head)
    assert column(page, "leaderboard-table", 1) == sorted(before)
    aria = "document.querySelector('#leaderboard-table th:nth-child(2)').getAttribute('aria-sort')"
    assert page.ask(aria) == "ascending"
    page.ask(f"document.querySelector({head!r}).focus()")
    page.press("Enter", 13)
    assert column(page, "leaderboard-table", 1) == sorted(before, reverse=True)
    assert page.ask(aria) == "descending"
    click(page, "#leaderboard-table thead th:nth-child(4) button")
    assert column(page, "leaderboard-table", 3)[0] == "0.000"
    assert page.ask("document.querySelectorAll('#leaderboard-table [aria-sort]').length") == 1


def test_jobs_filter_by_words_and_by_status(page):
    page.ask(
        "(() => { const f = document.querySelector('[data-filter=jobs-table]');"
        " f.value = 'CHACHA fried'; f.dispatchEvent(new Event('input')); })()"
    )
    assert column(page, "jobs-table", 0) == ["chacha"] * 3
    page.ask(
        "(() => { const s = document.querySelector('select[data-status=jobs-table]');"
        " s.value = 'timeout'; s.dispatchEvent(new Event('change')); })()"
    )
    assert column(page, "jobs-table", 3) == ["timeout"]
    assert page.ask("document.querySelector('[data-count=jobs-table]').textContent") == "1 of 36"


def test_the_theme_follows_the_system_until_the_button_is_pressed(page):
    ground = "getComputedStyle(document.body).backgroundColor"
    assert page.ask(ground) == "rgb(255, 255, 255)"
    page.scheme("dark")
    assert page.ask(ground) == "rgb(17, 21, 26)"
    click(page, "#theme")
    assert page.ask(ground) == "rgb(255, 255, 255)"


def test_paper_is_light_and_the_screen_comes_back(page):
    page.scheme("dark")
    ground = "getComputedStyle(document.body).backgroundColor"
    page.ask("window.dispatchEvent(new Event('beforeprint'))")
    assert page.ask(ground) == "rgb(255, 255, 255)"
    page.ask("window.dispatchEvent(new Event('afterprint'))")
    assert page.ask(ground) == "rgb(17, 21, 26)"
    assert page.ask("document.documentElement.dataset.theme === undefined")
    assert len(page.call("Page.printToPDF")["data"]) > 10_000


def test_curves_are_drawn_when_they_are_seen_and_change_with_the_choice(page):
    page.ask("document.querySelector('#curves').scrollIntoView()")
    page.wait("document.querySelectorAll('#curve-chart .scatterlayer .trace').length >= 4")
    page.ask(
        "(() => { const s = document.querySelector('#curve-pick'); s.selectedIndex = 1;"
        " s.dispatchEvent(new Event('change')); })()"
    )
    title = "document.querySelector('#curve-chart h3').textContent"
    page.wait(f"{title} === 'Score while the budget is spent'")
    page.wait("document.querySelectorAll('#curve-chart .tools button').length >= 6")
    buttons = page.ask("[...document.querySelectorAll('.modebar-btn')].map(b => b.dataset.title)")
    assert "Download plot as a PNG" in buttons
    assert not any("hare" in title for title in buttons)  # none that would upload the chart
    click(page, "#curve-chart .tools button")
    assert page.ask("document.querySelector('#curve-chart .tools button').ariaPressed") == "false"


def test_a_job_opens_with_its_pictures_and_closes_again(page):
    click(page, "#jobs-table tbody tr:nth-child(4) a")
    page.wait("!document.querySelector('#job').hidden")
    title = "random <b>configs</b> on fried, repetition 0"
    assert page.ask("document.querySelector('#job h1').textContent") == title
    page.wait("document.querySelectorAll('#job .chart').length === 3")
    page.resize(1280, 4000)
    page.wait("document.querySelectorAll('#job .chart .main-svg').length >= 3")
    page.wait("document.querySelectorAll('#job .chart .barlayer .point').length > 20")
    assert page.ask("document.querySelector('#job pre').textContent").startswith("leaseboard race")
    click(page, "#job .back")
    page.wait("document.querySelector('#job').hidden")
    assert page.ask("!document.querySelector('#board').hidden")


def test_a_job_without_a_log_says_so(page):
    click(page, "#jobs-table tr[data-status=timeout] a")
    page.wait("document.querySelector('#job .callout')")
    assert "stopped after 60 s" in page.ask("document.querySelector('#job .facts').textContent")


@pytest.mark.parametrize("width", [360, 390, 768, 1280])
def test_nothing_is_wider_than_the_screen(page, width):
    page.resize(width, 800, mobile=width < 700)
    page.wait("document.readyState === 'complete'")
    assert page.ask("document.documentElement.scrollWidth") <= width


def test_text_has_enough_contrast_in_both_themes(page):
    """WCAG 2.1 AA: 4.5 to 1 for every visible text against the ground it stands on."""
    for scheme in ("light", "dark"):
        page.scheme(scheme)
        assert page.ask(CONTRAST) == []


CONTRAST = """(() => {
  const parse = (c) => (c.match(/[\\d.]+/g) || [0, 0, 0, 0]).map(Number);
  const lum = ([r, g, b]) => [r, g, b].map((v) => v / 255)
    .map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = (e) => {
    for (let n = e; n; n = n.parentElement) {
      const c = parse(getComputedStyle(n).backgroundColor);
      if (c.length === 3 || c[3] > 0) return c;
    }
    return [255, 255, 255];
  };
  const bad = new Set();
  for (const e of document.querySelectorAll("body *")) {
    const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    if (!own || !e.checkVisibility() || e.closest("script")) continue;
    const style = getComputedStyle(e);
    const ink = parse(e instanceof SVGElement ? style.fill : style.color);
    const [a, b] = [lum(ink), lum(ground(e))].sort((x, y) => y - x);
    if ((a + 0.05) / (b + 0.05) < 4.5) bad.add(`${e.tagName}.${e.className} ${e.textContent}`);
  }
  return [...bad];
})()"""


def test_everything_that_can_be_pressed_has_a_name_and_takes_the_focus(page):
    nameless = page.ask(
        "[...document.querySelectorAll('button, a[href], input, select')].filter(e =>"
        " !(e.textContent.trim() || e.ariaLabel || e.labels?.length)"
        " || e.tabIndex < 0).map(e => e.outerHTML)"
    )
    assert nameless == []
