"""Figures: their files, how what they tell apart looks, and those of retrieval and of finetuning from tables."""

import os
import re
import shutil
import subprocess
import sys
from functools import partial
from itertools import combinations

import matplotlib.pyplot as plt
import numpy as np
import pytest
from PIL import Image
from support.figure_checks import STYLE, assert_readable, drawn, figure_files

from captionlab.papers.discritune.figures import draw_finetuning, draw_retrieval, smoothed
from captionlab.reporting.tables.figures import legend, looking, looks, save
from captionlab.storage.schemas import SUMMARY, TRAINING
from captionlab.storage.tables import write_table

PAPER = {"captioners": {"B": "b", "A": "a"}, "corpora": {"X": "x", "X again": "x", "Y": "y"}}
ORDER = {"captioners": ["A", "B"], "corpora": ["Y", "X"]}
LOOKS = looks(STYLE, ["A", "B"])
# A figure with all that a file could hold: letters, hatches, an image, a transparent area.
SAMPLE = """
import sys
import matplotlib.pyplot as plt
import numpy as np
from captionlab.config.plotting import read_style
from captionlab.reporting.tables.figures import looking, save

def draw(width):
    figure, axis = plt.subplots(figsize=(width, 2))
    axis.bar([0, 1], [1, 2], hatch="//", alpha=0.5)
    axis.imshow(np.arange(6).reshape(2, 3))
    axis.set_title("a title of \\u2212$1$ \\u2192 \\u201cso\\u201d")
    return figure

style = read_style(sys.argv[1], "acl")
with looking(style):
    save(draw, sys.argv[2:], style)
"""


# ------------------------------------------------------------------------------------------------------------ files
@pytest.fixture(scope="module")
def twice(tmp_path_factory):
    """The files of a figure that two processes drew, in which names are hashed differently."""
    made = []
    for seed in "12":
        [files] = figure_files(tmp_path_factory.mktemp("drawn"), ["sample"]).values()
        style = "config/plotting.yaml"
        command = [sys.executable, "-c", SAMPLE, style, *map(str, files)]
        root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        subprocess.run(command, check=True, cwd=root, env={**os.environ, "PYTHONHASHSEED": seed})
        made.append(files)
    return made


def test_a_figure_that_is_drawn_again_has_the_same_bytes(twice):
    for first, second in zip(*twice, strict=True):
        assert first.read_bytes() == second.read_bytes(), first.name
    assert not [path for path in twice[0][0].parent.iterdir() if path not in twice[0]]


def test_files_are_for_screens_pages_and_columns(twice):
    picture, page, vectors, column, _ = twice[0]
    image = Image.open(picture)
    assert image.size == (6.3 * 300, 2 * 300)
    assert image.info["dpi"] == pytest.approx((300, 300), abs=0.1)
    for path, width in ((page, 6.3), (column, 3.03)):
        box = re.search(rb"/MediaBox \[ ?0 0 ([\d.]+) ([\d.]+) ?\]", path.read_bytes())
        assert [float(side) / 72 for side in box.groups()] == pytest.approx([width, 2], abs=0.01)
    assert re.search(r'width="([\d.]+)pt"', vectors.read_text())[1] == f"{6.3 * 72:g}"


def test_fonts_are_in_the_pdf_as_truetype(twice):
    for path in (twice[0][1], twice[0][3]):
        content = path.read_bytes()
        assert b"/Type3" not in content
        assert b"/FontFile2" in content
        if shutil.which("pdffonts"):
            found = subprocess.run(["pdffonts", path], check=True, capture_output=True, text=True).stdout
            _, _, *fonts = found.splitlines()
            assert fonts
            for font in fonts:
                name, kind, _, embedded, subset, *_ = re.split(r" {2,}|(?<=yes) |(?<=no) ", font)
                assert ("STIX" in name, kind, embedded, subset) == (True, "CID TrueType", "yes", "yes")


def test_caveats_stand_above_a_figure_and_cover_nothing(tmp_path):
    made = {}
    for name, caveats in (("plain", []), ("caveat", ["toy models on photographs: these numbers mean nothing"])):
        [made[name]] = figure_files(tmp_path, [name]).values()
        with looking(STYLE):
            save(_titled, [*map(str, made[name])], STYLE, caveats=caveats)
    assert "toy models on photographs" in made["caveat"][2].read_text()
    plain, caveat = (np.asarray(Image.open(files[0]).convert("L")) for files in made.values())
    # The title is above all that the figure shows without it: its lowest rows are as many, and as dark.
    inked = [int(np.flatnonzero((image < 128).any(axis=1))[0]) for image in (plain, caveat)]
    below = [image[-(len(plain) - inked[0]) :] for image in (plain, caveat)]
    assert len(caveat) > len(plain)
    assert (below[0] < 128).sum() == pytest.approx((below[1] < 128).sum(), rel=0.02)


