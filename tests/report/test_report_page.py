"""The page: one file that loads nothing, is sound HTML, accessible, and escapes what it is given."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
import re
import sys
from html.parser import HTMLParser
from itertools import pairwise
from typing import TYPE_CHECKING

import jsonschema
import pytest

from estimator.errors import InputError, MissingPackageError
from estimator.report.formats.markup import render_csv, render_markdown
from estimator.report.formats.plain import render_plain
from estimator.report.html.page import render_html
from estimator.report.screens.report import report_screen
from estimator.results.schema import json_schema
from tests.report.conftest import HOSTILE, HOSTILE_NAME

if TYPE_CHECKING:
    from estimator.results.report import ReportResult
    from tests.report.conftest import MakeReport

VOID = {"meta", "link", "input", "br", "hr", "img"}
SECTIONS = [
    "Times", "Costs", "Inputs", "Hardware", "Where the time goes: lenet5", "Where the time goes: resnet18",
    "Memory", "Ranges and how far to trust them", "Assumptions", "How to make this again",
]  # fmt: skip


class Parsed(HTMLParser):
    """Elements in order, with their attributes, their text and the elements around them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str], tuple[str, ...]]] = []
        self.texts: list[tuple[str, str]] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {k: v or "" for k, v in attrs}, tuple(self.open)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {k: v or "" for k, v in attrs}, tuple(self.open)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open[-1] == tag, f"</{tag}> closes <{self.open[-1]}>"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        if self.open:
            self.texts.append((self.open[-1], data))

    def named(self, *tags: str) -> list[dict[str, str]]:
        return [attributes for tag, attributes, _ in self.elements if tag in tags]

    def words(self, tag: str) -> list[str]:
        return [text.strip() for name, text in self.texts if name == tag and text.strip()]


@pytest.fixture(scope="module")
def parsed(page: str) -> Parsed:
    return Parsed(page)


def test_every_element_is_closed_and_ids_are_unique(parsed: Parsed) -> None:
    assert parsed.open == []
    ids = [attributes["id"] for _, attributes, _ in parsed.elements if "id" in attributes]
    assert len(ids) == len(set(ids))


def test_labels_and_anchors_lead_somewhere(parsed: Parsed) -> None:
    ids = {attributes["id"] for _, attributes, _ in parsed.elements if "id" in attributes}
    for _, attributes, _ in parsed.elements:
        for name in ("aria-labelledby", "href"):
            target = attributes.get(name, "").removeprefix("#")
            assert not target or target in ids or target == "data:,"


def test_nothing_is_loaded(page: str, parsed: Parsed) -> None:
    assert not [a for a in parsed.named("script", "img", "iframe", "object", "link") if a.get("src")]
    assert {a["href"] for a in parsed.named("link")} == {"data:,"}
    assert "@import" not in page
    assert not re.search(r"url\((?!#)", page)
    assert "default-src 'none'" in page


def test_only_the_page_s_own_script_may_run(page: str) -> None:
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in page
    assert not re.search(r"\son[a-z]+=", page.replace(script, ""))


def test_the_answer_is_the_title_and_sections_follow(parsed: Parsed) -> None:
    (title,) = parsed.words("h1")
    assert title.startswith("Fastest: lenet5 on ")
    assert parsed.words("h2") == SECTIONS
    assert [a["lang"] for a in parsed.named("html")] == ["en"]


