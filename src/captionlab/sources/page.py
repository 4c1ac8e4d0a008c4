"""The tables of docs/data.md, generated from the table of sources.

`python -m captionlab.sources.page` writes them again, between the lines `<!-- sources: section -->` and `<!-- end -->`.
"""

import re

from captionlab.installation import PROJECT
from captionlab.sources.table import Source, read_sources

PAGE = PROJECT / "docs" / "data.md"
_TABLE = re.compile(r"(<!-- sources: ([a-z ]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def with_tables(text: str, sources: list[Source]) -> str:
    """Return the text of a page with its tables regenerated from the sources."""
    return _TABLE.sub(lambda found: f"{found[1]}{_table(found[2], sources)}{found[3]}", text)


def _table(section: str, sources: list[Source]) -> str:
    lines = [["put here", "what it is", "where it comes from", "size", "licence", "becomes"], ["---"] * 6]
    for source in sources:
        if source.section == section:
            places = ", ".join(f"`{place}`" for place in source.places)
            size = "" if source.bytes is None else _size(source)
            lines.append([places, source.what, _origin(source), size, source.licence, source.becomes])
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n" for line in lines)


def _size(source: Source) -> str:
    return f"{source.size:,} bytes" if isinstance(source.size, int) else f"{source.size}"


def _origin(source: Source) -> str:
    """Return the origin of a source as Markdown: addresses with the text that states them, or what to do by hand."""
    if source.by_hand:
        return f"{source.origin}. **By hand:** {source.by_hand}"
    if source.repository:
        files = ", ".join(f"`{file}`" for file in source.places.values())
        return f"{source.origin}: `{source.repository}`, {files}"
    links = ", ".join(f"[{'or' if number else 'address'}]({url})" for number, url in enumerate(source.addresses))
    return (
        f"{source.origin}: {links} (stated by: {source.seen})"
        if source.seen
        else f"{source.origin}: {links}, unchecked"
    )


if __name__ == "__main__":
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8"), read_sources()), encoding="utf-8")