def _titled(width):
    figure, axis = plt.subplots(figsize=(width, 2))
    axis.bar([0, 1], [1, 2], label="a captioner")
    legend(figure, STYLE, *axis.get_legend_handles_labels())
    return figure


def test_a_figure_that_cannot_be_written_leaves_nothing(tmp_path):
    [files] = figure_files(tmp_path, ["broken"]).values()

    def draw(width):
        figure, axis = plt.subplots(figsize=(width, 2), layout="none")
        axis.set_title("never drawn", linespacing="wide")
        return figure

    with pytest.raises(TypeError), looking(STYLE):
        save(draw, files, STYLE)
    assert not list(tmp_path.iterdir())


# ------------------------------------------------------------------------------------------------------------ looks
def grey(colour: str) -> float:
    """The luminance of a colour, 0 to 1 (Rec. 709)."""
    return float(np.dot([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)], [0.2126, 0.7152, 0.0722]))


def test_what_is_told_apart_by_colour_is_told_apart_without_it():
    found = looks(STYLE, map(str, range(7)))
    for one, other in combinations(found.values(), 2):
        assert one.marker != other.marker
        assert one.hatch != other.hatch
        assert one.colour != other.colour
    for one, other in combinations([*found.values()][:5], 2):
        assert one.dashes != other.dashes
    for one, other in combinations(looks(STYLE, "abcd", "kinds").values(), 2):
        assert len({one.colour, other.colour}) == len({one.marker, other.marker}) == len({one.hatch, other.hatch}) == 2
        assert one.dashes != other.dashes


def test_colours_can_be_seen_on_white_and_are_of_captioners_or_of_other_things():
    assert not {*STYLE.captioners} & {*STYLE.kinds}
    assert max(map(grey, [*STYLE.captioners, *STYLE.kinds])) < 0.72
    # A captioner and what was finetuned from it are light and dark.
    for parent, finetuned in (STYLE.captioners[:2], STYLE.captioners[2:4]):
        assert grey(parent) > grey(finetuned) + 0.15


def test_a_look_is_by_order_and_has_no_end():
    many = looks(STYLE, map(str, range(20)))
    assert len({(look.colour, look.marker) for look in many.values()}) == 20
    assert looks(STYLE, ["a", "b", "a"]) == looks(STYLE, ["a", "b"])


@pytest.mark.parametrize("width", ["page", "column"])
def test_a_legend_has_no_more_entries_in_a_row_than_there_is_width_for(width):
    labels = [f"a captioner with a long name {number}" for number in range(7)]

    def draw(inches):
        figure, axis = plt.subplots(figsize=(inches, 3), subplot_kw={"yticks": [0, 1]})
        legend(figure, STYLE, [axis.plot([0, 1], [0, 1])[0] for _ in labels], labels)
        return figure

    figure = drawn(draw, width)
    assert_readable(figure, width)
    assert figure.legends[0]._ncols == {"page": 3, "column": 1}[width]


# ------------------------------------------------------------------------------------------------------- discritune
def summary(path):
    rows = [
        {"captioner": name, "corpus": corpus, "retriever": retriever, "value": 40.0 + 20 * (name == "b")}
        for name in "ab"
        for corpus in "xy"
        for retriever in ("rewarding", "other")
    ]
    same = {"split": "test", "evaluation": "main", "decoding": "beam", "candidates": "100 file-order"}
    same |= {"metric": "P@1", "seeds": 1, "n": 100, "device": "cpu"}
    rows = [{**same, **row, "ci_low": row["value"] - 5, "ci_high": row["value"] + 5} for row in rows]
    write_table(path, SUMMARY, {name: [row[name] for row in rows] for name in SUMMARY.columns})
    return str(path)


