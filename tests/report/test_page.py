"""The page of an audit: what is on it, in which order, and what never is."""

import base64
import copy
import hashlib
import json
import re
import sys
from html.parser import HTMLParser
from importlib.resources import files
from itertools import pairwise

import jsonschema
import pytest
from summaries import make_bare_summary, make_regression_summary, make_summary

from skpriv.report import _about, _page_words, _sections_on_records
from skpriv.report._page import render_notebook, render_page
from skpriv.report._pictures import draw, draw_guesses

TITLES = [
    "What was audited",
    "The answer",
    "All records",
    "Which records are exposed",
    "Which groups are exposed",
    "What would help",
    "How good the model is",
    "Please check",
    "What this does not say",
    "How it was measured",
]
SUMMARIES = {
    "full": make_summary,
    "bare": make_bare_summary,
    "regression": make_regression_summary,
}
EMPTY = {"meta", "br", "input", "path", "circle", "line", "use"}
HOSTILE = (
    "<script>alert(1)</script>",
    "\"'><img src=x onerror=alert(1)>",
    "</style></title></textarea>",
    "{{ 7 * 7 }}{% raw %}",
    "=HYPERLINK('http://evil.example')",
    "\x1b[31mred\x00\n\r\t",
    "\u202eesrever\u2066",
    "مرحبا بالعالم",
    "javascript:alert(1)",
    "a" * 10_000,
)


