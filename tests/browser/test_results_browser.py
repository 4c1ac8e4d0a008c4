"""The results browser as people use it: filters, sorting, the histogram, details, links, and 100,000 captions.

Needs Chromium (Debian's package `chromium`). With CAPTIONLAB_SCREENSHOTS=<folder> pictures of the page go there.
"""

import csv
import io
import math
import os
import random
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote, urlencode

import pytest
from support.browser_run import HOSTILE, build, chosen_by, cider_of, image_id, rank_of, reason_of, text_of
from support.chromium import PATIENCE, Page, browser, program
from support.results_page import DESKTOP, PAGE, PHONE, READY, address, images, look, set_value, shoot, tick, titled

from captionlab.browser.captions import Measure, ScoredCaptions, evaluation_columns
from captionlab.browser.site import write_script
from captionlab.reporting.runs.links import captions_link
from captionlab.reporting.tables.formats.html import html
from captionlab.reporting.tables.render import Block, Cell, Column, Table
from captionlab.texts.lengths import length_ranges

pytestmark = pytest.mark.skipif(program() is None, reason="no Chromium: apt-get install chromium")
A, B = "tuned", "parent"  # what is compared where the address does not say: a captioner with its parent
WORLD = range(12)


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    return build(tmp_path_factory.mktemp("run"), PAGE)


def long_text(captioner: str, number: int) -> str:
    """A caption of 600 words, or of 5,000 with a word of 2,000 letters."""
    if captioner == "foreign":
        return " ".join([f"word{place}" for place in range(4998)] + ["a" * 2000, "end"])
    return " ".join([f"{captioner if place % 3 else 'the'}{place}" for place in range(599)] + ["end"])


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_captions_of_thousands_of_words(page, tmp_path, monkeypatch, size):
    monkeypatch.setattr("support.browser_run.text_of", long_text)
    page.size(*size)
    look(page, build(tmp_path / "long", PAGE), "a=tuned&b=foreign")
    narrow = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
    assert page.run(narrow)
    heights = page.run("[...document.querySelectorAll('#list .row')].map((row) => row.offsetHeight === list.height)")
    assert len(heights) > 2
    assert all(heights)
    shoot(page, f"long-list-{size[0]}")
    page.run("openDetail(0)")
    page.wait("document.querySelector('dialog .whole')")
    assert page.run(narrow)
    assert page.run("(({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth)(document.querySelector('dialog'))")
    shown = page.run(
        "[...document.querySelectorAll('dialog .whole')].map((one) => [one.textContent, one.offsetHeight])"
    )
    assert [text for text, _ in shown] == [long_text(captioner, 0) for captioner in ("parent", "tuned", "foreign")]
    assert max(height for _, height in shown) < 600
    note = page.run("document.querySelector('dialog .difference + .soft').textContent")
    assert note.startswith("Only the first 1000 words are compared")
    shoot(page, f"long-detail-{size[0]}")


@pytest.fixture
def page(tmp_path) -> Iterator[Page]:
    with browser(tmp_path / "profile", tmp_path) as page:
        page.size(*DESKTOP)
        yield page
    assert page.errors == []
    assert page.dialogs == []


def by_cider(numbers: list[int], captioner: str = A) -> list[int]:
    return sorted(numbers, key=lambda n: (-cider_of(captioner, n), n))


# What each filter leaves, by a control and what is put there.
FILTERS: dict[tuple[str, str], Callable[[int], bool]] = {
    ("text", "TWO BIRDS"): lambda n: "two birds" in text_of(A, n),
    ("text", "reference 1 of 7"): lambda n: n == 7,
    ("object", "cat"): lambda n: n % 2 == 1,
    ("scene", "road"): lambda n: n < 6,
    ("slice", "weather: rain: heavy"): lambda n: 1 <= n < 4,
    ("slice", "weather: sun"): lambda n: n >= 4,
    ("found", "a"): lambda n: rank_of(A, n) == 1,
    ("found", "not-a"): lambda n: rank_of(A, n) > 1,
    ("found", "a-not-b"): lambda n: rank_of(A, n) == 1 and rank_of(B, n) > 1,
    ("found", "b-not-a"): lambda n: rank_of(B, n) == 1 and rank_of(A, n) > 1,
    ("found", "both"): lambda n: rank_of(A, n) == rank_of(B, n) == 1,
    ("found", "neither"): lambda n: rank_of(A, n) > 1 and rank_of(B, n) > 1,
    ("min", "3"): lambda n: rank_of(A, n) >= 3,
    ("max", "2"): lambda n: rank_of(A, n) <= 2,
}  # fmt: skip


