"""The Markdown files, as they are read on GitHub: links lead somewhere, and the site shows the same as GitHub does."""

import importlib.util
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path

import markdown
import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).parents[2]
FILES = sorted(
    subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.split()
)  # fmt: skip
PAGES = [name for name in FILES if Path(name).parent.as_posix() in (".", "config", "docs")]
GITHUB = MarkdownIt("commonmark").enable("table")
# Elements that both renderers make alike; whether the text of an item is a paragraph is seen by nobody.
STRUCTURE = ("h1", "h2", "h3", "h4", "ol", "ul", "li", "pre", "code", "table", "tr", "td", "th", "img", "a", "strong")


def tokens(text: str) -> Iterator[Token]:
    """Blocks of a Markdown text and what is in them."""
    for token in GITHUB.parse(text):
        yield token
        yield from token.children or []


@cache
def anchors(path: Path) -> set[str]:
    """Names that GitHub gives the headings of a Markdown file."""
    blocks = GITHUB.parse(path.read_text(encoding="utf-8"))
    heads = [after for before, after in pairwise(blocks) if before.type == "heading_open"]
    texts = ["".join(part.content for part in head.children) for head in heads]
    return {re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-") for text in texts}


def test_there_are_pages():
    assert {"README.md", "CONTRIBUTING.md", "config/README.md", "docs/architecture.md"} <= set(PAGES)


@pytest.mark.parametrize("name", FILES)
def test_links_lead_to_a_file_and_a_heading(name):
    wrong = []
    for token in tokens((ROOT / name).read_text(encoding="utf-8")):
        target = token.attrGet("href") or token.attrGet("src")
        if target is None or re.match(r"(https?|mailto):", target):
            continue
        path, _, anchor = target.partition("#")
        path = (ROOT / name).parent / path if path else ROOT / name
        if not path.exists() or (anchor and anchor not in anchors(path)):
            wrong.append(target)
    assert wrong == []


def test_a_heading_is_named_as_on_github(tmp_path):
    (tmp_path / "a.md").write_text("# What runs again, and why\n\n## `corpora`\n\n### One: a b_c (d)\n")
    assert anchors(tmp_path / "a.md") == {"what-runs-again-and-why", "corpora", "one-a-b_c-d"}


@pytest.mark.parametrize("name", PAGES)
def test_the_site_shows_what_github_shows(name):
    """Python-Markdown, which makes the site, wants four columns and an empty line in places where GitHub does not."""
    spec = importlib.util.spec_from_file_location("pages", ROOT / "docs" / "pages.py")
    pages = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(pages)
    text = (ROOT / name).read_text(encoding="utf-8")
    extensions = [pages.NestedLists(), "tables", "pymdownx.superfences", "pymdownx.highlight"]
    assert structure(markdown.markdown(text, extensions=extensions)) == structure(GITHUB.render(text))


def structure(html: str) -> Counter[str]:
    """How often each element of STRUCTURE begins."""
    return Counter(tag for tag in re.findall(r"<(\w+)", html) if tag in STRUCTURE)
