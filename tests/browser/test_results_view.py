"""The results browser at every width, on paper, by keyboard, with hostile captions, and its steps Back and Forward."""

import json
import random
from collections import Counter
from collections.abc import Callable, Iterator
from importlib.resources import files
from itertools import pairwise
from pathlib import Path

import pytest
from support.browser_run import build, image_id, text_of
from support.chromium import Page, browser, program
from support.results_page import DESKTOP, PAGE, SIZES, images, look, set_value, shoot, tick

pytestmark = pytest.mark.skipif(program() is None, reason="no Chromium: apt-get install chromium")
HOSTILE = [
    "",
    " \u200b\u00a0 ",
    "<b onclick=alert(1)>bold</b><script>document.title = 'harm'</script>",
    "\u202ereversed without an end",
    "שלום עולם (a dog) 12!",
    "🐕\u200d🦺" * 40,
    "x" * 10_000,
    "a dog " * 1_700,
    "z" + "\u0323\u0301" * 300,
    "line\nbreak\ttab\r\nand \u2028 more",
    "</textarea>--><style>body { display: none }</style>",
    "{{ constructor }} ${name} %s &lt;&amp;",
]


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    return build(tmp_path_factory.mktemp("run"), PAGE)


@pytest.fixture(scope="module")
def hostile_run(tmp_path_factory) -> Path:
    """A run where the captioner `foreign` has a hostile caption for each image."""
    hostile = lambda captioner, number: HOSTILE[number] if captioner == "foreign" else text_of(captioner, number)  # noqa: E731
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("support.browser_run.text_of", hostile)
        return build(tmp_path_factory.mktemp("hostile"), PAGE)


@pytest.fixture(scope="module")
def tab(tmp_path_factory) -> Iterator[Page]:
    with browser(tmp_path_factory.mktemp("profile"), tmp_path_factory.mktemp("downloads")) as page:
        yield page


@pytest.fixture
def page(tab) -> Iterator[Page]:
    """A tab as wide as a desktop, without errors and dialogs at the end."""
    tab.size(*DESKTOP)
    tab.send("Page.resetNavigationHistory")  # Chromium keeps 50 entries
    yield tab
    tab.send("Emulation.setEmulatedMedia", media="", features=[])
    assert tab.errors == []
    assert tab.dialogs == []


def words_of(text: str) -> Counter:
    return Counter(text.split())


def test_only_words_that_the_other_caption_lacks_are_marked(page, run):
    look(page, run)
    draw = random.Random(3)
    pairs = [("a dog chases a cat", "a cat chases a dog"), ("the the the", "the"), ("", "a dog"), ("b a", "a")]
    pairs += [tuple(" ".join(draw.choices("abcd", k=draw.randrange(9))) for _ in range(2)) for _ in range(60)]
    pairs.append((" ".join(f"w{n}" for n in range(1500)), " ".join(f"w{n}" for n in reversed(range(1500)))))
    texts = "(tag) => [...one.querySelectorAll(tag)].map((word) => word.textContent).join(' ')"
    marks = page.run(
        f"""{json.dumps(pairs)}.map(([a, b]) => {{
          const read = (parts) => {{
            const one = make("p", {{}}, ...parts), all = {texts};
            return [all("ins"), all("del"), one.textContent];
          }};
          return [read(marked(a, b)), read(changed(b, a))];
        }})"""
    )
    for (a, b), ((only, _, whole), (came, gone, _)) in zip(pairs, marks, strict=True):
        assert whole == a
        assert words_of(only) == words_of(a) - words_of(b), (a, b)
        assert words_of(came) == words_of(a) - words_of(b), (a, b)
        assert words_of(gone) == words_of(b) - words_of(a), (a, b)
    legend = page.run("make('p', {}, ...marked('b a', 'a b')).querySelector('.moved').title")
    assert legend == "in both captions, at another place"


# What lies outside of the window, and captions without a width to be read in.
CUT = """[...document.querySelectorAll('.row .caption, .row .who, .row .value, .row .rank, .row .references, #tools *')]
  .filter((one) => one.offsetWidth && !one.closest('.label'))
  .map((one) => [one.className || one.tagName, one.getBoundingClientRect()])
  .filter(([, box]) => box.left < 0 || box.right > document.documentElement.clientWidth + 1)
  .map(([name, box]) => [name, box.left, box.right])"""

