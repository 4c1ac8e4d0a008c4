"""The folder of all tables: flat copies of what the papers' rules made, with an index in HTML and Markdown."""

import html
import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from captionlab.files import replacing
from captionlab.reporting.formats.html import html_page
from captionlab.reporting.formats.markdown import escape_markdown
from captionlab.reporting.render import FORMATS

TITLE = "Tables of this run"
# Snakemake keeps the time stamp of a folder in such a file.
STAMP = ".snakemake_timestamp"


def collect_one(file: str | os.PathLike[str], copy: str | os.PathLike[str]) -> None:
    """Copy a table into the directory of all tables; where that holds a few, Snakemake takes it to be out of date."""
    with replacing(copy) as partial:
        shutil.copyfile(file, partial)
    stamp = Path(copy).with_name(STAMP)
    if not stamp.exists():
        stamp.touch()
        os.utime(stamp, (1, 1))  # older than any table; 0 is none to Snakemake


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
        for name, text in _index(partial).items():
            (partial / name).write_text(text, encoding="utf-8")
        if directory.exists():
            os.replace(directory, old)
        os.replace(partial, directory)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    shutil.rmtree(old, ignore_errors=True)


def _index(directory: Path) -> dict[str, str]:
    """The files of an index of the tables: of each the title, the first sentence of its description, its formats."""
    parts, lines = [], [f"# {TITLE}", ""]
    for name in sorted({path.stem for path in directory.iterdir()}):
        formats = [ending for ending in FORMATS if (directory / f"{name}.{ending}").exists()]
        page = directory / f"{name}.html"
        content = page.read_text(encoding="utf-8") if page.exists() else ""
        title, description = _text_of("title", content) or name, _text_of("caption", content)
        sentence, file = re.split(r"(?<=[.]) ", description)[0], html.escape(name)
        links = " · ".join(f'<a href="{file}.{ending}">{ending}</a>' for ending in formats)
        main = "html" if "html" in formats else next(iter(formats), "")
        parts.append(f'<h2><a href="{file}.{main}">{html.escape(title)}</a></h2>')
        parts.append(f"<p>{html.escape(sentence)}<br>{links}</p>")
        links = ", ".join(f"[{ending}]({name}.{ending})" for ending in formats)
        lines.append(f"- **{escape_markdown(title)}** ({links}): {escape_markdown(sentence)}")
    return {"index.html": html_page(TITLE, "\n".join(parts)), "index.md": "\n".join(lines) + "\n"}


def _text_of(tag: str, page: str) -> str:
    """Text of the first such element of a page that `captionlab.reporting.formats.html` made."""
    found = re.search(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
    return html.unescape(found[1]) if found else ""
