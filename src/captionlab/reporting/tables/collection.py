"""The folder of all tables: flat copies of the tables of all papers, with an index in HTML and Markdown."""

import html
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from markupsafe import Markup, escape

from captionlab.reporting.paper import FIGURE_FILES
from captionlab.reporting.tables.footnotes import figure_title, titled
from captionlab.reporting.tables.formats.markdown import escape_markdown
from captionlab.reporting.tables.render import FORMATS
from captionlab.reporting.templates import template
from captionlab.storage.files import replacing, replacing_folder
from captionlab.storage.paths import PICTURES, TABLES

File = str | os.PathLike[str]

TITLE = "Tables and figures of this run"
# Snakemake keeps the time stamp of a folder in a file with this name.
STAMP = ".snakemake_timestamp"
# Part of the name of a table or figure that has a number in its paper.
_NUMBERED = re.compile(r"(table|figure)(\d+)")


@dataclass(frozen=True)
class Listed:
    """Entries of the index beside the tables: citations of papers, figures with labels, and further pages.

    `papers` maps names to citations, in their order. `figures` are the files of figures; the PNG is shown. `labels`
    maps the name of a figure to its label. `pages` maps a file to a title and a sentence. `caveats` are in every title.
    `tables_of_figures` maps the name of a figure to the table with its numbers.
    """

    papers: Mapping[str, str] = field(default_factory=dict)
    figures: Sequence[File] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    pages: Mapping[str, Sequence[str]] = field(default_factory=dict)
    caveats: Sequence[str] = ()
    tables_of_figures: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class _Entry:
    """An entry of the index: its main link, further links by their texts, and perhaps a picture."""

    name: str
    title: str
    sentence: str
    link: str
    links: Mapping[str, str] = field(default_factory=dict)
    picture: str = ""


@dataclass(frozen=True)
class _Group:
    """Entries of the index that belong to the run itself or to a paper, below a title and perhaps a citation."""

    name: str
    title: str
    citation: str
    pages: Sequence[_Entry]
    figures: Sequence[_Entry]
    tables: Sequence[_Entry]


def collect_one(file: File, copy: File) -> None:
    """Copy a table into the folder of all tables, together with its pictures.

    If the folder holds only some of the tables, Snakemake takes it to be out of date.
    """
    file, copy = Path(file), Path(copy)
    pictures = sorted((file.parent / PICTURES).glob(f"{file.stem}-*.png")) if file.suffix == ".tex" else []
    for source, target in ((file, copy), *((one, copy.parent / PICTURES / one.name) for one in pictures)):
        with replacing(target) as partial:
            shutil.copyfile(source, partial)
    stamp = copy.with_name(STAMP)
    if not stamp.exists():
        stamp.touch()
        os.utime(stamp, (1, 1))  # older than any table; Snakemake takes 0 for no time stamp


def collect(
    files: Sequence[File], directory: File, pictures: Sequence[File] = (), listed: Listed | None = None
) -> None:
    """Replace `directory` by a folder that holds exactly these files and an index.

    The folder appears only when it is complete. `pictures` are folders with pictures of the LaTeX tables. Raises
    ValueError if two files have the same name.
    """
    paths = [Path(file) for file in files]
    names = [path.name for path in paths]
    if repeated := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"two tables are called {repeated[0]!r}; the folder of tables is flat, so rename one")
    with replacing_folder(Path(directory)) as partial:
        for path in sorted(paths):
            shutil.copyfile(path, partial / path.name)
        for picture in (one for folder in pictures for one in sorted(Path(folder).iterdir())):
            (partial / PICTURES).mkdir(exist_ok=True)
            shutil.copyfile(picture, partial / PICTURES / picture.name)
        for name, text in _index(partial, listed or Listed()).items():
            (partial / name).write_text(text, encoding="utf-8")