BOXES = """[...document.querySelectorAll('.line')].map((one) => one.getBoundingClientRect())
  .map((box) => [box.top, box.bottom])"""


def test_captions_have_a_width_in_every_window(page, run):
    look(page, run, "show=foreign")
    for width in (320, 390, 500, 640, 759, 760, 761, 800, 850, 910, 960, 1024, 1100, 1101, 1200, 1280, 1400, 1920):
        page.size(width, 900, width < 600)
        page.wait(f"innerWidth === {width} && list.height === document.querySelector('.row').offsetHeight")
        captions = page.run("[...document.querySelectorAll('.caption')].map((one) => one.offsetWidth)")
        assert len(captions) > 2
        assert min(captions) >= min(230, width - 40), width
        assert page.run(CUT) == [], width
        assert page.run("document.documentElement.scrollWidth <= innerWidth"), width
        lines = page.run("[...document.querySelectorAll('.line')].map((one) => one.scrollHeight - one.clientHeight)")
        assert max(lines) <= 1, width


def test_paper_has_all_captions_as_a_whole(page, hostile_run):
    look(page, hostile_run, "a=foreign&b=tuned&show=")
    page.send("Emulation.setEmulatedMedia", media="print")
    for width in (718, 1045):  # A4, upright and across
        page.size(width, 1000, False)
        page.run("dispatchEvent(new Event('beforeprint'))")
        page.wait("document.querySelectorAll('.row').length === 12")
        captions = page.run("[...document.querySelectorAll('.line.a .caption')].map((one) => one.textContent)")
        for caption, text in zip(captions, [HOSTILE[number] for number in images(page)], strict=True):
            assert caption.split() == text.split() or not text.strip(" \u200b\u00a0")
        assert page.run("[...document.querySelectorAll('.caption')].every((one) => one.offsetWidth >= 150)")
        assert page.run(
            "[...document.querySelectorAll('.caption')].every((one) => getComputedStyle(one).overflow === 'visible')"
        )
        boxes = page.run(BOXES)
        assert all(bottom <= top + 1 for (_, bottom), (top, _) in pairwise(boxes))
        assert page.run(CUT) == []
        page.run("dispatchEvent(new Event('afterprint'))")
    page.run("openDetail(0)")
    page.wait("document.querySelector('.candidates figure')")
    page.run("dispatchEvent(new Event('beforeprint'))")
    assert page.run("getComputedStyle(document.querySelector('#page')).display") == "none"
    scores = page.run("document.querySelector('#paper').innerText")
    assert "Captions and scores" in scores
    assert page.run("document.querySelector('#paper').scrollWidth <= innerWidth")
    page.run("dispatchEvent(new Event('afterprint'))")
    assert page.run("document.querySelector('#paper').textContent") == ""


def test_a_pdf_has_more_rows_than_the_window(page, run):
    look(page, run)
    page.size(1400, 300, False)
    page.wait("list.elements.size < 8")
    page.run("addEventListener('beforeprint', () => { window.printed = document.querySelectorAll('.row').length; }); 0")
    page.send("Page.printToPDF")
    assert page.run("printed") == 12
    page.wait("list.elements.size < 8")


def shown(page: Page) -> dict:
    """What a reader sees: order, lines, controls and the open image."""
    return {
        "images": images(page),
        "lines": page.run("[...document.querySelector('.row').querySelectorAll('.who')].map((one) => one.title)"),
        "controls": page.run(
            "[...document.querySelectorAll('select:not(dialog *), input')]"
            ".map((one) => one.type === 'checkbox' ? one.checked : one.value)"
        ),
        "open": page.run("document.querySelector('dialog[open] h2')?.textContent ?? null"),
        "speaker": page.run("document.querySelector('dialog[open] #speaker')?.value ?? null"),
        "chosen": page.run("[...document.querySelectorAll('.handle')].map((one) => one.getAttribute('aria-valuenow'))"),
    }


def keys(page: Page, selector: str, key: str, times: int) -> None:
    page.run(f"document.querySelector({json.dumps(selector)}).focus()")
    for _ in range(times):
        page.key(key)


def typed(page: Page, text: str) -> None:
    for end in range(1, len(text) + 1):
        set_value(page, "[name=text]", text[:end])


