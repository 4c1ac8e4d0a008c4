"""Figures are drawn from tables, and say so when a table has not what they show."""

import pytest
from PIL import Image

from captionlab.papers.discritune.figures import plot_finetuning, plot_retrieval
from captionlab.schemas import SUMMARY, TRAINING
from captionlab.tables import write_table

STYLE = {"font_size": 8, "dots_per_inch": 50, "colours": ["#000000", "#ff0000"]}
PAPER = {"captioners": {"B": "b", "A": "a"}, "corpora": {"X": "x", "X again": "x", "Y": "y"}}
ORDER = {"captioners": ["A", "B"], "corpora": ["Y", "X"]}


def summary(path):
    rows = [
        {"captioner": name, "corpus": corpus, "retriever": "r", "value": 40.0 + 20 * (name == "b")}
        for name in "ab"
        for corpus in "xy"
    ]
    same = {"split": "test", "evaluation": "main", "decoding": "beam", "candidates": "100 file-order"}
    same |= {"metric": "P@1", "seeds": 1, "n": 100, "device": "cpu"}
    rows = [{**same, **row, "ci_low": row["value"] - 5, "ci_high": row["value"] + 5} for row in rows]
    write_table(path, SUMMARY, {name: [row[name] for row in rows] for name in SUMMARY.columns})


def test_every_captioner_is_drawn_in_its_colour(tmp_path):
    summary(tmp_path / "summary.parquet")
    plot_retrieval(str(tmp_path / "summary.parquet"), PAPER, ORDER, STYLE, str(tmp_path / "figure.png"))
    colours = {colour for _, colour in Image.open(tmp_path / "figure.png").convert("RGB").getcolors(1 << 16)}
    assert {(255, 0, 0), (0, 0, 0)} <= colours  # the second of the paper's order is red


def test_a_captioner_that_is_not_there_is_not_drawn(tmp_path):
    summary(tmp_path / "summary.parquet")
    paper = {**PAPER, "captioners": {"A": "a", "B": "nobody"}}
    plot_retrieval(str(tmp_path / "summary.parquet"), paper, ORDER, STYLE, str(tmp_path / "figure.png"))
    image = Image.open(tmp_path / "figure.png").convert("RGB")
    below_the_legend = image.crop((0, image.height // 4, image.width, image.height))
    assert (255, 0, 0) not in {colour for _, colour in below_the_legend.getcolors(1 << 16)}


def test_a_log_without_a_statistic_is_named(tmp_path):
    log = {"step": [1, 1], "epoch": [0, 0], "statistic": ["reward", "accuracy"], "value": [1.0, 0.5]}
    write_table(tmp_path / "log.parquet", TRAINING, log)
    with pytest.raises(ValueError, match=r"log.parquet: this training logged no 'caption_length'"):
        plot_finetuning([str(tmp_path / "log.parquet")], ["a"], STYLE, str(tmp_path / "figure.png"))
    assert not list(tmp_path.glob("*.png"))


def test_cider_has_a_panel_where_a_training_was_validated(tmp_path):
    statistics = ["reward", "accuracy", "caption_length"]
    for name, more in (("plain", []), ("watched", ["validation_cider"])):
        rows = [(step, statistic) for step in (1, 2) for statistic in [*statistics, *more]]
        steps, names = zip(*rows, strict=True)
        log = {"step": steps, "epoch": [0] * len(rows), "statistic": names, "value": [0.5] * len(rows)}
        write_table(tmp_path / f"{name}.parquet", TRAINING, log)
    logs = [str(tmp_path / f"{name}.parquet") for name in ("plain", "watched")]
    plot_finetuning(logs, ["plain", "watched"], STYLE, str(tmp_path / "both.png"))
    plot_finetuning(logs[:1], ["plain"], STYLE, str(tmp_path / "one.png"))
    both, one = (Image.open(tmp_path / f"{name}.png").width for name in ("both", "one"))
    assert both * 3 == one * 4