@pytest.mark.parametrize("width", ["page", "column"])
def test_every_captioner_is_drawn_in_its_look(tmp_path, width):
    given = summary(tmp_path / "summary.parquet"), PAPER, ORDER, ["rewarding"], LOOKS, STYLE
    figure = drawn(partial(draw_retrieval, *given), width)
    assert_readable(figure, width)
    for axis in figure.axes:
        for (points, *_), label, value in zip(axis.containers, "AB", (40, 60), strict=True):
            assert (points.get_color(), points.get_marker()) == (LOOKS[label].colour, LOOKS[label].marker)
            assert [*points.get_ydata()] == [value] * 2
    assert [text.get_text() for text in figure.axes[1].get_xticklabels()] == ["Y", "X"]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["A", "B"]


def test_retrievers_are_called_what_they_are_in_the_paper(tmp_path):
    """And by their names in the config only where that is several."""
    path = summary(tmp_path / "summary.parquet")
    titles = {
        tuple(rewarding): [
            axis.get_title("left")
            for axis in drawn(partial(draw_retrieval, path, PAPER, ORDER, rewarding, LOOKS, STYLE)).axes
        ]
        for rewarding in (["rewarding"], [])
    }
    assert titles["rewarding",] == ["by another retriever", "by the retriever that gave the reward"]
    assert titles[()] == ["by another retriever: other", "by another retriever: rewarding"]


def test_a_captioner_that_is_not_there_is_not_drawn(tmp_path):
    paper = {**PAPER, "captioners": {"A": "a", "B": "nobody"}}
    given = summary(tmp_path / "summary.parquet"), paper, ORDER, [], LOOKS, STYLE
    (_, nobody), *_ = (axis.containers for axis in drawn(partial(draw_retrieval, *given)).axes)
    assert len(nobody[0].get_xdata()) == 0


def training(path, statistics, updates=60):
    rows = [(step, statistic) for step in range(updates) for statistic in statistics]
    steps, names = zip(*rows, strict=True)
    values = np.random.default_rng(0).random(len(rows))
    write_table(path, TRAINING, {"step": steps, "epoch": [0] * len(rows), "statistic": names, "value": values})
    return str(path)


def test_a_log_without_a_statistic_is_named(tmp_path):
    logs = {"A": training(tmp_path / "log.parquet", ["reward", "accuracy"])}
    with pytest.raises(ValueError, match=r"log.parquet: this training logged no 'caption_length'"):
        draw_finetuning(logs, LOOKS, STYLE, 6.3)


@pytest.mark.parametrize("width", ["page", "column"])
def test_curves_are_smooth_over_what_was_logged(tmp_path, width):
    statistics = ["reward", "accuracy", "caption_length"]
    logs = {"A": training(tmp_path / "a.parquet", statistics), "B": training(tmp_path / "b.parquet", statistics)}
    figure = drawn(partial(draw_finetuning, logs, LOOKS, STYLE), width)
    assert_readable(figure, width)
    assert "mean" in figure._supxlabel.get_text()
    faint, curve, *of_other = figure.axes[0].lines
    assert (faint.get_alpha(), curve.get_alpha()) == (0.35, None)
    np.testing.assert_allclose(curve.get_ydata(), smoothed(faint.get_ydata()))
    assert {line.get_color() for line in (faint, curve)} == {LOOKS["A"].colour}
    assert {line.get_color() for line in of_other} == {LOOKS["B"].colour}


@pytest.mark.parametrize(("number", "around"), [(1, 0), (19, 0), (20, 1), (60, 3), (601, 30)])
def test_a_running_mean_is_over_a_tenth(number, around):
    values = np.random.default_rng(number).random(number)
    expected = [np.mean([values[j] for j in range(number) if abs(i - j) <= around]) for i in range(number)]
    np.testing.assert_allclose(smoothed(values), expected)


def test_cider_has_a_panel_where_a_training_was_validated(tmp_path):
    statistics = ["reward", "accuracy", "caption_length"]
    plain = training(tmp_path / "plain.parquet", statistics)
    watched = training(tmp_path / "watched.parquet", [*statistics, "validation_cider"])
    both, one = (
        drawn(partial(draw_finetuning, logs, LOOKS, STYLE)).axes for logs in ({"A": plain, "B": watched}, {"A": plain})
    )
    assert (len(both), len(one)) == (4, 3)
    (curve,) = both[3].lines  # not smoothed, and of the one that has it
    assert (curve.get_color(), curve.get_marker()) == (LOOKS["B"].colour, LOOKS["B"].marker)
    assert 1 < max(curve.get_ydata()) <= 100