class Page(HTMLParser):
    """The elements of a page in order, and its text outside of style and script."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.texts, self.open = [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open and "script" not in self.open:
            self.texts.append((self.open[-1] if self.open else "", data))

    @property
    def text(self):
        return " ".join(" ".join(text for _, text in self.texts).split())

    def find(self, *tags):
        return [attrs for tag, attrs in self.elements if tag in tags]

    def texts_of(self, tag):
        return [text.strip() for open_, text in self.texts if open_ == tag]


@pytest.fixture(params=SUMMARIES)
def summary(request):
    return SUMMARIES[request.param]()


@pytest.fixture
def page(summary):
    return Page(render_page(summary))


def make_empty_summary():
    return {**make_bare_summary(), "most_exposed": []}


def leaves(value, path=()):
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, (*path, key))
    elif isinstance(value, list):
        for key, inner in enumerate(value):
            yield from leaves(inner, (*path, key))
    else:
        yield path, value


def numbers_in(text):
    return {number.rstrip(".,") for number in re.findall(r"\d[\d,.]*", text)}


def told(value):
    """Return all numbers as which a page may tell a value of the summary."""
    if isinstance(value, str):
        date = _page_words.moment(value) if "T" in value else ""
        return numbers_in(f"{value} {date}")
    if isinstance(value, bool) or value is None:
        return set()
    texts = [f"{value:,}", f"{value:.4g}", f"{value:.10g}", f"{value:.0f}"]
    if 0 <= value <= 1:
        texts += [_page_words.percent(value), _page_words.round_percent(value)]
        texts += [_page_words.of_100(value), _page_words.frequency(value)]
        texts += [f"{value:.0%}"]
        texts += [_page_words.one_in(value)] if value else []
    return set().union(*map(numbers_in, texts))


def test_summaries_of_the_tests_are_as_the_schema_says(summary):
    schema = json.loads((files("skpriv.report") / "schema.json").read_text("utf-8"))
    jsonschema.validate(summary, schema)


def test_every_number_is_in_the_summary(summary, page):
    allowed = {str(number) for number in range(1, 11)}  # of the sections
    words = [str(value) for value in vars(_about).values()]
    words += [
        str(_about.methods(summary["risk"])),
        *_sections_on_records._QUANTILES.values(),
    ]
    allowed |= set().union(*map(numbers_in, words))
    allowed |= {"50", "100"}  # of guessing, and the axes
    for _, value in leaves(summary):
        allowed |= told(value)
    for path, value in leaves(summary["data"]["classes"] or {}):
        assert path
        allowed |= numbers_in(_page_words.percent(value / summary["data"]["records"]))
    parts = [group for by in summary["groups"] for group in by["groups"]]
    measures = summary["measures"] or {"before": None, "tried": []}
    parts += [measures["before"], *(tried["after"] for tried in measures["tried"])]
    for part in filter(None, parts):
        allowed |= numbers_in(_page_words.percent(part["at_risk"] / part["records"]))
    axes = {"60", "70", "80", "90", "0.01", "0.1", "1", "10", "0"}
    assert numbers_in(page.text) - allowed <= axes


@pytest.mark.parametrize(
    "path",
    [
        path
        for path, value in leaves(
            {key: value for key, value in make_summary(12).items() if key != "records"}
        )
        if isinstance(value, int | float)
        and path[0] not in ("schema", "verdict")
        and path[-1] not in ("n_distinct", "not_measured", "share", "too_small")
        and not (path[0] == "attack" and path[-2] in ("fpr", "low", "high", "tpr"))
        and path[:2] != ("risk", "highest")
        and path[:4] != ("data", "columns", 2, "n_missing")  # of a column left out
    ],
    ids=lambda path: ".".join(map(str, path)),
)
def test_every_figure_of_the_summary_shows_on_the_page(path):
    summary = make_summary(12)
    before = render_page(summary)
    inner = summary
    for key in path[:-1]:
        inner = inner[key]
    value = inner[path[-1]]
    inner[path[-1]] = (not value) if isinstance(value, bool) else value * 0.5 + 0.01
    if isinstance(value, int) and not isinstance(value, bool):
        inner[path[-1]] = value + 3
    assert render_page(summary) != before


def test_sections_are_in_order_and_headings_nest(page):
    shown = [text for text in page.texts_of("h2") if text]
    assert shown == TITLES
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    for above, below in pairwise(levels):
        assert below <= above + 1
    links = [a["href"] for a in page.find("a") if a["href"].startswith("#")]
    names = {attrs["id"] for _, attrs in page.elements if "id" in attrs}
    assert {link[1:] for link in links} <= names


def test_everything_is_closed_and_no_id_is_used_twice(page):
    assert page.open == []
    ids = [attrs["id"] for _, attrs in page.elements if "id" in attrs]
    assert len(ids) == len(set(ids))


def test_tables_have_captions_and_scopes(page):
    assert len(page.find("caption")) == len(page.find("table"))
    assert all(th["scope"] in ("col", "row") for th in page.find("th"))


def test_pictures_have_text(page, summary):
    pictures = [svg for svg in page.find("svg") if svg.get("role") == "img"]
    assert len(pictures) == (0 if summary["attack"] is None else 2)
    names = {attrs.get("id") for attrs in page.find("title")}
    assert all(svg["aria-labelledby"] in names for svg in pictures)
    rest = [svg for svg in page.find("svg") if svg.get("role") != "img"]
    assert all(svg["aria-hidden"] == "true" for svg in rest)


def test_nothing_is_fetched(summary):
    text = render_page(summary)
    page = Page(text)
    for tag, attrs in page.elements:
        assert "src" not in attrs
        assert "style" not in attrs
        assert not [name for name in attrs if name.startswith("on")]
        address = attrs.get("href", "#")
        if not address.startswith("#"):
            assert tag == "a"
            assert address.startswith(("https://doi.org/", "https://arxiv.org/"))
    assert "link" not in {tag for tag, _ in page.elements}
    assert "url(" not in text
    assert "@import" not in text


def test_browser_runs_no_code_but_that_of_the_page(summary):
    text = render_page(summary)
    (policy,) = [
        meta["content"]
        for meta in Page(text).find("meta")
        if meta.get("http-equiv") == "Content-Security-Policy"
    ]
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    for tag in ("style", "script"):
        (source,) = re.findall(f"<{tag}>(.*?)</{tag}>", text, flags=re.S)
        digest = base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy


def replace_text(value, text, path=()):
    """Replace text from the data and the user, but not what the schema enumerates."""
    if isinstance(value, dict):
        keep = {"task", "measure", "on", "made", "kind", "name"}
        return {
            (text + key if path[-1:] in (("classes",), ("by_class",)) else key): (
                inner
                if key in keep and path[-1:] in (("performance",), (), ("model",))
                else replace_text(inner, text, (*path, key))
            )
            for key, inner in value.items()
        }
    if isinstance(value, list):
        return [replace_text(inner, text, path) for inner in value]
    return text if isinstance(value, str) else value


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
@pytest.mark.parametrize("show_values", [False, True])
def test_text_from_the_data_stays_text(text, show_values):
    summary = make_summary(20)
    plain = Page(render_page(summary, show_values=show_values))
    hostile = replace_text(summary, text)
    hostile["made"]["command"] = hostile["model"]["name"] = text
    page = Page(render_page(hostile, show_values=show_values))
    kinds = {tag for tag, _ in plain.elements}
    assert {tag for tag, _ in page.elements} <= kinds
    assert len(page.find("script")) == len(page.find("style")) == 1
    assert not [a for _, attrs in page.elements for a in attrs if a.startswith("on")]
    shown = page.text + str([list(attrs.values()) for _, attrs in page.elements])
    assert not re.search("[\x00-\x09\x0b-\x1f\u202a-\u202e\u2066-\u2069]", shown)
    lengths = {tag: len(text) for tag, text in page.texts if tag != "code"}
    assert max(lengths.values()) <= 1000
    assert max(len(text) for text in page.texts_of("bdi")) <= 1000


def test_names_are_set_apart_from_the_text_around_them():
    summary = make_summary(20)
    summary["data"]["label"] = "مرحبا"
    assert "<bdi>مرحبا</bdi>: <bdi>" in render_page(summary)


def test_long_names_are_shortened_and_say_so():
    summary = make_summary(20)
    summary["data"]["label"] = "x" * 300
    page = Page(render_page(summary))
    (title,) = {a["title"] for a in page.find("bdi") if "title" in a}
    assert title == "x" * 300
    assert "x" * 119 + "…" in page.text


def test_values_of_records_are_shown_on_demand_only():
    summary = make_summary()
    summary["records"]["native-country"] = ["secret-value"] * 300
    summary["most_exposed"][0]["label"] = "secret-label"
    summary["most_exposed"][0]["reasons"][0]["column"] = "native-country"
    hidden, shown = (render_page(summary, show_values=v) for v in (False, True))
    for secret in ("secret-value", "secret-label"):
        assert secret not in hidden
        assert secret in shown
    quantity = make_regression_summary()
    assert "1122" not in render_page(quantity)
    assert (
        "from 1122 to 6.377e+04" in Page(render_page(quantity, show_values=True)).text
    )
    assert "person-0007" in hidden


def test_nothing_is_called_safe_or_anonymous(page):
    assert not re.search(r"\bsafe", page.text, flags=re.I)
    (claim,) = re.findall(r"[^.]*\banonym\w*[^.]*\.", page.text, flags=re.I)
    assert claim.strip().startswith("Whether a model is anonymous")
    assert "not legal advice" in page.text


def test_none_found_is_followed_by_the_limit_of_detection():
    summary = make_summary()
    summary["risk"]["at_risk"] |= {"records": 0, "part": 0.0}
    text = Page(render_page(summary)).text
    found = text.index("No record was found")
    assert text.index("Limit of detection: 62.5%") > found


def test_a_model_that_has_learnt_little_is_named():
    summary = make_summary()
    assert "hardly better than always" not in Page(render_page(summary)).text
    performance = summary["model"]["performance"]
    performance["baseline"]["value"] = performance["estimate"]["low"] + 0.001
    assert "hardly better than always" in Page(render_page(summary)).text


def test_what_was_not_measured_is_said():
    text = Page(render_page(make_bare_summary())).text
    assert "Nothing can be said about the risk: 3 records are too few." in text
    assert "Limit of detection: not known." in text
    assert "The attack as a whole was not measured." in text
    assert "The risk was not measured by group in this audit." in text
    assert "No measure was tried in this audit. Each takes about as long" in text
    assert "How well the model predicts was not measured." in text
    (record,) = make_bare_summary()["most_exposed"]
    assert "Records that stand out; the risk of none could be measured" in text
    assert f"{record['record']} few records have this value" in text
    assert "No record can be named" in Page(render_page(make_empty_summary())).text


def test_records_without_a_risk_do_not_get_in_the_way():
    summary = make_summary(30)
    for name in ("risk", "risk_low", "risk_high"):
        summary["records"][name][5] = None
    summary["most_exposed"][0] |= {"risk": None, "at_risk": False}
    text = Page(render_page(summary)).text
    assert "person-0005 not known not known not measured" in text


def test_groups_too_small_are_named():
    text = Page(render_page(make_summary())).text
    assert "about the group as a whole: Holand-Netherlands ." in text


def test_long_tables_say_where_the_rest_is(monkeypatch):
    monkeypatch.setattr(_sections_on_records, "MOST_RECORDS", 50)
    summary = make_summary()
    page = Page(render_page(summary))
    assert "The 50 most exposed of 300 records" in page.text
    risk = sorted(summary["records"]["risk"], reverse=True)
    names = summary["records"]["id"]
    listed = {names[summary["records"]["risk"].index(value)] for value in risk[:50]}
    assert {name for name in names if name in page.text} == listed


def test_tables_of_groups_and_columns_are_cut_and_say_so():
    summary = make_summary(20)
    by, data = summary["groups"][1], summary["data"]
    by["groups"] = [dict(by["groups"][1], name=f"town {k}") for k in range(103)]
    data["columns"] = [dict(data["columns"][0], name=f"x{k}") for k in range(101)]
    text = Page(render_page(summary)).text
    assert "town 99 3 too few records" in text
    assert "And 3 more groups, in the summary (JSON)." in text
    assert ", and 91 more." in text
    assert "And 1 more column, in the summary (JSON)." in text


def test_script_is_the_only_thing_that_shows_its_controls():
    (controls,) = [
        div for div in Page(render_page(make_summary())).find("div")
        if div.get("class") == "controls"
    ]  # fmt: skip
    assert "hidden" in controls


def test_both_themes_and_print_are_styled():
    text = render_page(make_summary())
    assert "prefers-color-scheme: dark" in text
    assert "@media print" in text
    assert '<meta name="color-scheme" content="light dark">' in text


@pytest.mark.parametrize(("n_records", "n_drawn"), [(400, 0), (401, 100)])
def test_most_exposed_of_many_have_a_picture_of_their_own(n_records, n_drawn):
    text = render_page(make_summary(n_records))
    found = re.findall("<svg[^>]*picture-top.*?</svg>", text)
    assert sum(len(re.findall("<circle|<use", picture)) for picture in found) == n_drawn


@pytest.mark.parametrize("n_records", [1, 399, 5000])
def test_picture_keeps_the_top_and_those_at_risk(n_records):
    summary = make_summary(max(n_records, 3))
    records = summary["records"]
    for name in ("risk", "risk_low", "risk_high", "at_risk"):
        records[name] = records[name][:n_records]
    records["at_risk"] = [k in (3, 4321) for k in range(n_records)]
    picture = str(draw("records", summary, "title"))
    assert picture.count("#diamond") == sum(records["at_risk"])
    n_drawn = picture.count("<circle") + picture.count("<use")
    assert min(n_records, 400) <= n_drawn <= 402
    highest = max(records["risk"])
    assert f'"{268 - (highest - 0.5) / 0.5 * 246:.1f}"' in picture


def test_guesses_are_drawn_from_the_bottom():
    right, wrong, _ = re.findall(r' d="([^"]*)"', str(draw_guesses(37)))
    assert right.count("M") == 37
    assert wrong.count("M") == 63
    assert right.startswith("M3 91")


def test_curve_of_an_attack_that_finds_nobody_at_first():
    summary = make_summary()
    summary["attack"]["roc"] = {
        "fpr": [0.0, 0.005, 1.0],
        "tpr": [0.0, 0.0, 1.0],
        "low": [0.0, 0.0, 1.0],
        "high": [None, 0.2, 1.0],
    }
    picture = str(draw("roc", summary, "title"))
    assert "nan" not in picture
    assert "0.1%" in picture


def test_notebook_shows_the_verdict_and_the_top_only(summary):
    text = render_notebook(summary)
    page = Page(text)
    assert page.open == []
    for sentence in summary["verdict"]:
        assert sentence in page.text
    assert len(page.find("table")) == 1
    assert len(text) < 20_000
    assert not page.find("script")
    assert not page.find("svg")


def test_summary_is_left_as_it_was(summary):
    before = copy.deepcopy(summary)
    render_page(summary, show_values=True)
    assert summary == before


def test_missing_jinja2_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    from skpriv.report._page import _environment

    _environment.cache_clear()
    with pytest.raises(ImportError, match=r"pip install 'skpriv\[report\]'"):
        render_page(make_summary())
