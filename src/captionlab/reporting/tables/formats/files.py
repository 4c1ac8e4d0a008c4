"""Files of a table, in the formats that their endings name."""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from captionlab.reporting.tables.formats.csv import csv_text
from captionlab.reporting.tables.formats.html import html
from captionlab.reporting.tables.formats.latex import latex, pictures_of
from captionlab.reporting.tables.formats.markdown import markdown
from captionlab.reporting.tables.render import Table
from captionlab.storage.files import replacing
from captionlab.storage.paths import PICTURES


def write_table_files(table: Table, paths: Sequence[str | os.PathLike[str]]) -> None:
    """Write a table to files whose endings name the formats (.csv, .md, .tex, .html).

    The pictures of a LaTeX table are written to the folder PICTURES beside it. Raises ValueError for another ending.
    """
    renderers = {".csv": csv_text, ".md": markdown, ".tex": latex, ".html": html}
    files = [Path(path) for path in paths]
    table = replace(table, files=[path.suffix.removeprefix(".") for path in files if path.suffix != ".html"])
    for path in files:
        if path.suffix not in renderers:
            raise ValueError(f"{path}: a table is written as {', '.join(renderers)}")
        write_text(path, renderers[path.suffix](table))
        if path.suffix == ".tex":
            for name, picture in pictures_of(table).items():
                with replacing(path.parent / PICTURES / name) as partial:
                    partial.write_bytes(picture)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text file atomically: to a temporary file beside its place, which is then renamed."""
    with replacing(path) as partial:
        partial.write_text(text, encoding="utf-8", newline="\n")
