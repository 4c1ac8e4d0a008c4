"""Pages of figures: the numbers of every mark, where its box lies, and its captions."""

from functools import partial

import matplotlib.pyplot as plt
import pytest
from matplotlib.transforms import Bbox
from support.figure_checks import STYLE, drawn, figure_files

from captionlab.reporting.runs.values import Measured
from captionlab.reporting.tables.figure_pages import CURVE, POINTS, PageOfFigure, marks_of
from captionlab.reporting.tables.figures import bars, line, looking, looks, save

LOOKS = looks(STYLE, ["A", "B"])
CAPTIONS = "../browser/index.html#corpus=x&a=tuned"


def draw_both(width):
    """A panel with bars, one of which has captions, and a panel with a line and decoration without a label."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(width, 2))
    bars(left, {0.0: Measured(40.0, 35.0, 45.0, 1, 200, link=CAPTIONS), 1.0: None}, 0.4, "A", LOOKS["A"])
    bars(left, {0.4: Measured(50.0, 50.0, 50.0, 1, 100)}, 0.4, "B", LOOKS["B"])
    left.set_xticks([0, 1], ["COCO", "a\nFlickr"])
    left.set(ylabel="P@1 (%)", title="by another retriever")
    line(right, {2.0: Measured(1.5, 1.0, 2.0, 3, 9)}, "B", LOOKS["B"])
    right.axhline(0.0)
    right.plot(range(1000), range(1000), label="curve")
    right.set(xlabel="words", ylabel="score")
    return figure


def marks(draw):
    figure = drawn(draw)
    return figure, list(marks_of(figure, Bbox.from_bounds(0, 0, *figure.get_size_inches())))


def test_a_mark_has_series_panel_place_value_interval_and_n():
    _, found = marks(draw_both)
    assert [mark.text for mark in found[:3]] == [
        "A, by another retriever, COCO, P@1 (%): 40, 95 % interval 35 to 45, n = 200",
        "B, by another retriever, COCO, P@1 (%): 50, n = 100",
        "B, words: 2, score: 1.5, 95 % interval 1 to 2, n = 9",
    ]
    assert [mark.link for mark in found[:3]] == [CAPTIONS, "", ""]


def test_a_long_curve_has_some_points_and_lines_without_a_label_have_none():
    _, found = marks(draw_both)
    assert {mark.text.split(",")[0] for mark in found} == {"A", "B", "curve"}
    of_curve = [mark for mark in found if mark.text.startswith("curve")]
    assert len(of_curve) == CURVE
    assert of_curve[-1].text == "curve, words: 999, score: 999"


def test_a_box_lies_where_the_mark_is_drawn():
    figure, (bar, _, point, *_) = marks(draw_both)
    left, right = figure.axes
    high = figure.get_figheight() * POINTS
    x0, y0 = left.transData.transform((-0.2, 0)) * POINTS / figure.dpi
    x1, y1 = left.transData.transform((0.2, 40)) * POINTS / figure.dpi
    assert bar.box == pytest.approx((x0, high - y1, x1 - x0, y1 - y0), abs=0.01)
    x, y = right.transData.transform((2, 1.5)) * POINTS / figure.dpi
    assert (point.box[0] + point.box[2] / 2, point.box[1] + point.box[3] / 2) == pytest.approx((x, high - y), abs=0.01)


def test_bars_that_lie_are_read_along_the_other_axis():
    def draw(width):
        figure, axis = plt.subplots(figsize=(width, 2))
        axis.barh([0, 1], [12.5, 0.0], label="nouns")
        axis.set_yticks([0, 1], ["dog", "cat"])
        figure.supxlabel("share (%)")
        return figure

    _, (dog, cat) = marks(draw)
    assert (dog.text, cat.text) == ("nouns, dog, share (%): 12.5", "nouns, cat, share (%): 0")
    assert min(dog.box[2:] + cat.box[2:]) >= 4  # even a bar of no length can be pointed at


@pytest.mark.parametrize("caveats", [(), ("only the first 20 images of each split",)])
def test_a_page_has_the_drawing_its_marks_and_links(tmp_path, caveats):
    [files] = figure_files(tmp_path, ["sample"]).values()
    page = PageOfFigure("<b>Figure</b>", "probing_table", {"column pdf": "sample_column.pdf"})
    with looking(STYLE):
        save(draw_both, files, STYLE, page, caveats)
    text = files[-1].read_text(encoding="utf-8")
    assert "&lt;b&gt;Figure&lt;/b&gt;" in text
    assert "<b>Figure" not in text
    assert 'href="../tables/probing_table.html"' in text
    assert '<a href="sample_column.pdf">column pdf</a>' in text
    assert f'href="{CAPTIONS.replace("&", "&amp;")}"' in text
    assert text.count('class="mark') == 3 + CURVE + 1  # and the group of marks
    [vectors] = [path for path in files if path.suffix == ".svg"]
    box = vectors.read_text().split('viewBox="')[1].split('"')[0]
    sizes = [[float(number) for number in part.split('"')[0].split()] for part in text.split('viewBox="')[1:3]]
    assert sizes[0] == [float(number) for number in box.split()]
    assert sizes[0] == pytest.approx(sizes[1], abs=0.01)


def test_a_figure_without_marks_has_a_page_without_them(tmp_path):
    [files] = figure_files(tmp_path, ["plain"]).values()
    with looking(STYLE):
        save(partial(lambda width: plt.figure(figsize=(width, 1))), files, STYLE)
    assert 'class="mark' not in files[-1].read_text(encoding="utf-8")
