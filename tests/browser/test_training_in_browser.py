"""Training pages in a real browser: width, keyboard, pointer, axe, hostile names."""

from pathlib import Path
from urllib.parse import quote

import axe_core_python
import pytest
from support.chromium import Page, program
from support.training_run import NAME, training_run

from captionlab.reporting.trainings.pages import write_training_pages

pytestmark = pytest.mark.skipif(program() is None, reason="no Chromium: apt-get install chromium")

AXE = (Path(axe_core_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
PAGES = ["index", "training.captioners.tuned", f"training.captioners.{NAME}", "card.captioners.tuned@2"]
READOUT = "document.querySelector('.readout').textContent"


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    run = training_run(tmp_path_factory.mktemp("run"), updates=60)
    place = Path(run.logs["captioners", "tuned"]).parents[2] / "training"
    write_training_pages(run, place)
    return place


def look(page: Page, folder: Path, name: str, width: int = 1400) -> None:
    page.size(width, 900, width < 600)
    page.open(f"{folder.as_uri()}/{quote(name)}.html")


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("dark", [False, True])
def test_axe_finds_nothing(page, folder, name, dark):
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    page.send("Emulation.setEmulatedMedia", features=[scheme])
    look(page, folder, name)
    page.run("document.querySelector('.chart summary')?.click()")
    page.run(f"{AXE}; null")
    found = page.run("axe.run().then(({ violations }) => violations.map((one) => `${one.id}: ${one.nodes[0].html}`))")
    assert found == []


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("width", [1400, 1024, 800, 390])
def test_no_page_is_wider_than_its_window(page, folder, name, width):
    look(page, folder, name, width)
    assert page.run("document.documentElement.scrollWidth") <= width
    assert page.run("[...document.querySelectorAll('.chart svg')].every((one) => one.clientWidth > 250)")


def test_arrow_keys_read_the_values_of_the_table(page, folder):
    look(page, folder, "training.captioners.tuned")
    page.key("Tab")
    while not page.run("document.activeElement.matches('.chart svg')"):
        page.key("Tab")
    said = [page.run(READOUT)]
    for key in ("ArrowRight", "End", "Home", "ArrowDown"):
        page.key(key)
        said.append(page.run(READOUT))
    assert page.run("document.activeElement.getAttribute('aria-valuetext')") == said[-1]
    page.run("document.querySelector('.chart summary').click()")
    page.wait("document.querySelector('.chart table')")
    first, other = page.run(
        "[...document.querySelectorAll('.chart tbody')].map((body) => "
        "[...body.rows].slice(1).map(({ cells }) => [...cells].map((cell) => cell.textContent)))"
    )
    points = [
        ("tuned", first[0]),
        ("tuned", first[1]),
        ("tuned", first[-1]),
        ("tuned", first[0]),
        ("tuned-5", other[0]),
    ]
    assert said == [f"update {step}: loss {value}, {training}" for training, (step, value) in points]


def test_the_pointer_reads_the_nearest_point(page, folder):
    look(page, folder, f"training.captioners.{NAME}")
    left, top, width, high = page.box(".chart svg")
    page.send("Input.dispatchMouseEvent", type="mouseMoved", x=left + width - 2, y=top + high / 2)
    page.wait(f"{READOUT}.startsWith('update 60: loss ')")
    end = page.run("document.querySelector('.chart .line').getAttribute('d').split('L').at(-1).split(' ')[0]")
    assert float(page.run("document.querySelector('.cursor').getAttribute('cx')")) == pytest.approx(float(end), abs=0.1)


def test_a_link_leads_to_the_place_of_a_model_in_the_line(page, folder):
    look(page, folder, "training.captioners.tuned")
    page.run("[...document.querySelectorAll('a')].find((one) => one.textContent === 'scorer judge').click()")
    page.wait("document.querySelector('li:target')?.id === 'scorers.judge'")
    assert page.run("document.querySelectorAll('main img').length") == 0
