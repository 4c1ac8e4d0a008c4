"""The study as an experiment for PsychoPy Builder: a .psyexp file and a file of conditions for each block.

Only parameters that differ from PsychoPy's defaults are written; Builder fills in the rest (Experiment.loadFromXML).
Made for PsychoPy 2023 and later, locally and, through PsychoJS, on Pavlovia (Peirce et al. 2019).
"""

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from xml.etree import ElementTree

from captionlab.study.pictures import file_name
from captionlab.study.stimuli import IMAGES_OF_SCREEN

VERSION = "2023.2.3"
CONDITIONS = ("study", "study_block", "question", "caption")
PLACES = range(1, IMAGES_OF_SCREEN + 1)
COLUMNS = 5
# Parts of the height of the window: side of an image, distance of their centres, centre of the upper row.
SIDE, STEP, UPPER = 0.28, 0.31, 0.06

# name -> (value, type of the value, when it is updated)
Parameters = Mapping[str, tuple[str, str, str]]
# Components start with the routine and last as long as it does.
_WHOLE: Parameters = {
    "startType": ("time (s)", "str", "None"),
    "startVal": ("0.0", "code", "None"),
    "stopType": ("duration (s)", "str", "None"),
    "stopVal": ("", "code", "constant"),
}
SCREEN = "screen"
EXAMPLE_CONDITIONS = "conditions/example.csv"


def conditions_file(block: int) -> str:
    """Path of a block's conditions, relative to the experiment."""
    return f"conditions/block{block}.csv"


def conditions(study: str, screens: Iterable[Mapping[str, Any]]) -> str:
    """The conditions of a block as CSV; `screens` are its rows of STIMULI.

    PsychoPy evaluates a cell that looks like a list as Python code and takes NA for a missing value, so captions stand
    in quotation marks, as on every screen. Columns do not say which image is right: a participant could look it up.
    """
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow([*CONDITIONS, *(f"file_{place}" for place in PLACES)])
    for row in sorted(screens, key=lambda row: row["question"]):
        files = [f"images/{file_name(image)}" for image in row["images"]]
        writer.writerow([study, row["block"], row["question"], quoted(row["caption"]), *files])
    return stream.getvalue()


def quoted(caption: str) -> str:
    """A caption as screens show it."""
    return f"\N{LEFT DOUBLE QUOTATION MARK}{caption}\N{RIGHT DOUBLE QUOTATION MARK}"


def experiment(study: str, blocks: Sequence[int], consent: str, files: Sequence[str]) -> str:
    """The .psyexp file: consent, instructions, an example, the screens of a block, thanks.

    `files` are the names of all images in images/. The participant's code and block are asked for at the start, or
    stand in the address on Pavlovia (?participant=...&block=...).
    """
    root = ElementTree.Element("PsychoPy2experiment", encoding="utf-8", version=VERSION)
    conditions_files = [EXAMPLE_CONDITIONS, *(conditions_file(block) for block in blocks)]
    _parameters(
        ElementTree.SubElement(root, "Settings"),
        {
            "expName": (study, "str", "None"),
            "Experiment info": (repr({"participant": "", "block": str(blocks[0])}), "code", "None"),
            "Data filename": ("'data/%s_%s_%s' % (expInfo['participant'], expName, expInfo['date'])", "code", "None"),
            "Full-screen window": ("True", "bool", "None"),
            "Show mouse": ("True", "bool", "None"),
            "Units": ("height", "str", "None"),
            "color": ("white", "color", "None"),
            "colorSpace": ("rgb", "str", "None"),
            "Save wide csv file": ("True", "bool", "None"),
            "Resources": (repr([*conditions_files, *(f"images/{name}" for name in files)]), "list", "None"),
        },
    )
    routines = ElementTree.SubElement(root, "Routines")
    agreement = _text_routine(routines, "consent", "\n\n".join([*paragraphs(consent), "Click to agree and go on."]))
    # The name of the file of conditions depends on the block that was asked for.
    code = 'conditions_file = "conditions/block" + expInfo["block"] + ".csv"'
    _component(
        agreement,
        "CodeComponent",
        "choose_block",
        {
            "Code Type": ("Both", "str", "None"),
            "Begin Experiment": (code, "extendedCode", "constant"),
            "Begin JS Experiment": (f"{code};", "extendedCode", "constant"),
        },
    )
    _text_routine(routines, "instructions", f"{INSTRUCTIONS}\n\nClick to see an example.")
    _screen(routines)
    _text_routine(routines, "begin", "That was the example. The study begins now.\n\nClick to go on.")
    _text_routine(routines, "thanks", "That was all. Thank you for taking part!\n\nClick to end.")
    flow = ElementTree.SubElement(root, "Flow")
    for routine in ("consent", "instructions"):
        ElementTree.SubElement(flow, "Routine", name=routine)
    _loop(flow, "example", EXAMPLE_CONDITIONS)
    ElementTree.SubElement(flow, "Routine", name="begin")
    _loop(flow, "trials", "$conditions_file")
    ElementTree.SubElement(flow, "Routine", name="thanks")
    ElementTree.indent(root)
    return '<?xml version="1.0" ?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def paragraphs(text: str) -> list[str]:
    """The paragraphs of a text, which empty lines part, each on one line."""
    return [" ".join(part.split()) for part in re.split(r"\n\s*\n", text) if part.strip()]