@pytest.mark.parametrize("chosen", FILTERS, ids="=".join)
def test_a_filter_leaves_what_passes_it_and_is_in_the_address(page, run, chosen):
    name, value = chosen
    look(page, run)
    assert images(page) == by_cider([*WORLD])
    set_value(page, f"#filters [name={name}]", value)
    expected = by_cider([n for n in WORLD if FILTERS[chosen](n)])
    assert len(expected) < 12
    assert images(page) == expected
    assert address(page)[name] == value
    page.reload()
    page.wait(READY)
    assert images(page) == expected
    page.button("Clear all filters")
    assert images(page) == by_cider([*WORLD])


@pytest.mark.parametrize("length", length_ranges()[:3], ids=lambda length: length.name)
def test_a_slice_by_length_has_the_captions_of_a_that_the_table_counts(page, run, length):
    look(page, run, urlencode({"a": "foreign", "b": B, "slice": f"length: {length.name}"}))
    words = {n: len(text_of("foreign", n).split()) for n in WORLD}
    longest = math.inf if length.longest is None else length.longest
    assert sorted(images(page)) == [n for n in WORLD if length.shortest <= words[n] <= longest]


def test_no_caption_is_in_a_slice_that_is_not_there(page, run):
    for name in ("length: 3 words", "weather: hail", "weather: null", "mood: good", "weather"):
        look(page, run, urlencode({"slice": name}))
        assert images(page) == []
        assert page.run("document.getElementById('summary').textContent").startswith("0 of 12")
    page.button("Clear all filters")
    assert len(images(page)) == 12


def test_captions_said_of_several_images_and_unknown_words(page, run):
    look(page, run, f"a=foreign&b={B}")
    tick(page, "unknown")
    assert images(page) == [n for n in WORLD if "UNK" in text_of("foreign", n)]
    assert page.run("document.querySelector('.unknown').textContent") == "UNK"
    tick(page, "unknown")
    tick(page, "repeated")
    said = [text_of("foreign", n) for n in WORLD]
    assert sorted(images(page)) == [n for n in WORLD if said.count(said[n]) > 1]


def test_sorting_by_each_side_and_by_the_difference(page, run):
    look(page, run)
    values = {
        "b": lambda n: cider_of(B, n),
        "difference": lambda n: round(cider_of(A, n) - cider_of(B, n), 6),
        "a": lambda n: cider_of(A, n),
    }
    for order, value in values.items():
        set_value(page, "#order", order)
        assert images(page) == sorted(WORLD, key=lambda n: (-value(n), n))
    set_value(page, "#direction", "up")
    assert images(page) == sorted(WORLD, key=lambda n: (cider_of(A, n), n))
    rank = page.run("view.measures.find(({ metric }) => metric === 'rank').number")
    set_value(page, "#measure", str(rank))
    assert images(page) == sorted(WORLD, key=lambda n: (rank_of(A, n), n))
    page.button("Swap A and B")
    assert images(page) == sorted(WORLD, key=lambda n: (rank_of(B, n), n))


def test_a_difference_that_the_run_tested_is_above_the_list(page, run):
    look(page, run, "corpus=world&a=tuned&b=parent&measure=CIDEr")
    said = "of all images, A minus B in CIDEr: +1.5 [+0.5, +2.5], p = 0.020 with Holm's correction"
    assert said in page.text()
    page.button("Swap A and B")
    assert "A minus B in CIDEr: \u22121.5 [\u22122.5, \u22120.5], p = 0.020" in page.text()
    rank = page.run("view.measures.find(({ metric }) => metric === 'rank').number")
    set_value(page, "#measure", str(rank))
    assert "A minus B in P@1: \u22121.5 [\u22122.5, \u22120.5], p < 0.001" in page.text()
    look(page, run, "corpus=world&a=tuned&b=foreign&measure=CIDEr")
    assert "of all images" not in page.text()


