"""The folder of all tables: flat copies of what the papers' rules made, with an index in HTML and Markdown."""

import html
import os
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from captionlab.reporting.render import FORMATS, escape_markdown, html_page

TITLE = "Tables of this run"


@dataclass(frozen=True)
class Entry:
    """A table of the folder: the stem of its files, its title and description, and its formats."""

    name: str
    title: str
    description: str
    formats: Sequence[str]


def collect(files: Sequence[str | os.PathLike[str]], directory: str | os.PathLike[str]) -> None:
    """Make `directory` hold these files and an index, and nothing else; it appears at once when all is there."""
    paths = [Path(file) for file in files]
    names = [path.name for path in paths]
    if repeated := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"two tables are called {repeated[0]!r}; the folder of tables is flat, so rename one")
    directory = Path(directory)
    partial, old = (directory.with_name(f".{directory.name}.{end}") for end in ("partial", "old"))
    for leftover in (partial, old):
        shutil.rmtree(leftover, ignore_errors=True)
    partial.mkdir(parents=True)
    try:
        for path in sorted(paths):
            shutil.copyfile(path, partial / path.name)
        entries = _entries(partial)
        (partial / "index.html").write_text(_index_html(entries), encoding="utf-8")
        (partial / "index.md").write_text(_index_markdown(entries), encoding="utf-8")
        if directory.exists():
            os.replace(directory, old)
        os.replace(partial, directory)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    shutil.rmtree(old, ignore_errors=True)


def _entries(directory: Path) -> list[Entry]:
    entries = []
    for name in sorted({path.stem for path in directory.iterdir()}):
        formats = [ending for ending in FORMATS if (directory / f"{name}.{ending}").exists()]
        page = directory / f"{name}.html"
        content = page.read_text(encoding="utf-8") if page.exists() else ""
        description = re.split(r"(?<=[.]) ", _text_of("caption", content))[0]  # its first sentence
        entries.append(Entry(name, _text_of("title", content) or name, description, formats))
    return entries


def _text_of(tag: str, page: str) -> str:
    """Text of the first such element of a page that `captionlab.reporting.render` made."""
    found = re.search(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
    return html.unescape(found[1]) if found else ""


def _index_html(entries: Sequence[Entry]) -> str:
    parts = []
    for entry in entries:
        name = html.escape(entry.name)
        links = " · ".join(f'<a href="{name}.{ending}">{ending}</a>' for ending in entry.formats)
        main = "html" if "html" in entry.formats else next(iter(entry.formats), "")
        parts.append(f'<h2><a href="{name}.{main}">{html.escape(entry.title)}</a></h2>')
        parts.append(f"<p>{html.escape(entry.description)}<br>{links}</p>")
    return html_page(TITLE, "\n".join(parts))


def _index_markdown(entries: Sequence[Entry]) -> str:
    lines = [f"# {TITLE}", ""]
    for entry in entries:
        links = ", ".join(f"[{ending}]({entry.name}.{ending})" for ending in entry.formats)
        lines.append(f"- **{escape_markdown(entry.title)}** ({links}): {escape_markdown(entry.description)}")
    return "\n".join(lines) + "\n"
