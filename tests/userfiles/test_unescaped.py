"""The reader of PsychoPy's files, against a writer that does what PsychoPy does."""

import random

import pytest
from support.psychopy_files import wide_text

from captionlab.userfiles.reading import GivenError
from captionlab.userfiles.unescaped import is_unescaped, unescaped

NAMES = ("study", "question", "caption", "mouse.clicked_name", "participant")
# Cells that people and experiments make, each with something that PsychoPy does not escape.
TEXTS = (
    '“A "big" dog, running”',
    '“A sign says "stop", and "go", here”',
    '"Stop" says the sign',
    '"Stop"',
    '"Stop", says the sign',
    'it says, "stop"',
    "two lines,\nand a comma",
    "a line\n\nand another after an empty one",
    "a line with a comma at its end,\nand another",
    "",
    "; and so on",
    "a\ttab",
)


def row(caption: str, number: int = 0, participant: str = "anna", clicks: int = 1) -> dict[str, str]:
    images = str([f"image_{place}" for place in range(1, clicks + 1)])
    cells = ("study-1", str(number), caption, images, participant)
    return dict(zip(NAMES, cells, strict=True))


def cells_of(text: str) -> list[dict[str, str | None]]:
    return [cells for _, cells in unescaped("answers.csv", text)]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("clicks", [1, 3])
def test_every_cell_comes_back(end, clicks):
    rows = [row(text, number, 'Anna "A", Köln', clicks) for number, text in enumerate(TEXTS)]
    rows.append(row('a screen of 12"', clicks=clicks))
    text = wide_text(NAMES, rows)
    assert is_unescaped(text)
    assert cells_of(text.replace("\n", end)) == rows


@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_other_separators(delimiter):
    rows = [row(text, clicks=2) for text in TEXTS if delimiter not in text]
    rows.append(row(f"a comma, and {delimiter} between quotes"))
    assert cells_of(wide_text(NAMES, rows, delimiter)) == rows


def test_rows_are_named_by_their_first_line():
    text = wide_text(NAMES, [row("a,\nb"), row("c")])
    assert [where for where, _ in unescaped("answers.csv", text)] == ["answers.csv, line 2", "answers.csv, line 4"]


@pytest.mark.parametrize(
    ("given", "text", "line"),
    [
        ("cells that end and begin with quotes", 'a,b,c,\n1,2,3,\n"p","q","r","s",\n', 3),
        ("a quote alone before a cell with commas", wide_text(NAMES, [row('"', clicks=2, participant="A, B")]), 2),
        ("a separator in a text that has no comma", wide_text(NAMES, [row("cat"), row("dog; cat")], ";"), 3),
        ("a row that was cut", wide_text(NAMES, [row("cat"), row("dog")])[:-20], 3),
        ("a row with too few cells before a good row", "a,b,\n1,\n1,2,\n", 2),
        ("a row with too many cells", "a,b,\n1,2,\n1,2,3,\n", 3),
        ("an empty line between rows", "a,b,\n1,2,\n\n1,2,\n", 3),
    ],
)
def test_rows_that_are_not_certain_are_refused(tmp_path, answers, given, text, line):
    with pytest.raises(GivenError) as error:
        [*unescaped(tmp_path / "answers.csv", text)]
    answers.hold(given, error.value, f"answers.csv, line {line}: ")


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_no_row_is_read_wrong(delimiter):
    """Texts of many quotes and separators come back, or a row is refused."""
    generator, read = random.Random(1), 0
    for _ in range(800):
        texts = ["".join(generator.choices(['"', '"', ",", ";", "\t", " ", "a", "dog"], k=6)) for _ in range(3)]
        rows = [row(text, number, clicks=2) for number, text in enumerate(texts)]
        try:
            cells = cells_of(wide_text(NAMES, rows, delimiter))
        except GivenError:
            continue
        assert cells == rows
        read += 1
    assert read > 100


def test_files_of_spreadsheets_are_others():
    assert not is_unescaped("study,question\n1,2,\n")
    assert not is_unescaped("")