# What a reader does; each is one step of the history.
STEPS: dict[str, Callable[[Page], None]] = {
    "filter": lambda page: set_value(page, "[name=object]", "dog"),
    "text": lambda page: typed(page, "road"),
    "measure": lambda page: set_value(page, "#measure", "0"),
    "direction": lambda page: set_value(page, "#direction", "up"),
    "order": lambda page: set_value(page, "#order", "b"),
    "captioner": lambda page: tick(page, "show][value=foreign"),
    "swap": lambda page: page.button("Swap A and B"),
    "values": lambda page: keys(page, "#high", "ArrowLeft", 3),
    "all values": lambda page: page.button("Show all values"),
    "search": lambda page: set_value(page, "[name=found]", "not-a"),
    "open": lambda page: page.run("document.querySelector('.thumbnail').click()"),
    "leaf": lambda page: page.key("ArrowRight"),
    "speaker": lambda page: set_value(page, "#speaker", "foreign"),
    "close": lambda page: page.key("Escape"),
    "clear": lambda page: page.button("Clear all filters"),
    "corpus": lambda page: set_value(page, "#corpus", "texts"),
}  # fmt: skip


def test_back_and_forward_lead_through_all_that_a_reader_chose(page, run):
    look(page, run, "a=tuned&b=parent")
    views = [(page.run("location.hash"), shown(page))]
    for name, step in STEPS.items():
        before = page.run("location.hash")
        step(page)
        page.wait(f"location.hash !== {json.dumps(before)}")
        page.wait("view.corpus === state.corpus && (state.image === '') === !document.querySelector('dialog[open]')")
        if name == "leaf":  # goes on with the step that opened the image
            views.pop()
        views.append((page.run("location.hash"), shown(page)))
    assert len({hash_ for hash_, _ in views}) >= len(views) - 3
    for way, places in (("back", range(len(views) - 2, -1, -1)), ("forward", range(1, len(views)))):
        for place in places:
            hash_, view = views[place]
            page.run(f"history.{way}()")
            page.wait(f"location.hash === {json.dumps(hash_)}")
            order = ",".join(map(str, view["images"]))
            page.wait(f"String(current.rows.map((row) => view.image[row])) === {json.dumps(order)}")
            page.wait("(state.image === '') === !document.querySelector('dialog[open]')")
            assert shown(page) == view, (way, hash_)
    for hash_, view in views[5:13:3]:
        look(page, run, hash_[1:])
        assert shown(page) == view


def test_back_leads_to_the_place_in_the_list(page, run):
    page.size(1400, 500, False)
    look(page, run)
    page.run("scrollTo(0, 1500)")
    page.wait("scrollY > 1000")
    top = page.run("scrollY")
    set_value(page, "#direction", "up")
    page.wait(f"scrollY !== {top}")
    page.run("history.back()")
    page.wait(f"state.direction === 'down' && Math.abs(scrollY - {top}) < 2")


# Elements that take part in the order of keys, and can be seen.
CONTROLS = """[...document.querySelectorAll('a[href], button, input, select, summary, [tabindex="0"]')]
  .filter((one) => !one.disabled && !one.closest('#list') && one.offsetParent !== null)"""
FOCUS = """(() => {
  const one = document.activeElement, { left, top, width, height } = one.getBoundingClientRect();
  const style = getComputedStyle(one), middle = top + Math.min(height, innerHeight - top) / 2;
  const over = document.elementFromPoint(left + width / 2, middle);
  window.seen = (window.seen ?? new Set()).add(one);
  return {
    name: one.id || one.name || one.className || one.tagName,
    outlined: style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2,
    clear: Boolean(over) && (one.contains(over) || over.contains(one)),
    row: one.closest('li')?.dataset.position ?? null,
  };
})()"""