INSTRUCTIONS = (
    "You will see a caption above ten images. Click the image that fits the caption best.\n\n"
    "Some captions were written by people, others by computer programs, and some do not fit well. Always choose the "
    "image that you find most plausible. There is no time limit.\n\n"
    "Some screens are there to check that you pay attention."
)


def _text_routine(routines: ElementTree.Element, name: str, text: str) -> ElementTree.Element:
    """A routine that shows a text until a click."""
    routine = ElementTree.SubElement(routines, "Routine", name=name)
    literal = text.replace("$", r"\$")  # a bare dollar would make it code
    _text(routine, f"{name}_text", literal, (0, 0), 0.03, "constant")
    _mouse(routine, f"{name}_mouse", "any click", "never", "")
    return routine


def _screen(routines: ElementTree.Element) -> None:
    """A routine with a caption above two rows of five images, which ends with a click on one of them."""
    routine = ElementTree.SubElement(routines, "Routine", name=SCREEN)
    _text(routine, "caption_text", "$caption", (0, 0.36), 0.035, "set every repeat")
    for place in PLACES:
        row, column = divmod(place - 1, COLUMNS)
        position = (round((column - (COLUMNS - 1) / 2) * STEP, 4), round(UPPER - row * STEP, 4))
        _component(
            routine,
            "ImageComponent",
            f"image_{place}",
            {
                **_WHOLE,
                "image": (f"$file_{place}", "file", "set every repeat"),
                "pos": (str(position), "list", "constant"),
                "size": (str((SIDE, SIDE)), "list", "constant"),
                "units": ("height", "str", "None"),
            },
        )
    _mouse(routine, "mouse", "valid click", "on valid click", ", ".join(f"image_{place}" for place in PLACES))


def _loop(flow: ElementTree.Element, name: str, conditions: str) -> None:
    """A loop over the screens of a file of conditions, in its order."""
    _parameters(
        ElementTree.SubElement(flow, "LoopInitiator", loopType="TrialHandler", name=name),
        {
            "name": (name, "code", "None"),
            "loopType": ("sequential", "str", "None"),
            "nReps": ("1", "num", "None"),
            "conditions": ("None", "str", "None"),
            "conditionsFile": (conditions, "file", "None"),
            "isTrials": ("True", "bool", "None"),
        },
    )
    ElementTree.SubElement(flow, "Routine", name=SCREEN)
    ElementTree.SubElement(flow, "LoopTerminator", name=name)


def _text(
    routine: ElementTree.Element, name: str, text: str, position: tuple[float, float], height: float, updates: str
) -> None:
    _component(
        routine,
        "TextComponent",
        name,
        {
            **_WHOLE,
            "text": (text, "str", updates),
            "color": ("black", "color", "constant"),
            "pos": (str(position), "list", "constant"),
            "letterHeight": (str(height), "num", "constant"),
            "wrapWidth": ("1.5", "num", "constant"),
            "units": ("height", "str", "None"),
        },
    )


def _mouse(routine: ElementTree.Element, name: str, end: str, save: str, clickable: str) -> None:
    """A mouse; of clicks on images the names are saved, as a list, in the column <name>.clicked_name."""
    _component(
        routine,
        "MouseComponent",
        name,
        {
            **_WHOLE,
            "forceEndRoutineOnPress": (end, "str", "constant"),
            "saveMouseState": (save, "str", "None"),
            "clickable": (clickable, "list", "constant"),
            "saveParamsClickable": ("name,", "list", "constant"),
            "newClicksOnly": ("True", "bool", "constant"),
        },
    )


def _component(routine: ElementTree.Element, kind: str, name: str, parameters: Parameters) -> None:
    element = ElementTree.SubElement(routine, kind, name=name)
    _parameters(element, {"name": (name, "code", "None"), **parameters})


def _parameters(element: ElementTree.Element, parameters: Parameters) -> None:
    for name, (value, kind, updates) in parameters.items():
        ElementTree.SubElement(element, "Param", val=value, valType=kind, updates=updates, name=name)