# ----------------------------------------------------------------------------------------------------------- the index
def _index(directory: Path, listed: Listed) -> dict[str, str]:
    """Return the files of the index: a link to the table of validity, the run's own group, and a group per paper.

    A group lists figures and tables.
    """
    tables, figures = list(_tables(directory)), list(_figures(directory, listed))
    pages = [
        _Entry(page, titled(title, listed.caveats), sentence, os.path.relpath(page, TABLES))
        for page, (title, sentence) in listed.pages.items()
    ]
    groups = []
    for name, title, citation in (
        ("run", "This run", ""),
        *((name, name, cited) for name, cited in listed.papers.items()),
    ):
        own = [[entry for entry in entries if _group(entry.name, listed) == name] for entries in (figures, tables)]
        groups.append(_Group(name, title, citation, pages if name == "run" else [], *own))
    values = {
        "title": titled(TITLE, listed.caveats),
        "valid": [table for table in tables if table.name == "validity"],
        "groups": [group for group in groups if group.pages or group.figures or group.tables],
    }
    page = template("index.html.jinja", cited=_cited).render(values)
    text = template("index.md.jinja", md=escape_markdown).render(values)
    return {"index.html": page, "index.md": text.rstrip() + "\n"}


def _tables(directory: Path) -> Iterator[_Entry]:
    """Yield an entry for each table: its title, the first sentence of its description, and links to its formats."""
    for name in sorted({path.stem for path in directory.iterdir() if path.is_file()}, key=_order):
        formats = [ending for ending in FORMATS if (directory / f"{name}.{ending}").exists()]
        page = directory / f"{name}.html"
        content = page.read_text(encoding="utf-8") if page.exists() else ""
        title, described = _text_of("title", content) or name, ("caption", 'p class="description"', "p")
        description = next(filter(None, (_text_of(element, content) for element in described)), "")
        links = {ending: f"{name}.{ending}" for ending in formats}
        sentence = re.split(r"(?<=[.]) (?=[A-Z])", description)[0]
        yield _Entry(name, title, sentence, links["html"] if "html" in links else next(iter(links.values())), links)


def _figures(directory: Path, listed: Listed) -> Iterator[_Entry]:
    """Yield an entry for each figure that has a PNG, sorted by name. Its other formats are links."""
    files: dict[str, dict[str, str]] = {}
    endings = sorted(FIGURE_FILES, key=len, reverse=True)  # longest first, because an ending can be the end of another
    for path in map(Path, listed.figures):
        ending = next(one for one in endings if path.name.endswith(one))
        files.setdefault(path.name.removesuffix(ending), {})[ending] = os.path.relpath(path, directory)
    for name in sorted(files, key=_order):
        links = {_format(ending): files[name][ending] for ending in FIGURE_FILES if ending in files[name]}
        if picture := links.pop("png", None):
            title = figure_title(name, listed.labels.get(name, name), listed.caveats)
            page = links.pop("html", picture)
            table = listed.tables_of_figures.get(name, "")
            beside = {"table": f"{table}.html"} if (directory / f"{table}.html").exists() else {}
            yield _Entry(name, title, "", page, {**beside, "png": picture, **links}, picture)


def _format(ending: str) -> str:
    """Return a file ending of figures as text for readers, for example `pdf` or `column pdf`."""
    return ending.lstrip("._").replace(".", " ")


def _order(name: str) -> tuple[str, int, int, list[tuple[str, int]]]:
    """Return the sort key of a name: by paper, then tables by number, figures by number, and everything else."""
    parts = [(text, int(digits or 0)) for text, digits in re.findall(r"(\D*)(\d*)", name)]
    number = _NUMBERED.search(name)
    kind, place = (("table", "figure").index(number[1]), int(number[2])) if number else (2, 0)
    return name.split("_")[0], kind, place, parts


def _group(name: str, listed: Listed) -> str:
    start = name.split("_")[0]
    return start if start in listed.papers else "run"


def _cited(citation: str) -> Markup:
    """Return a Markdown citation as HTML; the text between stars is the title."""
    return Markup(re.sub(r"\*(.+?)\*", r"<cite>\1</cite>", str(escape(citation))))


def _text_of(element: str, page: str) -> str:
    """Return the text of the first element, a tag with or without attributes, in a page of a table."""
    found = re.search(rf"<{element}(?: [^>]*)?>(.*?)</{element.split()[0]}>", page, re.DOTALL)
    return html.unescape(found[1]) if found else ""