@pytest.mark.parametrize("width", SIZES)
def test_every_control_is_reached_by_tab_and_its_focus_is_seen(page, run, width):
    page.size(*SIZES[width])
    for hash_ in ("object=dog&low=20", "image=img%2F3+%3Cb%3E&copy=0"):
        look(page, run, hash_)
        page.run("document.getElementById('panel').open = true")
        inside = "dialog" if "image" in hash_ else "body"
        controls = f"{CONTROLS}.filter((one) => document.querySelector('{inside}').contains(one))"
        rows = []
        for _ in range(60):
            page.key("Tab")
            focus = page.run(FOCUS)
            if focus["name"] != "BODY":
                assert (focus["outlined"], focus["clear"]) == (True, True), focus
            if focus["row"] is not None:
                rows.append(int(focus["row"]))
            if page.run(f"{controls}.every((one) => seen.has(one))") and (rows[-3:] == [0, 1, 2] or inside == "dialog"):
                break
        else:
            pytest.fail(
                f"never reached: {page.run(f'{controls}.filter((one) => !seen.has(one)).map((one) => one.outerHTML)')}"
            )


def test_keys_with_alt_are_left_to_the_browser(page, run):
    look(page, run)
    taken = """(selector, key) => {
      const one = document.querySelector(selector);
      one.focus();
      return !one.dispatchEvent(new KeyboardEvent('keydown', { key, altKey: true, bubbles: true, cancelable: true }));
    }"""
    assert not page.run(f"({taken})('.thumbnail', 'Home')")
    assert not page.run(f"({taken})('#low', 'ArrowRight')")
    page.run("openDetail(1)")
    assert not page.run(f"({taken})('#close', 'ArrowLeft')")
    page.key("Escape")
    page.wait("state.image === '' && !document.querySelector('dialog[open]')")
    set_value(page, "[name=object]", "dog")
    page.run("document.getElementById('clear').focus()")
    page.key("Enter", "\r")
    assert page.run("document.activeElement.id") == "measure"
    page.run("document.getElementById('skip').click()")
    assert page.run("document.activeElement.closest('li').dataset.position") == "0"


def test_hostile_captions_are_text_and_break_nothing(page, hostile_run):
    for width in SIZES:
        page.size(*SIZES[width])
        look(page, hostile_run, "a=foreign&b=tuned")
        for number in range(12):
            page.run(f"focusRow({number})")
            row = f"document.querySelector('[data-position=\"{number}\"]')"
            text = page.run(f"{row}.querySelector('.line.a .caption').textContent")
            expected = HOSTILE[images(page)[number]]
            assert text.split() == (
                expected.split()
                if expected.strip(" \u200b\u00a0")
                else ["says", "nothing"]
                if not expected
                else ["only", "blanks"]
            )
            assert page.run(f"{row}.offsetHeight === list.height && {row}.scrollWidth <= {row}.clientWidth")
            assert page.run(f"{row}.querySelectorAll('bdi').length") == 3
        assert page.run("document.documentElement.scrollWidth <= innerWidth")
        for position in range(12):
            page.run(f"openDetail({position})")
            assert page.run(
                "(({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth)(document.querySelector('dialog'))"
            )
            assert image_id(images(page)[position]) in page.run("document.querySelector('dialog h2').textContent")
    assert page.run("document.title") == "What captioners said"
    assert (
        page.run("document.querySelectorAll('.caption > b, .caption script, .caption style, dialog style').length") == 0
    )


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_axe_finds_nothing_at_any_width(page, run, hostile_run, mode):
    script = (files("axe_core_python") / "axe.min.js").read_text(encoding="utf-8")
    page.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": mode}])
    for width, size in SIZES.items():
        page.size(*size)
        views = {
            "grid": (run, "found=a-not-b&low=10"),
            "detail": (run, "image=img%2F3+%3Cb%3E&copy=0"),
            "texts": (run, "corpus=texts"),
            "hostile": (hostile_run, "a=foreign&b=tuned"),
            "hostile-detail": (hostile_run, "a=foreign&b=tuned&image=img%2F6+%3Cb%3E&copy=0"),
        }
        for name, (folder, hash_) in views.items():
            if name.startswith("hostile") and width not in (1400, 390):
                continue
            look(page, folder, hash_)
            page.run("document.getElementById('panel').open = true")
            if name == "detail":
                page.wait("document.querySelector('.candidates figure')")
            page.run(f"{script}; 0")
            faults = page.run(
                "axe.run().then(({ violations }) => violations.map(({ id, nodes }) => [id, nodes[0].html]))"
            )
            assert faults == [], (width, name)
            assert page.run("document.documentElement.scrollWidth <= innerWidth")
            shoot(page, f"browser-{name}-{width}-{mode}")
