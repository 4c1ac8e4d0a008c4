"""Where the links of a page of claims lead: the cells of the tables beside it."""

import re
from dataclasses import dataclass
from html.parser import HTMLParser
from itertools import groupby
from pathlib import Path


@dataclass(frozen=True)
class Followed:
    """A link of a comparison, the line that the comparison stands in, and the cell of the table that it leads to."""

    comparison: int  # by their order on the page
    line: str
    label: str
    number: str  # as the link has it
    shown: str  # in the cell
    value: float


class _Cells(HTMLParser):
    """The cells of a page that have an address: their first line and their number."""

    def __init__(self, page: Path):
        super().__init__()
        self.cells: dict[str, tuple[str, float | None]] = {}
        self.inside = ""
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        if tag == "td" and "id" in found:
            assert found["id"] not in self.cells, found["id"]
            self.inside = found["id"]
            self.cells[self.inside] = "", float(found["data-value"]) if "data-value" in found else None
        elif tag in ("td", "small", "sup"):
            self.inside = ""

    def handle_data(self, data):
        if self.inside:
            text, value = self.cells[self.inside]
            self.cells[self.inside] = text + data, value


class _Lines(HTMLParser):
    """The links to cells of a page of claims, with what stands before them in their line."""

    def __init__(self, page: Path):
        super().__init__()
        self.comparison, self.line, self.address = 0, "", ""
        self.links: list[tuple[int, str, str, str]] = []
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        if tag == "dd":
            self.comparison, self.line = self.comparison + 1, ""
        if tag == "a":
            self.address = dict(attributes)["href"]

    def handle_endtag(self, tag):
        self.address = "" if tag == "a" else self.address

    def handle_data(self, data):
        if self.address and "#" in self.address and not self.address.startswith(".."):
            self.links.append((self.comparison, self.line, data, self.address))
        elif not self.address:
            self.comparison += data.count("\n")
            self.line = (self.line + data).rpartition("\n")[2]


def followed(claims: Path, folder: Path) -> list[Followed]:
    """Every link of the page to a cell, followed to the pages of tables in the folder; each must lead to a cell."""
    tables: dict[str, dict[str, tuple[str, float | None]]] = {}
    found = []
    for comparison, line, text, address in _Lines(claims).links:
        page, _, place = address.partition("#")
        if page not in tables:
            tables[page] = _Cells(folder / page).cells
        shown, value = tables[page][place]
        label, _, number = text.rpartition(" ")
        assert value is not None, address
        of_line = line.partition(" \N{RIGHTWARDS ARROW} ")[0]
        found.append(Followed(comparison, of_line, label, number, shown.split()[0], value))
    return found


def differing(links: list[Followed]) -> tuple[int, list[str]]:
    """How many comparisons lead to their difference or to both of its sides, and the lines of those of other numbers.

    A nearness or non-inferiority follows from the difference that it leads to.
    """
    checked, other = 0, []
    for _, group in groupby(links, key=lambda link: link.comparison):
        first, *second = group
        near = any(kind in first.line for kind in ("nearness of", "non-inferiority of"))
        if near or not (second or first.label == "difference"):
            continue
        number, half = difference_in(first.line)
        found = first.value - sum(link.value for link in second)
        checked += 1
        if abs(found - number) > 1.001 * half:
            other.append(f"{first.line}: {found}")
    return checked, other


def difference_in(line: str) -> tuple[float, float]:
    """The difference that a line prints, before its interval, and half of its last decimal."""
    printed = re.findall(r"([+-]\d+(?:\.(\d+))?) \[", line)
    (number, decimals) = printed[-1]
    return float(number), 0.5 * 10 ** -len(decimals)
