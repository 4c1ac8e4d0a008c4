"""Pictures and text at their places: lines fit, nothing is read as mathematics, nothing is lost but what is said."""

import io

import pytest
from PIL import Image
from support.figure_checks import assert_readable, drawn

from captionlab.reporting.tables.boards import BOLD, LEADING, MARKED, PLAIN, Board, words, wrapped

HOSTILE = ["$x$ and $y_", "<b>&amp;</b>", "\\alpha{", "W" * 300, "", "one  two\tthree\nfour " * 20]


def board(text: str):
    """A board with a text in the middle third."""

    def draw(width):
        made = Board(width)
        bottom = made.write([*words("a lead:", BOLD), *words(text), ("marked", MARKED)], 1.1, 0.1, 1.1, 7)
        return made.finish(bottom + 0.1)

    return draw


@pytest.mark.parametrize("text", HOSTILE)
def test_lines_stay_in_their_place(text):
    figure = drawn(board(text), "column")
    assert_readable(figure, "column")
    for written in figure.axes[0].texts:
        box = written.get_window_extent()
        assert box.x0 / figure.dpi > 1.05
        assert box.x1 / figure.dpi < 2.25


@pytest.mark.parametrize("text", [text for text in HOSTILE if len(text.split()[:1]) and len(text.split()[0]) < 300])
def test_every_word_is_written(text):
    written = " ".join(one.get_text() for one in drawn(board(text), "column").axes[0].texts)
    assert written.split() == ["a", "lead:", *text.split(), "marked"]


def test_lines_are_as_long_as_they_can_be():
    lines = wrapped(words("a b c d e f g h"), 0.4, 7)
    assert [word for line in lines for word, _ in line] == list("abcdefgh")
    assert 1 < len(lines) < 8
    assert wrapped(words("x" * 50), 0.4, 7)[0][0][0].endswith("…")
    assert wrapped([], 1, 7) == []


def test_pictures_keep_their_shape_and_have_a_frame():
    stream = io.BytesIO()
    Image.new("RGB", (40, 20), "red").save(stream, "PNG")
    made = Board(3.0)
    assert made.picture(stream.getvalue(), 0.5, 0.25, 1.0, "#2f7d32") == 0.75
    figure = made.finish(1.0)
    assert tuple(figure.get_size_inches()) == (3.0, 1.0)
    (image,), (frame,) = made.axis.images, made.axis.patches
    assert image.get_extent() == [0.5, 1.5, 0.75, 0.25]
    assert (frame.get_xy(), frame.get_width(), frame.get_height()) == ((0.5, 0.25), 1.0, 0.5)


def test_text_says_where_it_ends():
    made = Board(3.0)
    assert made.write(words("one line"), 0, 1.0, 3.0, 7) == pytest.approx(1.0 + LEADING * 7 / 72)
    assert made.write([], 0, 1.0, 3.0, 7) == 1.0
    assert sorted({written for _, written in words("one line")}) == [PLAIN]


def test_of_thousands_of_words_the_first_are_written_and_their_number():
    text = " ".join(f"w{place}" for place in range(5000))
    figure = drawn(board(text), "column")
    written = " ".join(one.get_text() for one in figure.axes[0].texts).split()
    assert written == ["a", "lead:", *text.split()[:98], "…", "(5,003", "words)"]
    assert figure.get_figheight() < 11, "a page of a paper holds it"
