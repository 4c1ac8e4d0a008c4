"""The published numbers: all tables are there, spot values, and mistakes in the file are named."""

from collections import Counter

import pytest
from support.paper_jobs import published

from captionlab.reporting.runs.published import PublishedError, PublishedValue, read_published

HEADER = "paper,table,row,column,metric,value,note\n"


@pytest.fixture(scope="module")
def discritune():
    return published("discritune")


def test_every_number_of_every_table_is_there(discritune):
    # Rows times columns of each table; 7 and 14 are three lists of ten words; the text has the sets of the study.
    expected = {
        "1": 5 * 6, "2": 4 * 4, "3": (2 + 2 + 5 * 4) * 4, "4": 2 * 4, "5": 5 * 2 * 4, "6": 3, "7": 30, "8": 3, "9": 3,
        "10": 4 * 4, "11": 7, "12": 3 * 4 * 4, "13": 3 * 4, "14": 30, "text": 1,
    }  # fmt: skip
    assert Counter(table for table, *_ in discritune.values) == expected


@pytest.mark.parametrize(
    ("place", "text"),
    [
        (("1", "ClipCap-COCO", "ConCap", "P@1"), "73.0"),
        (("1", "Human captions", "Concadia", "P@1"), "73.96"),
        (("2", "DiscriTune-ConCap", "ConCap", "C"), "55.26"),
        (("3", "DiscriTune-COCO", "nocaps near", "M"), "24.11"),
        (("3", "ClipCap-ConCap", "Concadia-Captions", "B@4"), "0.50"),
        (("4", "DiscriTune-BLIP", "nocaps out", "P@1"), "92.6"),
        (("5", "DiscriTune-BLIP", "Flickr", "S"), "16.9"),
        (("6", "DiscriTune-ConCap", "ConCap", "accuracy"), "47.6"),
        (("7", "denim", "DiscriTune-ConCap", "adjective rank"), "8"),
        (("8", "running mean", "Flickr", "P@1"), "97.8"),
        (("9", "log probability", "Flickr", "P@1"), "86.2"),
        (("10", "CaMEL", "COCO", "C"), "128.62"),
        (("11", "DiscriTune-ConCap", "ImageCoDe", "P@1"), "36.2"),
        (("12", "DiscriTune-COCO, 10 hard distractors", "Flickr", "S"), "12.85"),
        (("13", "DiscriTune-COCO, 5 hard distractors", "ConCap", "P@1"), "82.3"),
        (("14", "background", "ClipCap-ConCap", "noun rank"), "9"),
    ],
)
def test_spot_values(discritune, place, text):
    assert discritune.find(*place).text == text


def test_numbers_that_the_paper_prints_twice_agree(discritune):
    """Tables 12 and 13 repeat rows of 1, 2 and 3."""
    for (table, row, column, metric), value in discritune.values.items():
        if table in ("12", "13") and "hard" not in row:
            elsewhere = [discritune.find(other, row, column, metric) for other in ("1", "2", "3")]
            assert value.text in [found.text for found in elsewhere if found]


def test_rows_and_columns_keep_the_order_of_the_paper(discritune):
    assert discritune.columns("1") == ["COCO", "ConCap", "Flickr", "nocaps near", "nocaps out", "Concadia"]
    assert discritune.rows("2") == ["ClipCap-COCO", "DiscriTune-COCO", "ClipCap-ConCap", "DiscriTune-ConCap"]
    assert discritune.find("1", "ClipCap-COCO", "COCO", "B@4") is None


@pytest.mark.parametrize(
    ("text", "note", "ends"),
    [
        ("73.0", "", (72.95, 73.05)), ("73", "validation split", (72.5, 73.5)), ("53.74", "", (53.735, 53.745)),
        ("0.66", "truncated: 4 of 6", (0.66, 0.67)),
    ],
)  # fmt: skip
def test_what_is_printed_as_a_number(text, note, ends):
    assert PublishedValue(text, note).ends == pytest.approx(ends)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("paper,table\n", "first line must be"),
        (HEADER + "p,1,a,b,m,1,\np,1,a,b,m,2,\n", "line 3: 1 / a / b / m is there twice"),
        (HEADER + "p,1,a,b,m,12x,\n", "line 2: '12x' is no number"),
        (HEADER + "p,1,a,b,m,nan,\n", "line 2: 'nan' is no number"),
        (HEADER + "p,1,a,b,m,1,\nq,1,a,c,m,1,\n", "numbers of one paper; it holds 2"),
    ],
)
def test_mistakes_are_named(tmp_path, content, message):
    (tmp_path / "paper.csv").write_text(content)
    with pytest.raises(PublishedError, match=message):
        read_published(tmp_path / "paper.csv")
