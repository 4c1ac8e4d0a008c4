"""Pages of figures in a real browser: numbers under the pointer and by keyboard, captions behind a mark, width, axe."""

import json
from pathlib import Path

import axe_core_python
import matplotlib.pyplot as plt
import pytest
from support.chromium import program
from support.figure_checks import STYLE, figure_files
from support.sample_tables import HOSTILE

from captionlab.reporting.runs.values import Measured
from captionlab.reporting.tables.figure_pages import PageOfFigure
from captionlab.reporting.tables.figures import bars, line, looking, looks, save

pytestmark = pytest.mark.skipif(program() is None, reason="no Chromium: apt-get install chromium")

AXE = (Path(axe_core_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
FOCUSED = "document.activeElement.getAttribute('aria-label')"
READING = "document.querySelector('.reading').textContent"
LINK = "../browser/index.html#corpus=x&a=tuned"


def draw(width):
    figure, axis = plt.subplots(figsize=(width, 2))
    of = looks(STYLE, "ab")
    bars(
        axis, {place: Measured(40.0 + place, 35.0, 45.0, 1, 200, link=LINK) for place in range(3)}, 0.3, "bar", of["a"]
    )
    line(axis, {place: Measured(20.0 + place, 15.0, 25.0, 1, 9) for place in range(3)}, HOSTILE, of["b"])
    axis.set_xticks(range(3), ["one", "two", "three"])
    axis.set_ylabel("P@1 (%)")
    return figure


@pytest.fixture(scope="module")
def figure(tmp_path_factory) -> str:
    folder = tmp_path_factory.mktemp("run") / "results" / "figures"
    [files] = figure_files(folder, ["sample"]).values()
    with looking(STYLE):
        save(draw, files, STYLE, PageOfFigure("Figure 1: a sample", "sample_table", {"png": "sample.png"}))
    (folder.parent / "browser").mkdir()
    (folder.parent / "browser" / "index.html").write_text("<!doctype html><title>Captions</title>", encoding="utf-8")
    return files[-1].as_uri()


def test_the_pointer_shows_the_numbers_of_a_mark(page, figure):
    page.open(figure)
    left, top, width, height = page.box(".mark", 1)
    page.move(left + width / 2, top + height / 10)  # above the point that lies on the bar
    page.wait(f"{READING} === 'bar, two, P@1 (%): 41, 95 % interval 35 to 45, n = 200'")


def test_a_mark_covers_what_it_is_about(page, figure):
    """The box of the first bar has the colour of its series below its middle, and the page does not scroll aside."""
    page.open(figure)
    drawing, box = page.box(".figure svg"), page.box(".mark rect")
    assert drawing[0] < box[0] < drawing[0] + drawing[2] / 3
    assert box[1] + box[3] <= drawing[1] + drawing[3]
    assert page.box(".marks") == pytest.approx(drawing, abs=1)


def test_one_stop_of_the_keyboard_and_arrows_between_marks(page, figure):
    page.open(figure)
    assert page.run("document.querySelectorAll('.mark[tabindex=\"0\"]').length") == 1
    page.run("document.querySelector('.mark').focus()")
    assert page.run(FOCUSED).startswith("bar, one")
    page.key("ArrowRight")
    assert page.run(FOCUSED) == "bar, two, P@1 (%): 41, 95 % interval 35 to 45, n = 200, opens the captions"
    page.key("ArrowDown")
    assert page.run(FOCUSED).endswith("two, P@1 (%): 21, 95 % interval 15 to 25, n = 9")
    assert HOSTILE.split()[0] in page.run(READING)
    page.key("ArrowUp")
    page.key("ArrowLeft")
    page.key("ArrowLeft")
    assert page.run(FOCUSED).endswith("three, P@1 (%): 22, 95 % interval 15 to 25, n = 9")


def test_a_mark_opens_its_captions(page, figure):
    page.open(figure)
    page.run("document.querySelector('.mark').focus()")
    page.key("Enter", "\r")
    page.wait("document.title === 'Captions'")
    assert page.run("location.hash") == "#corpus=x&a=tuned"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1400, 1024, 800, 390])
def test_axe_finds_nothing_and_the_page_is_no_wider_than_the_screen(page, figure, width, scheme):
    page.size(width, 844, width < 500)
    page.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    page.open(figure)
    assert page.run("document.documentElement.scrollWidth") <= width
    page.run(AXE)
    found = page.run("axe.run().then((result) => result.violations.map((one) => [one.id, one.nodes[0].html]))")
    assert found == [], json.dumps(found)