def test_a_link_of_a_table_shows_the_captions_behind_its_number(page, run):
    hash_of = lambda *about, **more: captions_link("world", *about, **more).split("#")[1]  # noqa: E731
    look(page, run, hash_of("foreign", "main", "P@1", "clip", "4 file-order"))
    assert images(page) == sorted(WORLD, key=lambda n: (rank_of("foreign", n), n))
    assert page.run("state.a") == "foreign"
    look(page, run, hash_of("foreign", "main", "CIDEr", against="tuned"))
    assert [page.run(f"state.{name}") for name in ("a", "b", "order")] == ["foreign", "tuned", "difference"]
    mean = 100 * sum(cider_of("foreign", n) for n in WORLD) / 12
    assert f"mean CIDEr: A {mean:.1f}" in page.text()
    look(page, run, hash_of("foreign", "main", "vocabulary"))
    assert "no vocabulary of single captions" in page.text()
    assert len(images(page)) == 12
    page.run("location.hash = 'corpus=texts'")
    page.wait("view.corpus === 'texts' && current.rows.length === 3")


def test_a_table_links_to_captions_where_it_lies_beside_them(page, run):
    link = captions_link("world", "foreign", "main", "CIDEr")
    cells = [[Cell("foreign"), Cell("1.5", link=link)]]
    table = Table("t", "t", "t", [Column("who", numeric=False), Column("CIDEr")], [Block(cells)], [], [])
    for place, live in (("tables", True), ("elsewhere", False)):
        (run.parent / place).mkdir(exist_ok=True)
        (run.parent / place / "t.html").write_text(html(table), encoding="utf-8")
        page.open((run.parent / place / "t.html").as_uri())
        assert page.run("document.querySelector('a.beside').hasAttribute('href')") is live
        if live:
            page.click("a.beside")
            page.wait("document.querySelectorAll('.line.a').length && state.a === 'foreign'")


