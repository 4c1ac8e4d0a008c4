"""Papers of one and of two columns that tables are compiled in."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

PACKAGES = r"\usepackage[T1]{fontenc}\usepackage{adjustbox,amssymb,array,booktabs,graphicx}"
LARGEST = 1.0  # points by which a box may be overfull


# The pages of venues, in the widths and letters of their style files (config/plotting.yaml names these).
PAPERS = {
    "article": r"\documentclass{article}",
    "two columns": r"\documentclass[twocolumn]{article}",
    "acl": r"\documentclass[11pt,a4paper,twocolumn]{article}\usepackage{times}"
    r"\usepackage[textwidth=16cm,textheight=24.7cm,columnsep=0.6cm]{geometry}",
    "neurips": r"\documentclass{article}\usepackage{times}"
    r"\usepackage[letterpaper,textwidth=5.5in,textheight=9in]{geometry}",
    "cvpr": r"\documentclass[10pt,letterpaper,twocolumn]{article}\usepackage{times}"
    r"\usepackage[textwidth=6.875in,textheight=8.875in,columnsep=0.3125in]{geometry}",
}


def compiled(folder: Path, names: list[str], paper: str) -> tuple[list[str], dict[str, int]]:
    """What LaTeX says of these tables, each after its table, and how many pages each has.

    It says overfull boxes, floats that are too large, and errors.
    """
    lines = "\n".join(
        rf"\typeout{{table {name}}}\input{{{name}.tex}}\clearpage\typeout{{pages \thepage}}" for name in names
    )
    document = rf"{PAPERS[paper]}{PACKAGES}\begin{{document}}{lines}\end{{document}}"
    (folder / "paper.tex").write_text(document, encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "paper.tex"]
    subprocess.run(command, cwd=folder, capture_output=True, check=False, timeout=300)
    log, found, table = (folder / "paper.log").read_text(encoding="utf-8", errors="replace"), [], ""
    pages: dict[str, int] = {}
    before = 1
    assert "Output written on paper.pdf" in log
    for line in log.splitlines():
        if line.startswith("table "):
            table = line
        if line.startswith("pages ") and (after := int(line.removeprefix("pages "))) and table:
            pages[table.removeprefix("table ")], before = after - before, after
        wide = re.match(r"Overfull \\[hv]box \(([0-9.]+)pt", line)
        if (wide and float(wide[1]) > LARGEST) or line.startswith(("!", "LaTeX Warning: Float too large")):
            found.append(f"{table}: {line}")
    return found, pages


NEEDS_LATEX = pytest.mark.skipif(
    shutil.which("pdflatex") is None, reason="no LaTeX: apt-get install texlive-latex-extra texlive-fonts-recommended"
)
