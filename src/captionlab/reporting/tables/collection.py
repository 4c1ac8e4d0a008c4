"""The folder of all tables: flat copies of the tables of all papers, with an index in HTML and Markdown."""

import html
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from captionlab.reporting.paper import FIGURE_FILES
from captionlab.reporting.tables.formats.markdown import escape_markdown
from captionlab.reporting.tables.formats.page import html_page
from captionlab.reporting.tables.render import FORMATS
from captionlab.storage.files import replacing, replacing_folder
from captionlab.storage.paths import PICTURES

File = str | os.PathLike[str]

TITLE = "Tables and figures of this run"
REPORT = "snakemake --report report.html"  # no rule makes the report, so the index cannot link to it
# Snakemake keeps the time stamp of a folder in a file with this name.
STAMP = ".snakemake_timestamp"
# Part of the name of a table or figure that has a number in its paper.
_NUMBERED = re.compile(r"(table|figure)(\d+)")
_STYLE = """
.groups, .figures, .tables { list-style: none; padding: 0; max-width: none; }
.groups { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; }
.figures { display: grid; grid-template-columns: repeat(auto-fill, minmax(9.5rem, 1fr)); gap: 1rem; margin: 1rem 0; }
.figures img { display: block; width: 100%; height: 7rem; object-fit: contain; background: #fff; margin-bottom: .3rem;
  border: 1px solid var(--line); border-radius: 3px; padding: .3rem; }
.figures li { font-size: .85em; line-height: 1.35; }
.tables { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 26rem), 1fr)); gap: .9rem 2.5rem; }
.tables p { margin: .1rem 0 0; color: var(--soft); font-size: .9em; }
.formats { font-size: .85em; }
"""


@dataclass(frozen=True)
class Listed:
    """Entries of the index beside the tables: citations of papers, figures with labels, and further pages.

    `papers` maps names to citations, in their order. `figures` are the files of figures; the PNG is shown. `labels`
    maps the name of a figure to its label. `pages` maps a file to a title and a sentence.
    """

    papers: Mapping[str, str] = field(default_factory=dict)
    figures: Sequence[File] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    pages: Mapping[str, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class _Entry:
    """An entry of the index: its main link, further links by their texts, and perhaps a picture."""

    name: str
    title: str
    sentence: str
    link: str
    links: Mapping[str, str] = field(default_factory=dict)


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
    beside = f"Tables and figures in one page: <code>{REPORT}</code>, with the options of the run."
    tables, figures = list(_tables(directory)), list(_figures(directory, listed))
    pages = [
        _Entry(page, title, sentence, os.path.relpath(page, directory))
        for page, (title, sentence) in listed.pages.items()
    ]
    valid = [one for one in tables if one.name == "validity"]
    parts = [f"<p>{beside}</p>"]
    lines = [f"# {TITLE}", "", *(f"[{escape_markdown(one.sentence)}]({one.link})\n" for one in valid)]
    lines += [re.sub("</?code>", "`", beside), ""]
    groups = [("run", "This run", ""), *((name, name, cited) for name, cited in listed.papers.items())]
    shown = []
    for group, title, cited in groups:
        own = [[one for one in found if _group(one.name, listed) == group] for found in (figures, tables)]
        if any(own) or (group == "run" and pages):
            shown.append(f'<li><a href="#{group}">{html.escape(title)}</a></li>')
            named = pages if group == "run" else []
            parts += [f'<section aria-labelledby="{group}">', f'<h2 id="{group}">{html.escape(title)}</h2>']
            parts += [f"<p>{_cited(cited)}</p>"] if cited else []
            parts += [*_figures_html(own[0]), *_list_html([*named, *own[1]]), "</section>"]
            lines += [f"## {escape_markdown(title)}", "", *([cited, ""] if cited else [])]
            lines += [f"- [{escape_markdown(one.title)}]({one.link}){_rest(one.sentence)}" for one in [*named, *own[0]]]
            for one in own[1]:
                links = ", ".join(f"[{ending}]({link})" for ending, link in one.links.items())
                lines.append(f"- **{escape_markdown(one.title)}** ({links}): {escape_markdown(one.sentence)}")
            lines.append("")
    if len(shown) > 1:
        parts.insert(0, f'<nav aria-label="Groups"><ul class="groups">{"".join(shown)}</ul></nav>')
    parts[:0] = [f'<p><a href="{html.escape(one.link)}">{html.escape(one.sentence)}</a></p>' for one in valid]
    page = html_page(TITLE, "\n".join(parts), style=_STYLE, up=False)
    return {"index.html": page, "index.md": "\n".join(lines).rstrip() + "\n"}


def _tables(directory: Path) -> Iterator[_Entry]:
    """Yield an entry for each table: its title, the first sentence of its description, and links to its formats."""
    for name in sorted({path.stem for path in directory.iterdir() if path.is_file()}, key=_order):
        formats = [ending for ending in FORMATS if (directory / f"{name}.{ending}").exists()]
        page = directory / f"{name}.html"
        content = page.read_text(encoding="utf-8") if page.exists() else ""
        title, description = _text_of("title", content) or name, _text_of("caption", content) or _text_of("p", content)
        links = {ending: f"{name}.{ending}" for ending in formats}
        sentence = re.split(r"(?<=[.]) ", description)[0]
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
        if shown := links.pop("png", None):
            number, label = _NUMBERED.search(name), listed.labels.get(name, name)
            if label[0].isdigit():  # some labels begin with the number
                label = f"Figure {label}"
            elif number:
                label = f"Figure {number[2]}: {label}"
            yield _Entry(name, label, "", shown, links)


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


def _cited(citation: str) -> str:
    """Return a Markdown citation as HTML; the text between stars is the title."""
    return re.sub(r"\*(.+?)\*", r"<cite>\1</cite>", html.escape(citation))


def _rest(sentence: str) -> str:
    return f": {escape_markdown(sentence)}" if sentence else ""


def _figures_html(figures: Sequence[_Entry]) -> list[str]:
    items = []
    for one in figures:
        title, link = html.escape(one.title), html.escape(one.link)
        others = " · ".join(f'<a href="{html.escape(file)}">{ending}</a>' for ending, file in one.links.items())
        items.append(
            f'<li><a href="{link}"><img src="{link}" alt="" loading="lazy">{title}</a>'
            f"{f'<br>{others}' if others else ''}</li>"
        )
    return ['<ul class="figures">', *items, "</ul>"] if items else []


def _list_html(entries: Sequence[_Entry]) -> list[str]:
    items = []
    for one in entries:
        links = " · ".join(f'<a href="{html.escape(file)}">{ending}</a>' for ending, file in one.links.items())
        items.append(
            f'<li><a href="{html.escape(one.link)}">{html.escape(one.title)}</a>'
            f'<p>{html.escape(one.sentence)}</p>{f"""<span class="formats">{links}</span>""" if links else ""}</li>'
        )
    return ['<ul class="tables">', *items, "</ul>"] if items else []


def _text_of(tag: str, page: str) -> str:
    """Return the text of the first element with this tag in a page of `reporting.tables.formats.html`."""
    found = re.search(rf"<{tag}(?: [^>]*)?>(.*?)</{tag}>", page, re.DOTALL)
    return html.unescape(found[1]) if found else ""
