"""What the documentation site is made of, as hooks of ProperDocs: `properdocs.yml` names this file.

A page lies on the site where it lies in the repository, so the links of the Markdown files lead there as they do on
GitHub. The Python reference and the gallery have no file: they are written here, from the packages and a run's results.
"""

import ast
import json
import re
import tomllib
from itertools import chain
from pathlib import Path

from markdown import Extension, Markdown
from markdown.blockprocessors import build_block_parser
from properdocs.config.defaults import ProperDocsConfig
from properdocs.structure.files import File, Files
from properdocs.structure.pages import Page
from pygments.formatters import HtmlFormatter

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "captionlab"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
# Where the modules that are no package are described together.
MODULES = "reference/captionlab.md"


class NestedLists(Extension):
    """Blocks within lists as on GitHub, where two columns of indentation are enough, and not four."""

    def extendMarkdown(self, md: Markdown) -> None:
        """Make the parser of blocks anew, which keeps the indentation; no other extension may have come before."""
        md.tab_length = 2
        md.parser = build_block_parser(md)


def on_config(config: ProperDocsConfig) -> ProperDocsConfig:
    """Complete the configuration with the address, the version and the packages in floor order."""
    config.repo_url, config.repo_name = PROJECT["project"]["urls"]["Repository"], "GitHub"
    config.edit_uri = "edit/main/"
    config.copyright = f"captionlab {PROJECT['project']['version']}"
    config.markdown_extensions.insert(0, NestedLists())
    [reference] = [section["Python reference"] for section in config.nav if "Python reference" in section]
    reference += [{name: f"reference/{name}.md"} for name in chain.from_iterable(floors()) if is_package(name)]
    reference.append({"Modules": MODULES})
    return config


def on_files(files: Files, config: ProperDocsConfig) -> Files:
    """Return the files of the site: theme, Markdown of the repository, images, reference and gallery."""
    kept = [file for file in files if file.src_dir != config.docs_dir]
    repository = [
        File(path.relative_to(ROOT).as_posix(), str(ROOT), config.site_dir, config.use_directory_urls)
        for pattern in ("*.md", "config/*.md", "docs/*.md", "docs/**/*.png", "docs/*.css", "docs/*.js")
        for path in sorted(ROOT.glob(pattern))
    ]
    # Colours of code, which the theme leaves to a script from elsewhere.
    colours = HtmlFormatter(style="friendly").get_style_defs(".highlight")
    written = [File.generated(config, name, content=text) for name, text in reference_pages().items()]
    written.append(File.generated(config, "colours.css", content=colours))
    return Files([*kept, *repository, *written, *gallery_files(config)])


def on_page_markdown(markdown: str, page: Page, config: ProperDocsConfig, files: Files) -> str:
    """Let links to files of the repository that are no pages lead to the repository."""
    folder = (ROOT / page.file.src_uri).parent

    def elsewhere(link: re.Match[str]) -> str:
        path = (folder / link[1]).resolve()
        if not path.is_relative_to(ROOT) or not path.exists() or files.get_file_from_path(path.relative_to(ROOT)):
            return link[0]
        return f"]({config.repo_url}/blob/main/{path.relative_to(ROOT).as_posix()})"

    return re.sub(r"\]\(([^()#\s:]+)\)", elsewhere, markdown)


def on_post_build(config: ProperDocsConfig) -> None:
    """Write the index of the search as a script, which pages can load without a server."""
    folder = Path(config.site_dir, "search")
    sections = json.loads((folder / "search_index.json").read_text(encoding="utf-8"))["docs"]
    (folder / "index.js").write_text(f"window.searchIndex = {json.dumps(sections)};\n", encoding="utf-8")


def floors() -> list[list[str]]:
    """Return the packages and modules of captionlab, floor by floor from the top, as import-linter checks them."""
    [contract] = [one for one in PROJECT["tool"]["importlinter"]["contracts"] if one["type"] == "layers"]
    return [re.split(r" *[:|] *", layer) for layer in contract["layers"]]


def is_package(name: str) -> bool:
    """Return whether a part of captionlab is a package and not a single module."""
    return (SOURCE / name).is_dir()


