"""Quotes in delimited files: texts over several lines, and quotes that were left open."""

import pytest

from captionlab.userfiles.delimited import delimited
from captionlab.userfiles.reading import GivenError

COLUMNS = ("file", "caption", "split")


def rows_of(text: str) -> list[list[str | None]]:
    _, rows = delimited("caps.csv", text.splitlines(keepends=True), COLUMNS)
    return [[*row.values()] for _, row in rows]


OPEN = {
    "the last column": "file|caption\na.jpg|A pig\nb.jpg|\"A dog\nc.jpg|A cat\nd.jpg|A cow\"\n",
    "the middle column": "file|caption|split\na.jpg|A pig|x\nb.jpg|\"A dog|x\nc.jpg|A cat\"|x\nd.jpg|A cow|x\n",
    "rows without their last column": "file|caption|split\na.jpg|A pig\nb.jpg|\"A dog\nc.jpg|A cat|x\nd.jpg|A cow\"\n",
    "a quote that never closes": "file|caption\na.jpg|A pig\nb.jpg|\"A dog\nc.jpg|A cat\n",
    "a quote that closes before text": "file|caption\na.jpg|A pig\nb.jpg|\"A dog\nc.jpg|\"A cat\"\n",
    "a word in quotes": "file|caption\na.jpg|A pig\nb.jpg|\"Stop\" says the sign\n",
    "labels of one and of two words": (
        "file|caption|label\na.jpg|A pig|pig\nb.jpg|\"A dog|dog\nc.jpg|A bear\"|polar bear\nd.jpg|A cow|cow\n"
    ),
    "numbers of any form": "id|caption|score\n1|A pig|0.5\n2|\"A dog|-3\n3|A cat|\n4|A cow\"|1e-05\n",
    "line ends of Windows": "file|caption\r\na.jpg|A pig\r\nb.jpg|\"A dog\r\nc.jpg|A cow\"\r\n",
    # Nothing tells the lines of a text from rows: the quotes may be correct.
    "a text whose lines could be rows": "name|caption\ndog|A pig\ncat|\"A dog\nruns|fast\"\n",
}  # fmt: skip


@pytest.mark.parametrize("mark", [",", ";", "\t"])
@pytest.mark.parametrize("given", OPEN)
def test_an_open_quote_swallows_no_rows(answers, given, mark):
    with pytest.raises(GivenError) as error:
        rows_of(OPEN[given].replace("|", mark))
    answers.hold(f"{given}, {mark!r}", error.value, "caps.csv, line 3: ")


@pytest.mark.parametrize("mark", [",", ";", "\t"])
@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ('file|caption\na.jpg|"A dog\nruns"\nb.jpg|A cat\n', [["a.jpg", "A dog\nruns"], ["b.jpg", "A cat"]]),
        ('file|caption|split\na.jpg|"A dog\nruns"|test\n', [["a.jpg", "A dog\nruns", "test"]]),
        ('file|caption\na.jpg|"A dog\nruns, sits; it ""barks"""\n', [["a.jpg", 'A dog\nruns, sits; it "barks"']]),
        ('caption|file\n"A dog\n\nruns"|a.jpg\n', [["A dog\n\nruns", "a.jpg"]]),
        ('file|caption\na.jpg|12" wide\nb.jpg|it says "go"\n', [["a.jpg", '12" wide'], ["b.jpg", 'it says "go"']]),
        # As many separators in each line as in a row.
        ('file|caption\na.jpg|"A dog\nand a cat|blue"\n', [["a.jpg", "A dog\nand a cat|blue"]]),
        ('file|caption\na.jpg|"A dog\nruns|"\nb.jpg|A cat\n', [["a.jpg", "A dog\nruns|"], ["b.jpg", "A cat"]]),
        ('id|caption\n391895|"A dog\nand a cat|blue"\n', [["391895", "A dog\nand a cat|blue"]]),
        ('caption|file\n"A dog|red\na cat|blue\na pig"|a.jpg\n', [["A dog|red\na cat|blue\na pig", "a.jpg"]]),
        ('caption|file|split\n"A dog|red\na pig"|a.jpg|x\n', [["A dog|red\na pig", "a.jpg", "x"]]),
        ('name|caption\ndog|"A ""red""\ndog|and cat"\n', [["dog", 'A "red"\ndog|and cat']]),
        ('name|caption\r\ndog|"A dog\nand|cat"\r\n', [["dog", "A dog\nand|cat"]]),
    ],
)  # fmt: skip
def test_line_breaks_and_quotes_inside_texts(mark, text, rows):
    separated = [[value and value.replace("|", mark) for value in row] for row in rows]
    assert rows_of(text.replace("|", mark)) == separated