def test_the_histogram_is_brushed_by_mouse_finger_and_keys(page, run):
    look(page, run)
    values = [100 * cider_of(A, n) for n in WORLD]
    low, high = min(values), max(values)
    left, top, width, height = page.box("#plot")

    def drag(kind: str, start: float, end: float) -> None:
        places = [(left + part * width, top + height / 3) for part in (start, (start + end) / 2, end)]
        if kind == "mouse":
            for event, (x, y) in zip(("mousePressed", "mouseMoved", "mouseReleased"), places, strict=True):
                page.send("Input.dispatchMouseEvent", type=event, x=x, y=y, button="left", buttons=1, clickCount=1)
        else:
            for event, (x, y) in zip(("touchStart", "touchMove", "touchMove"), places, strict=True):
                page.send("Input.dispatchTouchEvent", type=event, touchPoints=[{"x": x, "y": y}])
            page.send("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])

    def expected() -> list[int]:
        least, most = (float(address(page).get(name, end)) for name, end in (("low", low), ("high", high)))
        return by_cider([n for n in WORLD if least - 1e-6 <= 100 * cider_of(A, n) <= most + 1e-6])

    for kind in ("mouse", "touch"):
        if kind == "touch":
            page.size(1400, 900, False)
            page.send("Emulation.setTouchEmulationEnabled", enabled=True)
        drag(kind, 0.3, 0.7)
        assert low < float(address(page)["low"]) < float(address(page)["high"]) < high
        assert 0 < len(images(page)) < 12
        assert images(page) == expected()
        page.button("Show all values")
        assert len(images(page)) == 12
    page.run("document.getElementById('low').focus()")
    for _ in range(2):
        page.key("PageUp")
    assert float(address(page)["low"]) == pytest.approx(low + 20 * (high - low) / 48, rel=1e-6)
    assert images(page) == expected()
    assert page.run("document.getElementById('low').getAttribute('aria-valuenow')") == address(page)["low"]
    page.key("Home")
    assert "low" not in address(page)


def test_a_detail_has_candidates_the_wrong_pick_and_arrow_keys(page, run):
    look(page, run)
    order = by_cider([*WORLD])
    page.run("focusRow(0)")
    page.key("ArrowDown")
    assert page.run("document.activeElement.closest('li').dataset.position") == "1"
    page.key("Enter", "\r")
    page.wait("document.querySelector('.candidates figure')")
    seen = order[1]
    while rank_of(A, seen) == 1:
        page.key("ArrowRight")
        seen = order[order.index(seen) + 1]
    page.wait(titled(seen))
    page.wait("document.querySelector('.candidates .wrong')")
    block = [image_id(n) for n in range(seen // 4 * 4, seen // 4 * 4 + 4)]
    found = page.run("[...document.querySelectorAll('.candidates figure small')].map((one) => one.textContent)")
    assert sorted(found) == sorted(block)
    assert page.run("document.querySelector('.candidates .right small').textContent") == image_id(seen)
    assert page.run("document.querySelector('.candidates .wrong small').textContent") == image_id(chosen_by(A, seen))
    assert f"at rank {rank_of(A, seen)}" in page.text()
    assert unquote(address(page)["image"]) == image_id(seen)
    page.reload()
    page.wait("document.querySelector('dialog[open]')")
    page.key("ArrowLeft")
    page.wait(titled(order[order.index(seen) - 1]))
    page.key("Escape")
    page.wait("!document.querySelector('dialog[open]') && !location.hash.includes('image=')")
    assert page.run("document.activeElement.closest('li').dataset.position") == str(order.index(seen) - 1)


def test_words_that_differ_are_marked_by_elements(page, run):
    look(page, run, "text=two+birds")
    line = "document.querySelector('.line.a .caption')"
    assert page.run(f"[...{line}.querySelectorAll('ins')].map((one) => one.textContent)") == ["two", "birds"]
    assert page.run(f"getComputedStyle({line}.querySelector('ins')).textDecorationLine") == "underline"
    page.click(".thumbnail")
    page.wait("document.querySelector('.difference')")
    words = page.run("[...document.querySelectorAll('.difference > *')].map((one) => [one.tagName, one.textContent])")
    assert sorted(words) == [["DEL", "a"], ["DEL", "dog"], ["INS", "birds"], ["INS", "two"]]


@pytest.mark.parametrize(
    ("before", "after", "gone", "came", "shown"),
    [
        ("一只狗在海边跑", "一只猫在海边跑", {"狗"}, {"猫"}, "一只狗猫在海边跑"),
        ("犬が浜辺を走る", "猫が浜辺を走る", {"犬"}, {"猫"}, "犬 猫が浜辺を走る"),
        ("หมาวิ่งบนชายหาด", "หมานอนบนชายหาด", {"วิ่ง"}, {"นอน"}, "หมาวิ่งนอนบนชายหาด"),
        ("كلب يركض على الشاطئ", "كلب ينام على الشاطئ", {"يركض"}, {"ينام"}, "كلب يركض ينام على الشاطئ"),
        ("a dog runs", "a cat runs", {"dog"}, {"cat"}, "a dog cat runs"),
    ],
)
def test_words_of_languages_without_spaces_are_compared(page, run, before, after, gone, came, shown):
    look(page, run, "")
    made = f"const p = document.createElement('p'); p.append(...changed({before!r}, {after!r}));"
    text, parts = page.run(
        f"(() => {{ {made} return [p.textContent, [...p.children].map((e) => [e.tagName, e.textContent])]; }})()"
    )
    assert {word for tag, word in parts if tag == "DEL"} == gone
    assert {word for tag, word in parts if tag == "INS"} == came
    assert text == shown


def test_captions_name_their_language(page, run):
    look(page, run, "")
    caption = "document.querySelector('.line.a .caption')"
    assert page.run(f"[{caption}.lang, {caption}.dir]") == ["en", "auto"]
    look(page, run, "corpus=texts")
    assert page.run(f"[{caption}.lang, {caption}.dir]") == ["ja", "auto"]


def test_captions_that_mean_harm_are_text(page, run):
    look(page, run, f"a=foreign&b={B}")
    shown = page.run(
        "[...document.querySelectorAll('.line.a .caption')]"
        ".map((one) => one.textContent.replace(/\\s*\\u00d7\\d+$/u, ''))"
    )
    flat = {" ".join(text.split()) for text in HOSTILE}
    assert {" ".join(text.split()) for text in shown} <= flat
    assert len(shown) > 3
    page.click(".thumbnail")
    page.wait("document.querySelector('dialog[open]')")
    reasons = set()
    for number in images(page):
        page.wait(titled(number))
        reasons |= {*page.run("[...document.querySelectorAll('dialog td small')].map((one) => one.textContent)")}
        page.key("ArrowRight")
    assert reasons >= {f"clair: {reason_of(number)}" for number in WORLD if number}
    assert page.run("document.title") == "What captioners said"
    assert page.run("document.querySelectorAll('main script, dialog script, .caption img, td img').length") == 0


def test_the_selection_is_downloaded_as_csv(page, run, tmp_path):
    look(page, run, f"a=foreign&b={B}&show=&object=cat")
    page.click("#csv")
    path = tmp_path / "captions-world-main.csv"
    patience = time.monotonic() + PATIENCE
    while not (path.exists() and path.stat().st_size):
        assert time.monotonic() < patience, "nothing was downloaded"
        time.sleep(0.02)
    rows = list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8-sig"), newline="")))
    expected = [(image_id(n), who) for n in by_cider([n for n in WORLD if n % 2], "foreign") for who in ("foreign", B)]
    assert [(row["image_id"], row["captioner"]) for row in rows] == expected
    for row, (name, who) in zip(rows, expected, strict=True):
        number = next(n for n in WORLD if image_id(n) == name)
        text = text_of(who, number)
        assert row["caption"] == (f"'{text}" if text.startswith("=") else text)
        assert float(row["CIDEr"]) == pytest.approx(100 * cider_of(who, number))
        assert int(row["rank by clip among 4 file-order"]) == rank_of(who, number)


def test_what_is_not_there_is_said(page, run, tmp_path):
    look(page, run, "corpus=texts")
    for said in ("There are no references", "No objects are annotated", "has no image files", "No retriever searched"):
        assert said in page.text()
    assert page.run("document.querySelector('.thumbnail').textContent") == "no image file"
    look(page, run, "corpus=world&text=nobody+says+this")
    assert "No caption passes these filters" in page.text()
    look(page, run, "corpus=world&image=img%2F5+%3Cb%3E&copy=0")
    assert page.run("document.querySelector('dialog figure').textContent").startswith("image cannot be read")
    empty = tmp_path / "empty"
    empty.mkdir()
    for path in PAGE.iterdir():
        (empty / path.name).write_bytes(path.read_bytes())
    nothing = {"captioners": {}, "folder": 1000, "toy": False, "caveats": ["a caveat", "another"], "corpora": []}
    write_script(empty / "data" / "_run.js", "_run", nothing)
    page.open((empty / "index.html").as_uri())
    assert "This run has no captions that were scored" in page.text()
    for title in ("document.title", "document.querySelector('h1').textContent"):
        assert page.run(title) == "What captioners said [a caveat; another]"


MANY, COPIES, SPEAKERS = 20_000, 5, 2


@pytest.fixture(scope="module")
def large(tmp_path_factory) -> Path:
    """A corpus of 20,000 images without files, where each captioner has 5 captions of each image: 100,000 rows."""
    draw = random.Random(0)
    words = [f"word{n}" for n in range(2000)]
    sentence = lambda: " ".join(draw.choices(words, k=10))  # noqa: E731
    ids = [f"image-{n:05}" for n in range(MANY)]
    keys = [(image, copy) for image in ids for copy in range(COPIES)]
    measures = [Measure(name) for name in ("CIDEr", "METEOR")]
    rank = Measure("rank", "clip", "100 file-order")
    captions = {
        f"captioner-{n}": ScoredCaptions(
            {key: sentence() for key in keys},
            {m: {key: round(100 * draw.random(), 3) for key in keys} for m in measures}
            | {rank: {key: draw.choice((1, 1, 2, 7)) for key in keys}},
            {rank: {key: draw.choice(ids) for key in keys}},
        )
        for n in range(SPEAKERS)
    }
    evaluation = evaluation_columns(captions, {image: n for n, image in enumerate(ids)}, {})
    size, empty = [400] * MANY, [[]] * MANY
    images = {"id": ids, "width": size, "height": size, "set": [None] * MANY, "objects": [["dog"]] * MANY}
    images |= {"references": [[sentence() for _ in range(5)] for _ in ids], "scenes": empty, "scene_captions": empty}
    images |= {"without": [*range(MANY)], "broken": []}
    folder = tmp_path_factory.mktemp("large")
    for path in PAGE.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    place = {"name": "main", "captioners": [*captions], "corpora": ["many"], "slices": {}}
    place |= {"numbers": {"values": [], "differences": [], "metrics": {}, "files": {}}}
    place |= {"decoding": "beam5", "candidates": 100, "seed": 0}
    write_script(folder / "data" / "many.js", "many", {"images": images, "evaluations": [{**place, **evaluation}]})
    about = {"name": "many", "split": "test", "images": MANY, "captions": len(keys) * SPEAKERS, "evaluations": [place]}
    captioners = {name: {"parent": None, "family": "file", "trained": []} for name in captions}
    shown = {"captioners": captioners, "folder": 1000, "lengths": [], "toy": False, "corpora": [about]}
    write_script(folder / "data" / "_run.js", "_run", shown)
    return folder


FRAMES = """new Promise((done) => {
  const gaps = []; let last = performance.now(), step = 0;
  const next = () => {
    const now = performance.now(); gaps.push(now - last); last = now;
    scrollBy(0, step < 90 ? 400 : 20011);
    if (++step < 120) requestAnimationFrame(next);
    else done({ gaps, rows: document.querySelectorAll('.row').length });
  };
  requestAnimationFrame(next);
})"""
LONG_TASKS = """window.tasks = [];
new PerformanceObserver((list) => tasks.push(...list.getEntries().map((one) => one.duration)))
.observe({ entryTypes: ['longtask'] })"""


def test_100_000_rows_open_in_two_seconds_and_scroll_without_a_stall(page, large):
    opened = []
    wait = max(1, os.getloadavg()[0] / (os.cpu_count() or 1))  # how long a process waits for a core
    for _ in range(3):
        look(page, large)
        # From the start of the navigation to the first rows in place: reading the data, sorting and drawing included.
        opened.append(page.run("performance.getEntriesByName('captions shown')[0].startTime"))
    assert min(opened) < 2000 * wait
    rows = page.run("view.rows")
    assert rows == MANY * COPIES
    page.run(LONG_TASKS)
    frames = page.run(FRAMES)
    # Other tests on the machine may hold up a few of the 120 frames.
    assert sum(task > 200 * wait for task in page.run("tasks")) <= 3
    assert sorted(frames["gaps"])[len(frames["gaps"]) // 2] < 50 * wait
    assert frames["rows"] < 30
    # A key that filters all captions: the page answers before the finger leaves the next one.
    filtered = (
        "(() => { const start = performance.now(); change({ text: '%s' }); return performance.now() - start; })()"
    )
    assert min(page.run(filtered % f"word77{end}") for end in "123") < 500 * wait
    assert 0 < len(images(page)) < rows
    shoot(page, "browser-large")


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_every_row_of_a_list_longer_than_browsers_allow_is_reached(page, large, size):
    page.size(*size)
    look(page, large)
    rows = page.run("view.rows")
    assert page.run("list.height * view.rows") > page.run("document.getElementById('list').offsetHeight")
    page.run("scrollTo(0, document.body.scrollHeight)")
    page.wait(
        f"document.querySelector('[data-position=\"{rows - 1}\"]')?.getBoundingClientRect().bottom <= innerHeight"
    )
    for position in (0, 1, rows // 3, rows // 3 + 1, rows - 2, rows - 1, 5):
        page.run(f"focusRow({position})")
        top, bottom = page.run(
            "(({ top, bottom }) => [top, bottom])(document.activeElement.closest('li').getBoundingClientRect())"
        )
        assert page.run("document.activeElement.closest('li').dataset.position") == str(position)
        assert top >= -1
        assert bottom <= size[1] + 1
    page.key("End")
    assert page.run("document.activeElement.closest('li').dataset.position") == str(rows - 1)
    tops = page.run("[...document.querySelectorAll('.row')].map((one) => one.getBoundingClientRect().top)")
    height = page.run("list.height")
    near = [top for top in tops if -height < top < size[1]]
    assert all(abs(after - before - height) < 1.5 for before, after in pairwise(near))
