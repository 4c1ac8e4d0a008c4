"""The study as an experiment for PsychoPy Builder: a .psyexp file, and a file of conditions for each block.

The experiment is the template resources/study/study.psyexp, which Builder can open, filled with the parts of a study.
It has only parameters that differ from PsychoPy's defaults; Builder adds the others (Experiment.loadFromXML). It is
made for PsychoPy 2023 and later, locally and, through PsychoJS, on Pavlovia (Peirce et al. 2019).
"""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from xml.etree import ElementTree

from captionlab.study.pages import file_name, paragraphs
from captionlab.study.stimuli import IMAGES_OF_SCREEN

CONDITIONS = ("study", "study_block", "question", "caption")
EXAMPLE_CONDITIONS = "conditions/example.csv"
COLUMNS = 5  # images side by side on a screen


def conditions_file(block: int) -> str:
    """Return the path of a block's conditions, relative to the experiment."""
    return f"conditions/block{block}.csv"


def conditions(study: str, screens: Iterable[Mapping[str, Any]]) -> str:
    """Return the conditions of a block as CSV; `screens` are the rows of STIMULI of the block.

    PsychoPy evaluates a cell that looks like a list as Python code, and reads NA as a missing value. So captions are
    put in quotation marks, as on every screen. No column says which image is the target, because a participant could
    look it up.
    """
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow([*CONDITIONS, *(f"file_{place}" for place in range(1, IMAGES_OF_SCREEN + 1))])
    for row in sorted(screens, key=lambda row: row["question"]):
        files = [f"images/{file_name(image)}" for image in row["images"]]
        writer.writerow([study, row["block"], row["question"], quoted(row["caption"]), *files])
    return stream.getvalue()


def quoted(caption: str) -> str:
    """Return a caption in quotation marks, as screens show it."""
    return f"\N{LEFT DOUBLE QUOTATION MARK}{caption}\N{RIGHT DOUBLE QUOTATION MARK}"


def experiment(template: str, study: str, blocks: Sequence[int], consent: str, files: Sequence[str]) -> str:
    """Return the .psyexp file: consent, instructions, an example, the screens of a block, and thanks.

    `files` are the names of all files in images/. The experiment asks for participant code and block, or takes them
    from the address on Pavlovia (?participant=...&block=...).
    """
    root = ElementTree.fromstring(template)
    conditions_files = [EXAMPLE_CONDITIONS, *(conditions_file(block) for block in blocks)]
    settings = {
        "expName": study,
        "Experiment info": repr({"participant": "", "block": str(blocks[0])}),
        "Resources": repr([*conditions_files, *(f"images/{name}" for name in files)]),
    }
    for name, value in settings.items():
        [parameter] = root.findall(f"./Settings/Param[@name='{name}']")
        parameter.set("val", value)
    [agreement] = root.findall(".//TextComponent[@name='consent_text']/Param[@name='text']")
    literal = [part.replace("$", r"\$") for part in paragraphs(consent)]  # an unescaped dollar marks code
    agreement.set("val", "\n\n".join([*literal, agreement.get("val", "")]))
    ElementTree.indent(root)
    return '<?xml version="1.0" ?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"
