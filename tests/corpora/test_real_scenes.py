"""The real HL test images: their scene labels, how frequent these are, and what their captions are like."""

from collections import Counter
from pathlib import Path

import pytest
from support.scenes_run import run_script

from captionlab.ablation.schemas import CHOSEN, LABELS
from captionlab.corpora.reading import read_corpus
from captionlab.corpora.tables import TABLES
from captionlab.language.schemas import STATISTICS
from captionlab.storage.schemas import GENERATED, SCENE_CAPTIONS
from captionlab.storage.tables import read_table

ROOT = Path(__file__).parents[2]
PUBLISHED = ROOT / "config" / "published" / "probing_patterns.csv"
# Images of which at least 1, 2 and all 3 scene captions contain the word itself, as counted without any tagger.
CONTAIN = {
    "street": (218, 68, 16),
    "room": (199, 76, 22),
    "road": (195, 59, 12),
    "park": (156, 46, 11),
    "house": (137, 17, 1),
    "field": (135, 44, 11),
    "beach": (104, 64, 30),
    "restaurant": (100, 46, 15),
    "court": (75, 50, 22),
    "resort": (71, 21, 5),
    "kitchen": (67, 39, 25),
    "sea": (57, 16, 2),
    "station": (37, 13, 7),
}


@pytest.fixture(scope="module")
def made(shared_data, tmp_path_factory) -> Path:
    """A folder with the corpus, the labels of its images, and the statistics of the scene captions of people."""
    folder = tmp_path_factory.mktemp("hl")
    tables = {table: folder / f"{table}.parquet" for table in TABLES}
    config = {"reader": "hl", "annotations": {"test": "hl/annotations/test.jsonl"}, "images": None, "text": "scene"}
    read_corpus(config, shared_data, {name: str(path) for name, path in tables.items()}, 1, "hl")
    run_script(
        "label_scenes",
        {"images": tables["images"], "captions": tables["scene_captions"]},
        {"labels": folder / "labels.parquet", "chosen": folder / "chosen.parquet"},
        tagger="en_ewt_sm",
        config={"number": 8, "min_captions": 1, "table": "scene_captions"},
    )
    people, tokens, model = (folder / name for name in ("people", "tokens", "model.arpa.gz"))
    corpus = {"images": [tables["images"]], "captions": [tables["captions"]]}
    config = {"family": "human", "reference": "each"}
    run_script("import_captions", corpus, [people], config=config, corpora=["hl"], splits=["test"])
    run_script("tokenize_captions", [people], [tokens], tokenizers={})
    trained = {"images": tables["images"], "captions": tables["captions"]}
    run_script("train_language_model", trained, [model], splits=["test"], tokenizer="ptb")
    measured = {name: folder / f"{name}.parquet" for name in ("tags", "measures", "statistics", "patterns", "unigrams")}
    given = {"captions": people, "tokens": tokens, "model": model, "published": PUBLISHED}
    run_script("measure_language", given, measured, tagger=ROOT / "resources" / "en_ewt_sm")
    return folder


def test_scene_labels_and_their_frequencies(made):
    labels = read_table(made / "labels.parquet", LABELS).to_pylist()
    assert len({row["image_id"] for row in labels}) == 1499
    images = {
        word: tuple(sum(row["scene"] == word and row["captions"] >= least for row in labels) for least in (1, 2, 3))
        for word in CONTAIN
    }
    # The tagger may take a word for no noun here and there, and lemmas join singular and plural.
    for word, counts in CONTAIN.items():
        assert all(abs(found - count) <= 1 for found, count in zip(images[word], counts, strict=True)), word
    chosen = read_table(made / "chosen.parquet", CHOSEN).to_pylist()
    # Of the seven scenes in the paper's Table 2 three are among the eight most frequent ones of its test images.
    assert [row["scene"] for row in chosen] == ["street", "room", "road", "park", "house", "field", "ground", "beach"]
    assert [row["images"] for row in chosen][:3] == [218, 199, 195]
    assert not {"picture", "the", "."} & {row["scene"] for row in labels}


def test_scene_captions(made):
    rows = read_table(made / "scene_captions.parquet", SCENE_CAPTIONS).to_pylist()
    captions = [row["caption"] for row in rows]
    lengths = [len(caption.split()) for caption in captions]
    assert (len(rows), len({*captions})) == (4497, 2740)
    assert (round(sum(lengths) / len(rows), 1), max(lengths), sum(words > 16 for words in lengths)) == (4.8, 36, 4)
    assert round(sum(caption.endswith(".") for caption in captions) / len(rows), 2) == 0.35
    assert Counter(row["confidence"] for row in rows) == {5: 3229, 4: 916, 3: 287, 2: 40, 1: 25}


def test_statistics_of_the_captions(made):
    people = read_table(made / "people", GENERATED)
    assert (people.num_rows, len({*people["image_id"].to_pylist()})) == (4497, 1499)
    rows = read_table(made / "statistics.parquet", STATISTICS).to_pylist()
    found = {row["statistic"]: row["value"] for row in rows}
    assert (found["captions"], found["empty_captions"]) == (4497, 0)
    # Words without punctuation, as metrics see them.
    assert found["mean_length"] == pytest.approx(4.8, abs=0.1)
    # A scene caption names the scene and little else.
    assert 1 < found["distinct_nouns"] < 2
    assert found["distinct_1"] < 0.1 < found["distinct_3"]