def test_headings_never_skip_a_level(parsed: Parsed) -> None:
    levels = [int(tag[1]) for tag, _, _ in parsed.elements if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(b - a <= 1 for a, b in pairwise(levels))


def test_tables_have_captions_and_scopes(parsed: Parsed) -> None:
    assert len(parsed.named("table")) == len(parsed.named("caption")) >= 8
    for attributes in parsed.named("th"):
        assert attributes["scope"] in ("col", "row")
    regions = [a for a in parsed.named("div") if a.get("role") == "region"]
    assert all(a["tabindex"] == "0" and a["aria-labelledby"] for a in regions)


def test_plots_have_words_for_who_cannot_see_them(parsed: Parsed) -> None:
    plots = [a for a in parsed.named("svg") if a["class"].startswith("plot")]
    assert len(plots) == 2 * len(parsed.named("figure"))  # a wide and a narrow drawing
    assert len(parsed.named("figcaption")) == len(parsed.named("figure")) == 9
    assert all(len(a["aria-label"]) > 40 for a in plots)


def test_colours_have_contrast_and_both_schemes(page: str) -> None:
    assert "prefers-color-scheme:dark" in page
    assert "prefers-reduced-motion" in page
    assert "@media print" in page
    assert '<meta name="color-scheme" content="light dark">' in page


def test_hostile_names_stay_text(hostile_page: str) -> None:
    parsed = Parsed(hostile_page)
    assert len(parsed.named("script")) == 1
    assert parsed.named("img") == []
    assert not [a for a in parsed.named("a") if a["href"].startswith("javascript")]
    for _, attributes, _ in parsed.elements:
        assert not [name for name in attributes if name.startswith("on")]
    assert any(HOSTILE_NAME in text for _, text in parsed.texts)


def test_hostile_names_stay_text_in_markdown(make_report: MakeReport) -> None:
    markdown = render_markdown(report_screen(make_report("-", devices=("t4",), text=HOSTILE)))
    assert "<script" not in markdown
    assert "<img" not in markdown
    assert not re.search(r"(?<!\\)\[go\]", markdown)


def test_a_large_report_stays_below_two_megabytes(make_report: MakeReport) -> None:
    devices = ("i7-5960x", "t4", "rtx-4090", "a100-sxm-40gb", "gtx-1080-ti", "v100-sxm2-16gb")
    names = ("resnet152", "densenet201", "gpt2", "efficientnet_b7")
    result = make_report(*names, devices=devices, priced=True)
    text = render_html(report_screen(result))
    assert len(text.encode()) < 2_000_000
    assert "quicker layers are left out" in text  # EfficientNet-B7 has more layers than a table shows


def test_markdown_csv_and_text_say_the_same(small_report: ReportResult) -> None:
    screen = report_screen(small_report)
    markdown, plain = render_markdown(screen), render_plain(screen)
    for section in SECTIONS:
        assert f"## {section}" in markdown
        assert section in plain
    heading, *rows = csv.reader(io.StringIO(render_csv(screen)))
    assert heading[:3] == ["device", "network", "a step"]
    assert len(rows) == 12


def test_the_json_form_follows_its_schema(small_report: ReportResult) -> None:
    data = json.loads(json.dumps(small_report.to_mapping(), allow_nan=False))
    jsonschema.validate(data, json_schema(type(small_report)))
    assert data["schema"] == "estimator/report/1"
    assert data["made_on"] == "2026-01-31"


def test_a_section_appears_only_where_its_data_is_there(make_report: MakeReport, page: str) -> None:
    text = render_html(report_screen(make_report("lenet5", devices=("t4",))))
    assert 'id="costs"' not in text
    assert 'id="costs"' in page


def test_every_cost_has_the_day_and_source_of_its_price(small_report: ReportResult) -> None:
    assert small_report.plan is not None
    bought = [c for c in small_report.plan.candidates if c.cost.per_run is not None and c.way != "own"]
    assert bought
    assert all(c.cost.as_of and c.cost.source for c in bought)
    texts = render_markdown(report_screen(small_report))
    assert all(c.cost.as_of in texts for c in bought if c.on_front and c.cost.as_of)


def test_ranges_have_their_history(small_report: ReportResult) -> None:
    named = {device for each in small_report.accuracy for device in each.devices}
    assert named == {p.device.name for n in small_report.networks for p in n.comparison.predictions}
    for each in small_report.accuracy:
        factors = [factor for _, factor in sorted(each.within.items())]
        assert factors == sorted(factors)
        assert factors[0] > 1
        assert each.source


def test_the_fastest_is_one_it_fits_on(make_report: MakeReport) -> None:
    text = HOSTILE.replace("out_features: 4", "out_features: 60000000").replace(
        HOSTILE_NAME.replace("'", "''"), "w"
    )
    result = make_report("-", devices=("gtx-1080-ti", "i7-5960x", "a100-sxm-80gb"), text=text)
    (each,) = result.networks
    fits = {p.device.id: p.memory.fits for p in each.comparison.predictions}
    assert fits[each.fastest] is not False
    assert False in fits.values()


def test_a_network_given_twice_is_refused(make_report: MakeReport) -> None:
    with pytest.raises(InputError, match="twice"):
        make_report("lenet5", "lenet5", devices=("t4",))


def test_without_jinja_the_message_says_what_to_install(
    small_report: ReportResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(MissingPackageError, match="jinja2"):
        render_html(report_screen(small_report))