def reference_pages() -> dict[str, str]:
    """Return the Markdown of the Python reference by file name.

    Each package has a page, all modules share a page, and a page lists both. mkdocstrings puts the docstrings where a
    line begins with three colons.
    """
    rows = ["| package or module | |", "| --- | --- |"]
    pages = {MODULES: "# Modules of captionlab\n\nWhat everyone uses.\n"}
    for name in chain.from_iterable(floors()):
        directive = f"\n\n::: captionlab.{name}\n"
        if is_package(name):
            link = f"{name}.md"
            pages[f"reference/{name}.md"] = (
                f"# captionlab.{name}{directive}    options: {{show_root_heading: false, show_root_toc_entry: false}}\n"
            )
        else:
            link = f"captionlab.md#captionlab.{name}"
            pages[MODULES] += directive
        rows.append(f"| [captionlab.{name}]({link}) | {summary(name)} |")
    pages["reference/index.md"] = (
        "# Python reference\n\nFrom the top: a package imports from those below it and from nothing above "
        "([architecture](../docs/architecture.md#floors)).\n\n" + "\n".join(rows) + "\n"
    )
    return pages


def summary(name: str) -> str:
    """Return the first paragraph of the docstring of a package or module of captionlab."""
    path = SOURCE / name / "__init__.py" if is_package(name) else SOURCE / f"{name}.py"
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return " ".join(docstring.split("\n\n")[0].split())


def gallery_files(config: ProperDocsConfig) -> list[File]:
    """Return the gallery's page, and the tables and figures of the run that it shows, as the run made them."""
    results = ROOT / config.extra["results"]
    shown = [
        path
        for pattern in ("tables/*.csv", "tables/*.tex", "tables/*.html", "figures/*")
        for path in sorted(results.glob(pattern))
        if path.name != "index.html"  # the gallery's page is in its place
    ]
    # Where tables lead back to.
    back = '<meta http-equiv="refresh" content="0; url=../../gallery.html"><a href="../../gallery.html">Gallery</a>'
    return [
        File.generated(config, "gallery.md", content=gallery(results)),
        File.generated(config, "gallery/tables/index.html", content=f"<!doctype html><title>Gallery</title>{back}"),
        *(
            File.generated(config, f"gallery/{path.relative_to(results).as_posix()}", abs_src_path=str(path))
            for path in shown
        ),
    ]


def gallery(results: Path) -> str:
    """Return the Markdown of the gallery of a run; `results` is the folder of its results."""
    index = results / "tables" / "index.md"
    if not index.is_file():
        return (
            "# Gallery\n\nThis site was built where no run had all of its tables. `./lab tables` makes those of the "
            "toy world, and `./lab docs` after it shows them here.\n"
        )
    tables = [line for line in index.read_text(encoding="utf-8").splitlines() if line.startswith("- **")]
    figures = [shown_figure(path) for path in sorted((results / "figures").glob("*.png"))]
    return "\n\n".join(
        [
            "# Gallery",
            "Tables and figures of a run, as it made them.",
            *["## Tables", *map(shown_table, tables)],
            *["## Figures", *figures],
        ]
    )


def shown_figure(picture: Path) -> str:
    """Return Markdown that shows a figure, with links to its other files; `{name}_column.pdf` is one column wide."""
    others = [picture.with_suffix(".pdf"), picture.with_suffix(".svg"), picture.with_name(f"{picture.stem}_column.pdf")]
    formats = ", ".join(f"[{path.name}](gallery/figures/{path.name})" for path in (picture, *others) if path.exists())
    return f"### {picture.stem}\n\n{formats}\n\n![{picture.stem}](gallery/figures/{picture.name})"


def shown_table(line: str) -> str:
    """Return Markdown that shows a table, from its line in `results/tables/index.md`: title, formats, description."""
    title, links = re.match(r"- \*\*(.*)\*\* \((.*?\))\): ", line).groups()
    files = [name for name in re.findall(r"\]\((.*?)\)", links) if not name.endswith(".md")]
    formats = ", ".join(f"[{name}](gallery/tables/{name})" for name in files)
    frames = [
        f'<iframe src="gallery/tables/{name}" title="{name}" loading="lazy"></iframe>'
        for name in files
        if name.endswith(".html")
    ]
    return "\n\n".join([f"### {title}", formats, *frames])
