"""Model cards as HTML."""

import posixpath
import re
from collections.abc import Callable, Iterator, Sequence
from urllib.parse import quote, unquote

from markdown_it import MarkdownIt
from markdown_it.token import Token

from captionlab.storage import paths

_FRONT = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)


def card_html(card: str, section: str, name: str, page_of: Callable[[str, str], str | None]) -> str:
    """Return a model card as HTML, without its metadata and without its title.

    HTML in a card is shown as text. A link to the card of another model leads to the page of that card, whose address
    `page_of` returns for a section and a name; any other link of a file leads to the file, from a folder beside the
    sections.
    """
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = parser.parse(_FRONT.sub("", card))
    if tokens and tokens[0].type == "heading_open" and tokens[0].tag == "h1":
        tokens = tokens[3:]
    for token in _every(tokens):
        href = str(token.attrs.get("href", ""))
        if token.type == "link_open" and not re.match(r"[a-z]+:|#", href):
            token.attrs["href"] = _address(href, section, name, page_of)
    return str(parser.renderer.render(list(_in_regions(tokens)), parser.options, {}))


def _every(tokens: Sequence[Token]) -> Iterator[Token]:
    """Yield tokens and the tokens inside them."""
    for token in tokens:
        yield token
        yield from _every(token.children or ())


def _address(href: str, section: str, name: str, page_of: Callable[[str, str], str | None]) -> str:
    file = posixpath.normpath(posixpath.join(section, name, unquote(href)))
    of, _, model = file.removesuffix(f"/{paths.CARD}").partition("/")
    page = page_of(of, model) if file.endswith(f"/{paths.CARD}") else None
    return page or f"../{quote(file, safe='/@')}"


def _in_regions(tokens: Sequence[Token]) -> Iterator[Token]:
    """Yield tokens, each table in a region that scrolls where the table is wider than the page."""
    for token in tokens:
        if token.type == "table_open":
            yield Token("region_open", "div", 1, attrs={"class": "scroll", "tabindex": "0"}, block=True)
        yield token
        if token.type == "table_close":
            yield Token("region_close", "div", -1, block=True)
