"""The page of an audit in a real browser: Chromium, without a window."""

import json
import shutil
from importlib.resources import files

import pytest
from summaries import make_bare_summary, make_regression_summary, make_summary

from skpriv.report._page import render_page

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
N_RECORDS = 24
SUMMARIES = {
    "full": make_summary(N_RECORDS),
    # Each kind of row and reason, and little else for the accessibility check to visit.
    "short": make_summary(8),
    "bare": make_bare_summary(),
    "regression": make_regression_summary(N_RECORDS),
}
HOSTILE = "<script>document.title = 'stolen'</script>" + "w" * 10_000

pytestmark = pytest.mark.xdist_group("browser")


@pytest.fixture(scope="module")
def browser():
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        pytest.skip(f"no browser is installed: {', '.join(BROWSERS)}")
    api = pytest.importorskip("playwright.sync_api")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    hostile = make_summary(N_RECORDS)
    hostile["model"]["name"] = hostile["data"]["label"] = HOSTILE
    hostile["most_exposed"][0]["id"] = hostile["records"]["id"][0] = HOSTILE
    hostile["groups"][0]["groups"][0]["name"] = HOSTILE
    for name, summary in {**SUMMARIES, "hostile": hostile}.items():
        (folder / f"{name}.html").write_text(render_page(summary), encoding="utf-8")
    return folder


@pytest.fixture
def open_page(browser, folder):
    """Return a function that opens a page, and fail if it complains or asks."""
    told, pages = [], []

    def open_page(name="full", **options):
        page = browser.new_page(**options)
        pages.append(page)
        page.on("console", lambda message: told.append(message.text))
        page.on("pageerror", lambda error: told.append(str(error)))
        page.on("request", lambda request: told.append(request.url))
        page.goto((folder / f"{name}.html").as_uri())
        assert told.pop(0) == (folder / f"{name}.html").as_uri()
        return page

    yield open_page
    for page in pages:
        page.close()
    assert told == []


def names_of(page):
    return page.eval_on_selector_all(
        "details.long tbody tr:not([hidden]) th", "all => all.map(e => e.textContent)"
    )


@pytest.fixture
def page(open_page):
    page = open_page()
    page.click("details.long summary")
    return page


@pytest.fixture(scope="module")
def by_risk():
    records = SUMMARIES["full"]["records"]
    order = sorted(range(N_RECORDS), key=lambda k: -records["risk"][k])
    return [records["id"][k] for k in order]


def test_table_is_sorted_by_click(page, by_risk):
    assert names_of(page) == by_risk
    page.click("details.long thead button:has-text('Record')")
    assert names_of(page) == sorted(by_risk)
    page.click("details.long thead button:has-text('Risk')")
    assert names_of(page) == by_risk
    page.click("details.long thead button:has-text('Risk')")
    assert names_of(page) == by_risk[::-1]
    states = page.eval_on_selector_all(
        "details.long thead th", "all => all.map(e => e.getAttribute('aria-sort'))"
    )
    assert states == [None, "ascending", None, None, None]


def test_table_is_opened_sorted_and_filtered_by_keyboard(open_page, by_risk):
    page = open_page()
    page.focus("details.long summary")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.type") == "search"
    page.keyboard.type("PERSON-001")
    assert sorted(names_of(page)) == [f"person-001{k}" for k in range(10)]
    assert page.inner_text("[role=status]") == "Shown: 10 of 24"
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    assert not names_of(page)
    page.keyboard.press("Space")
    for _ in range(2):
        page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Record"
    page.keyboard.press("Enter")
    assert names_of(page) == [f"person-001{k}" for k in range(10)]


def test_table_shows_those_at_risk_only(page, by_risk):
    page.check("text=only those at risk")
    n_at_risk = sum(SUMMARIES["full"]["records"]["at_risk"])
    assert names_of(page) == by_risk[:n_at_risk]


def test_first_stop_of_the_keyboard_leads_past_the_contents(open_page):
    page = open_page()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the report"
    assert page.is_visible("a.skip")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"


def test_page_without_script_has_a_plain_table(open_page, by_risk):
    page = open_page(java_script_enabled=False)
    page.click("details.long summary")
    assert page.locator("details.long tbody th").all_text_contents() == by_risk
    assert not page.is_visible(".controls")
    assert page.locator("thead button").count() == 0


@pytest.mark.parametrize("name", ["full", "bare", "regression", "hostile"])
def test_page_never_scrolls_sideways(open_page, name):
    page = open_page(name)
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    for width in (320, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.title().startswith("Privacy audit of ")


@pytest.mark.parametrize(
    ("name", "scheme", "width"),
    [
        ("short", "light", 1280),
        ("short", "dark", 320),
        ("bare", "light", 1280),
    ],
)
def test_page_passes_the_accessibility_check(open_page, name, scheme, width):
    page = open_page(
        name, color_scheme=scheme, viewport={"width": width, "height": 800}
    )
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    page.evaluate((files("axe_playwright_python") / "axe.min.js").read_text("utf-8"))
    result = page.evaluate("axe.run()")
    told = [(v["id"], v["nodes"][0]["html"]) for v in result["violations"]]
    assert not told, json.dumps(told, indent=1)
    assert len(result["passes"]) > 20


def test_dark_theme_is_dark(open_page):
    backgrounds = [
        open_page(color_scheme=scheme).evaluate(
            "getComputedStyle(document.body).backgroundColor"
        )
        for scheme in ("light", "dark")
    ]
    assert backgrounds == ["rgb(251, 250, 247)", "rgb(20, 24, 29)"]


def test_print_hides_the_controls_and_cuts_nothing(page):
    page.emulate_media(media="print", color_scheme="dark")
    assert not page.is_visible("nav")
    assert not page.is_visible(".controls")
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(28, 36, 48)"
    cut = page.eval_on_selector_all(
        ".scroll",
        "all => all.filter(e => e.scrollHeight > e.clientHeight + 1 "
        "&& getComputedStyle(e).overflowY != 'visible').length",
    )
    assert cut == 0
    assert page.pdf(format="A4").startswith(b"%PDF")


def test_long_table_is_printed_only_if_it_was_opened(open_page):
    page = open_page()
    page.emulate_media(media="print")
    assert not page.is_visible("details.long")
