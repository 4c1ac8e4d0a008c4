"""Papers of one and of two columns that tables are compiled in."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

PACKAGES = r"\usepackage[T1]{fontenc}\usepackage{adjustbox,amssymb,array,booktabs,graphicx}"
LARGEST = 1.0  # points by which a box may be overfull


def compiled(folder: Path, names: list[str], option: str) -> list[str]:
    """What LaTeX says of these tables: overfull boxes, floats that are too large, errors; each after its table."""
    lines = "\n".join(rf"\typeout{{table {name}}}\input{{{name}.tex}}\clearpage" for name in names)
    document = rf"\documentclass[{option}]{{article}}{PACKAGES}\begin{{document}}{lines}\end{{document}}"
    (folder / "paper.tex").write_text(document, encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "paper.tex"]
    subprocess.run(command, cwd=folder, capture_output=True, check=False, timeout=300)
    log, found, table = (folder / "paper.log").read_text(encoding="utf-8", errors="replace"), [], ""
    assert "Output written on paper.pdf" in log
    for line in log.splitlines():
        if line.startswith("table "):
            table = line
        wide = re.match(r"Overfull \\[hv]box \(([0-9.]+)pt", line)
        if (wide and float(wide[1]) > LARGEST) or line.startswith(("!", "LaTeX Warning: Float too large")):
            found.append(f"{table}: {line}")
    return found


NEEDS_LATEX = pytest.mark.skipif(
    shutil.which("pdflatex") is None, reason="no LaTeX: apt-get install texlive-latex-extra texlive-fonts-recommended"
)
