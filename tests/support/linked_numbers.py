"""Follow the links of a run's pages to the captions behind a number, and read the number there."""

import html
import json
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qs

from support.chromium import Page

LINK = re.compile(r'<a[^>]*href="[^"]*browser/index\.html#([^"]+)"[^>]*>(.*?)</a>', re.DOTALL)
# Chromium lets an address change 200 times in 10 s, so the page is asked without its address.
FOLLOW = """((addresses) => addresses.map((address) => {
  state = completed({ ...DEFAULTS, ...Object.fromEntries(new URLSearchParams(address)) }, view);
  drawNumber(view);
  const terms = [...byId("facts").querySelectorAll("dt")].map((one) => one.textContent);
  const commands = [...byId("facts").querySelectorAll(".command")].map((one) => one.textContent);
  return [byId("number").hidden ? "" : byId("printed-number").textContent, terms, commands];
}))"""


class Followed(NamedTuple):
    """A link of a page, the number that it carries, and what the browser of captions says of it."""

    file: str
    text: str
    printed: str
    shown: str
    terms: list[str]
    commands: list[str]


def follow(results: Path, page: Page) -> Iterator[Followed]:
    """Follow every link that carries a number, from the first page and all table pages of a run."""
    links = defaultdict(list)
    for path in (results / "index.html", *sorted((results / "tables").glob("*.html"))):
        for address, content in LINK.findall(path.read_text(encoding="utf-8")):
            state = parse_qs(html.unescape(address))
            if "printed" in state:
                text = " ".join(html.unescape(re.sub("<[^>]+>", " ", content)).split())
                link = (path.name, html.unescape(address), text, state["printed"][0])
                links[state["corpus"][0], state["evaluation"][0]].append(link)
    for of_view in links.values():
        page.open("about:blank")
        page.open(f"{(results / 'browser/index.html').as_uri()}#{of_view[0][1]}")
        page.wait("performance.getEntriesByName('captions shown').length")
        found = page.run(f"{FOLLOW}({json.dumps([address for _, address, _, _ in of_view])})")
        for (file, _, text, printed), shown in zip(of_view, found, strict=True):
            yield Followed(file, text, printed, *shown)
