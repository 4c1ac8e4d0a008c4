"""The documentation site, built as `./lab docs` builds it: every link, every package, the gallery, a phone."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import NamedTuple
from urllib.parse import unquote, urljoin, urlsplit

import pytest
from PIL import Image
from support.checkouts import copy_checkout
from support.chromium import Page, browser, program
from support.sample_tables import table_of_kind

from captionlab.reporting.tables.collection import collect
from captionlab.reporting.tables.formats.html import html

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
REPOSITORY = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]["Repository"]
SITE = "https://site.invalid/"


def build(*arguments: str | Path, root: Path = ROOT) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(root / "docs" / "build.py"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.fixture(scope="module")
def results(tmp_path_factory) -> Path:
    """Results of a run with two tables and a figure."""
    folder = tmp_path_factory.mktemp("results")
    made = folder / "made"
    made.mkdir()
    page = html(table_of_kind("table1", title="Table 1: a_b"))
    for ending, text in {"html": page, "csv": "a\n41.5\n", "tex": "41.5", "md": "# Table 1"}.items():
        (made / f"table1.{ending}").write_text(text, encoding="utf-8")
    (made / "plain.csv").write_text("a\n1\n", encoding="utf-8")
    collect(sorted(made.iterdir()), folder / "tables")
    (folder / "figures").mkdir()
    for name in ("one_figure.png", "one_figure.pdf", "one_figure_column.pdf"):
        Image.new("RGB", (1600, 300), "teal").save(folder / "figures" / name)
    return folder


@pytest.fixture(scope="module")
def site(results, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("built") / "site"
    done = build(folder, "--results", results)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"The site is in {folder} (open index.html)\n"
    return folder


class Link(NamedTuple):
    """A link of a page: the element, the attribute, and the address that it leads to."""

    tag: str
    attribute: str
    address: str


class Reader(HTMLParser):
    """Links, names and elements of a page of the site."""

    def __init__(self, site: Path, path: Path):
        super().__init__()
        self.links: list[Link] = []
        self.names: set[str] = set()
        self.tags: set[str] = set()
        self.address = SITE + path.relative_to(site).as_posix()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        for name, value in attrs:
            if name in ("id", "name"):
                self.names.add(value)
            elif name in ("href", "src", "action"):
                self.links.append(Link(tag, name, urljoin(self.address, value)))


@pytest.fixture(scope="module")
def pages(site) -> dict[str, Reader]:
    """Every HTML file of the site by its address."""
    readers = [Reader(site, path) for path in sorted(site.rglob("*.html"))]
    assert len(readers) > 30
    return {reader.address: reader for reader in readers}


def test_every_link_leads_to_a_file_and_a_name(site, pages):
    wrong = []
    for page in pages.values():
        for link in page.links:
            address, _, anchor = link.address.partition("#")
            if not address.startswith(SITE):
                continue
            path = site / unquote(address.removeprefix(SITE) or "index.html")
            target = pages.get(SITE + path.relative_to(site).as_posix())
            if not path.is_file() or (anchor and target and unquote(anchor) not in target.names):
                wrong.append((page.address, link.address))
    assert wrong == []


def test_links_to_the_repository_lead_to_files_of_it(pages):
    links = {link.address for page in pages.values() for link in page.links if REPOSITORY in link.address}
    paths = {re.sub(r"/(blob|edit)/main/", "", link.removeprefix(REPOSITORY)) for link in links}
    assert {"tests/bad_input.md", "docs/architecture.md"} <= paths  # one that is no page, and one to be edited
    assert [path for path in sorted(paths) if not (ROOT / path).exists()] == []


def test_no_page_needs_the_network(site, pages):
    used = [link for page in pages.values() for link in page.links if link.tag != "a" and link.attribute != "action"]
    assert [link for link in used if urlsplit(link.address).netloc != urlsplit(SITE).netloc] == []
    styles = "".join(path.read_text(encoding="utf-8") for path in site.rglob("*.css"))
    assert re.findall(r"url\([\"']?(?:https?:)?//[^)]*|@import[^;]*", styles) == []


def test_every_markdown_file_is_a_page_that_the_navigation_has(pages):
    files = [path.relative_to(ROOT) for folder in ("", "config", "docs") for path in (ROOT / folder).glob("*.md")]
    expected = {SITE + re.sub(r"README\.html$", "index.html", path.with_suffix(".html").as_posix()) for path in files}
    navigation = {link.address.partition("#")[0] for link in pages[f"{SITE}404.html"].links if link.tag == "a"}
    assert len(expected) > 12
    assert expected - navigation == set()


def test_the_reference_has_every_public_module(pages):
    modules = {
        ".".join(path.relative_to(ROOT / "src").with_suffix("").parts).removesuffix(".__init__")
        for path in (ROOT / "src" / "captionlab").rglob("*.py")
    }
    described = set().union(*(page.names for address, page in pages.items() if "/reference/" in address))
    titled = {f"captionlab.{name}" for name in os.listdir(ROOT / "src" / "captionlab")}  # pages, by their titles
    public = {name for name in modules if not any(part.startswith("_") for part in name.split("."))}
    assert len(public) > 200
    assert public - described - titled == {"captionlab"}
    assert "captionlab.captioners.captioner.Captioner.log_probs" in described


def test_the_reference_goes_from_the_top_floor_down(site):
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8").split("## Floors")[1]
    rows = re.findall(r"^\| (\d) \| (.*?) \|", page, re.MULTILINE)
    floor = {name.split(".")[0]: int(number) for number, names in rows for name in re.findall(r"`([\w.<>]+)`", names)}
    index = (site / "reference" / "index.html").read_text(encoding="utf-8")
    listed = re.findall(r"<td><a [^>]*>captionlab\.(\w+)</a></td>", index)
    assert set(floor) == set(listed)
    numbers = [floor[name] for name in listed]
    assert numbers == sorted(numbers, reverse=True)


def test_docstrings_hold_no_markup_of_their_own(pages):
    known = set().union(*(page.tags for address, page in pages.items() if "/reference/" not in address))
    shown = set().union(*(page.tags for address, page in pages.items() if "/reference/" in address))
    assert shown - known <= {"h4", "h5", "h6", "small"}


def test_the_gallery_has_tables_and_figures_as_the_run_made_them(results, site, pages):
    gallery = pages[f"{SITE}gallery.html"]
    for name in (
        "tables/table1.html",
        "tables/table1.csv",
        "tables/table1.tex",
        "tables/plain.csv",
        "figures/one_figure.png",
        "figures/one_figure.pdf",
        "figures/one_figure_column.pdf",
    ):
        assert (site / "gallery" / name).read_bytes() == (results / name).read_bytes()
        assert f"{SITE}gallery/{name}" in {link.address for link in gallery.links}
    assert [link.address for link in gallery.links if link.tag == "iframe"] == [f"{SITE}gallery/tables/table1.html"]
    assert "Table 1: a_b" in (site / "gallery.html").read_text(encoding="utf-8")


def test_mistakes_end_the_build(tmp_path):
    """A page that no navigation has, a link and a heading that are not there; and the gallery of no run."""
    copy_checkout(tmp_path)
    (tmp_path / "docs" / "stray.md").write_text("# Stray\n\n[a](nowhere.md) [b](architecture.md#no-such-heading)\n")
    done = build(root=tmp_path)
    assert done.returncode == 1
    assert "docs/stray.md" in done.stderr.split('not included in the "nav"')[1]
    assert "contains a link 'nowhere.md', but the target 'docs/nowhere.md' is not found" in done.stderr
    assert "'architecture.md#no-such-heading', but the doc 'docs/architecture.md' does not contain" in done.stderr
    gallery = (tmp_path / "site" / "gallery.html").read_text(encoding="utf-8")
    assert "<code>./lab tables</code> makes those of the toy world" in gallery


def test_a_folder_of_other_things_is_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    done = build(tmp_path)
    assert done.returncode == 1
    assert done.stderr == (
        f"{tmp_path} holds something else than this site, which would be deleted; name an empty or a new folder\n"
    )
    assert (tmp_path / "thesis.tex").read_text() == "years of work"


def test_a_site_of_somebody_else_is_left_alone(site, tmp_path):
    foreign = shutil.copytree(site, tmp_path / "foreign")
    (foreign / ".captionlab-site").unlink()
    before = sorted(foreign.rglob("*"))
    done = build(foreign)
    assert done.returncode == 1
    assert "holds something else than this site" in done.stderr
    assert sorted(foreign.rglob("*")) == before


def test_a_site_of_ours_is_built_anew(site, results, tmp_path):
    old = shutil.copytree(site, tmp_path / "old")
    (old / "page-of-before.html").write_text("")
    done = build(old, "--results", results)
    assert (done.returncode, done.stderr) == (0, "")
    assert not (old / "page-of-before.html").exists()


def test_results_without_tables_are_named(tmp_path):
    done = build(tmp_path / "site", "--results", tmp_path)
    assert done.returncode == 1
    assert done.stderr == (
        f"{tmp_path} has no tables/index.md; name the folder results/ of a run that made all of its tables\n"
    )
    assert not (tmp_path / "site").exists()


@pytest.fixture
def address(site) -> Iterator[str]:
    """Where a server has the site."""

    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, *arguments: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=site)) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture
def page(tmp_path) -> Iterator[Page]:
    with browser(tmp_path / "profile", tmp_path) as page:
        yield page
    assert page.errors == []


@pytest.mark.skipif(program() is None, reason="no Chromium: apt-get install chromium")
def test_no_page_is_wider_than_a_phone(page, address, pages):
    page.size(390, 844, True)
    for name in sorted(name.removeprefix(SITE) for name in pages if "/gallery/" not in name):
        page.open(f"{address}/{name}")
        assert page.run("document.documentElement.scrollWidth") <= 390, name


@pytest.mark.skipif(program() is None, reason="no Chromium: apt-get install chromium")
def test_the_search_finds_words_of_pages_and_of_docstrings(page, address):
    assert_found(page, address)


@pytest.mark.skipif(program() is None, reason="no Chromium: apt-get install chromium")
def test_the_search_works_from_the_disk(page, site):
    assert_found(page, site.as_uri())
    page.open((site / "docs" / "tutorial.html").as_uri())  # from another folder, by the box of each page
    page.run("document.querySelector('#rtd-search-form input').value = 'distractors baseline'")
    page.run("document.querySelector('#rtd-search-form').submit()")
    links = "[...document.querySelectorAll('#properdocs-search-results a')]"
    page.wait(f"{links}.length")
    page.open(page.run(f"{links}[0].href"))
    assert "distractors" in page.text()


@pytest.mark.skipif(program() is None, reason="no Chromium: apt-get install chromium")
def test_words_that_no_page_has_are_not_found(page, site):
    page.open(f"{site.as_uri()}/search.html?q=xyzzyplugh")
    page.wait("document.querySelector('#properdocs-search-results').textContent.includes('No results')")


def assert_found(page: Page, address: str) -> None:
    """Words of pages and of docstrings are found."""
    for words, name in {"distractors baseline": "docs/", "CIDEr-D Vedantam": "reference/"}.items():
        page.open(f"{address}/search.html?q={words.replace(' ', '+')}")
        links = "[...document.querySelectorAll('#properdocs-search-results a')]"
        page.wait(f"{links}.length")
        found = page.run(f"{links}.map((a) => a.getAttribute('href'))")
        assert any(name in where for where in found), found
