"""The site of several runs in a real browser: width, axe, links, and captions of all runs."""

import json
from pathlib import Path
from urllib.parse import unquote, urlsplit

import axe_core_python
import pytest
from support.chromium import program
from support.two_runs import write_run

from captionlab.side_by_side.runs import read_runs
from captionlab.side_by_side.site import write_site

pytestmark = pytest.mark.skipif(program() is None, reason="no Chromium: apt-get install chromium")

AXE = (Path(axe_core_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
PAGES = (
    "index.html",
    "training.html",
    "tables/index.html",
    *(f"tables/{t}.html" for t in ("metrics", "moved", "parameters")),
)
LINKS = "[...document.querySelectorAll('a[href], img[src]')].map((one) => one.href || one.src)"


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    words = [f"before={write_run(folder / 'a')}", f"after={write_run(folder / 'b', gain=0.5, config={'seed': 2})}"]
    write_site(read_runs(words), folder / "side by side")
    return folder / "side by side"


@pytest.mark.parametrize("width", [1400, 390])
@pytest.mark.parametrize("name", PAGES)
def test_pages_fit_and_are_accessible(page, site, name, width):
    page.size(width, 900, width < 400)
    page.open((site / name).as_uri())
    assert page.run("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    page.run(f"{AXE}; 0")
    found = page.run("axe.run().then(({ violations }) => violations.map(({ id, nodes }) => [id, nodes[0].html]))")
    assert found == []


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_to_files(page, site, name):
    page.size(1400, 900, False)
    page.open((site / name).as_uri())
    links = page.run(LINKS)
    assert links
    for link in links:
        address = urlsplit(link)
        assert address.scheme == "file"
        assert Path(unquote(address.path)).is_file(), link


@pytest.mark.parametrize("width", [1400, 390])
def test_a_difference_leads_to_the_captions_of_both_runs(page, site, width):
    page.size(width, 900, width < 400)
    page.open((site / "tables" / "metrics.html").as_uri())
    address = page.run("document.querySelector('td a[href*=\"order=difference\"]').href")
    page.open(address)
    page.wait("performance.getEntriesByName('captions shown').length && document.querySelector('#list .row')")
    assert page.run("[state.a, state.b]") == ["after:parent", "before:parent"]
    assert "of all images, A minus B in" in page.run("document.getElementById('summary').textContent")
    who = page.run("[...document.querySelectorAll('#list .row .who')].map((one) => one.title)")
    assert {"after:parent", "before:parent"} <= {*who}
    assert page.run("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def test_curves_of_runs_differ_without_colour(page, site):
    page.size(1400, 900, False)
    page.open((site / "training.html").as_uri())
    dashes = "[...document.querySelectorAll('.curves polyline')].map((one) => getComputedStyle(one).strokeDasharray)"
    assert page.run(f"new Set({dashes}).size") == 2
    titles = page.run("[...document.querySelectorAll('polyline title')].map((one) => one.textContent)")
    assert titles[:4] == ["before:tuned", "before:tuned-2", "after:tuned", "after:tuned-2"]
    spilt = "[...document.querySelectorAll('svg text')].some((one) => { const box = one.getBoundingClientRect(), "
    spilt += (
        "all = one.ownerSVGElement.getBoundingClientRect(); return box.left < all.left || box.right > all.right + 1; })"
    )
    assert page.run(spilt) is False


def test_hostile_names_stay_text(page, site, tmp_path):
    folders = json.loads((site / "runs.json").read_text())
    words = [f"<x-run>first={folders['before']}", f"after={folders['after']}"]
    write_site(read_runs(words), tmp_path / "site")
    for one in (*PAGES, "browser/index.html"):
        page.open((tmp_path / "site" / one).as_uri())
        assert page.run("document.querySelector('x-run')") is None
