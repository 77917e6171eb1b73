"""The page in headless Chromium, offline: no errors, sorting, filtering, tooltips, printing, two widths.

Skipped where Chromium with its driver is not installed; ``make browser-test`` fails there instead.
"""

from __future__ import annotations

import base64
import os
import shutil
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
BROWSER = next((path for path in map(shutil.which, BROWSERS) if path), None)
DRIVER = shutil.which("chromedriver")
REQUIRED = bool(os.environ.get("BROWSER_TEST_REQUIRED"))
MISSING = "Chromium" if BROWSER is None else "chromedriver"

pytestmark = pytest.mark.skipif(
    (BROWSER is None or DRIVER is None) and not REQUIRED,
    reason=f"{MISSING} is not installed: the page was not tried in a browser (see docs/report.md)",
)


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Start a browser that can reach nothing, with an empty profile."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    assert BROWSER is not None, "Chromium is not installed"
    assert DRIVER is not None, "chromedriver is not installed"
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    flags = (
        "headless", "no-sandbox", "disable-gpu", "disable-quic", "no-first-run",
        "disable-background-networking", "disable-component-update", "disable-sync",
        "disable-dev-shm-usage", f"user-data-dir={tmp_path_factory.mktemp('profile')}",
    )  # fmt: skip
    for flag in flags:
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    driver.execute_cdp_cmd("Network.enable", {})
    driver.execute_cdp_cmd(
        "Network.emulateNetworkConditions",
        {"offline": True, "latency": 0, "downloadThroughput": 0, "uploadThroughput": 0},
    )
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def address(page: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the address of the page on disk."""
    place: Path = tmp_path_factory.mktemp("page") / "plan.html"
    place.write_text(page, encoding="utf-8")
    return place.as_uri()


def show(browser: Any, address: str, *, width: int = 1440, scheme: str = "light") -> None:  # noqa: ANN401
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    features = [
        {"name": "prefers-color-scheme", "value": scheme},
        {"name": "prefers-reduced-motion", "value": "reduce"},
    ]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    browser.get(address)
    assert browser.execute_script("return document.documentElement.dataset.ready") == "yes"


def column(browser: Any, number: int) -> list[str]:  # noqa: ANN401
    """Return the texts of a column of the first table, of the rows that show."""
    script = """
        const rows = [...document.querySelectorAll('[data-sortable] tbody')[0].rows];
        return rows.filter(row => !row.hidden).map(row => row.cells[arguments[0]].textContent);"""
    found: list[str] = browser.execute_script(script, number)
    return found


def keys(browser: Any, number: int) -> list[float]:  # noqa: ANN401
    script = """
        const rows = [...document.querySelectorAll('[data-sortable] tbody')[0].rows];
        return rows.map(row => Number(row.cells[arguments[0]].dataset.k));"""
    found: list[float] = browser.execute_script(script, number)
    return found


def press(browser: Any, number: int) -> str:  # noqa: ANN401
    """Press the heading of a column with the keyboard; return how it says it is sorted."""
    from selenium.webdriver.common.keys import Keys

    button = browser.find_elements("css selector", "[data-sortable] thead button")[number]
    button.send_keys(Keys.ENTER)
    script = "return arguments[0].parentElement.getAttribute('aria-sort')"
    return str(browser.execute_script(script, button))


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [375, 1440])
def test_it_loads_without_errors_or_requests(chromium: Any, address: str, width: int, scheme: str) -> None:  # noqa: ANN401
    show(chromium, address, width=width, scheme=scheme)
    assert chromium.get_log("browser") == []
    requests = [
        entry["message"]
        for entry in chromium.get_log("performance")
        if '"Network.requestWillBeSent"' in entry["message"] and '"url":"http' in entry["message"]
    ]
    assert requests == []
    wide = chromium.execute_script("return document.documentElement.scrollWidth - window.innerWidth")
    assert wide <= 0, "the page scrolls sideways"
    colour = chromium.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert colour == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(20, 23, 28)")


def test_drawings_fit_the_window(chromium: Any, address: str) -> None:  # noqa: ANN401
    script = """return [...document.querySelectorAll('svg.plot')]
        .filter(e => e.getBoundingClientRect().width).map(e => e.classList.contains('narrow'))"""
    show(chromium, address, width=375)
    assert set(chromium.execute_script(script)) == {True}
    show(chromium, address, width=1440)
    assert set(chromium.execute_script(script)) == {False}


def test_texts_of_plots_are_large_enough_to_read(chromium: Any, address: str) -> None:  # noqa: ANN401
    for width in (375, 1440):
        show(chromium, address, width=width)
        sizes = chromium.execute_script("""return [...document.querySelectorAll('svg.plot')]
            .map(e => 11 * e.getBoundingClientRect().width / e.viewBox.baseVal.width).filter(Boolean)""")
        assert min(sizes) >= 9


def test_it_sorts_by_value_both_ways_from_the_keyboard(chromium: Any, address: str) -> None:  # noqa: ANN401
    show(chromium, address)
    before = column(chromium, 2)
    assert press(chromium, 2) == "ascending"
    steps = keys(chromium, 2)
    assert steps == sorted(steps)
    assert column(chromium, 2) != before
    assert press(chromium, 2) == "descending"
    assert keys(chromium, 2) == sorted(steps, reverse=True)
    assert press(chromium, 0) == "ascending"
    names = column(chromium, 0)
    assert names == sorted(names, key=lambda name: (not name[0].isdigit(), name.lower()))


def test_it_filters_by_every_word_and_counts(chromium: Any, address: str) -> None:  # noqa: ANN401
    show(chromium, address)
    field = chromium.find_element("css selector", "[data-filterable] input")
    field.send_keys("resnet18 rtx")
    assert column(chromium, 0) == ["RTX 4090"]
    count = chromium.find_element("css selector", "[data-filterable] output")
    assert count.text == "1 of 12 rows"
    field.clear()
    field.send_keys(" ")
    assert len(column(chromium, 0)) == 12
    script = "return document.querySelector(`label[for='${arguments[0].id}']`).textContent"
    assert chromium.execute_script(script, field).startswith("Filter: Predicted training times")


def test_marks_tell_more_from_pointer_and_keyboard(chromium: Any, address: str) -> None:  # noqa: ANN401
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    show(chromium, address)
    plot = chromium.find_element("css selector", "svg.plot.wide")
    tip = chromium.find_element("id", "tip")
    assert not tip.is_displayed()
    ActionChains(chromium).move_to_element(plot.find_element("css selector", ".mark")).perform()
    assert "1,000 samples" in tip.text
    ActionChains(chromium).move_to_element(chromium.find_element("css selector", "h1")).perform()
    assert not tip.is_displayed()
    chromium.execute_script("arguments[0].focus()", plot)
    ActionChains(chromium).send_keys(Keys.ARROW_RIGHT).perform()
    first = tip.text
    ActionChains(chromium).send_keys(Keys.ARROW_RIGHT).perform()
    assert tip.is_displayed()
    assert tip.text != first
    ActionChains(chromium).send_keys(Keys.ESCAPE).perform()
    assert not tip.is_displayed()


def test_it_prints_whole_tables_and_no_tools(chromium: Any, address: str) -> None:  # noqa: ANN401
    show(chromium, address, width=375)
    chromium.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    hidden = chromium.execute_script("""return [...document.querySelectorAll('.tools, nav')]
        .every(e => getComputedStyle(e).display === 'none')""")
    assert hidden
    clipped = chromium.execute_script("""return [...document.querySelectorAll('.scroll')]
        .filter(e => getComputedStyle(e).overflowY !== 'visible').length""")
    assert clipped == 0
    printed = base64.b64decode(chromium.execute_cdp_cmd("Page.printToPDF", {})["data"])
    assert printed.startswith(b"%PDF")
    assert printed.count(b"/Type /Page\n") >= 4


def test_a_hostile_name_runs_nothing(chromium: Any, hostile_page: str, tmp_path: Path) -> None:  # noqa: ANN401
    place = tmp_path / "hostile.html"
    place.write_text(hostile_page, encoding="utf-8")
    show(chromium, place.as_uri())  # an alert would make every later command fail
    assert chromium.get_log("browser") == []
    assert "<script>alert('x')</script>" in chromium.find_element("css selector", "h1").text
    assert chromium.find_elements("css selector", "body img, svg [onload]") == []
